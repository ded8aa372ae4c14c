"""What holds between the rows of a release: asked before one is written, and of one that was."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from psychemme.answers import fits, option_set
from psychemme.release.faults import EPISODES, QUESTIONS, REFERENCES, Fault, Rule
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow, ReleaseFacts
from psychemme.release.texts import is_blank, same_option, same_text
from psychemme.vocabulary import Format

TOLERANCE = 0.001
"""Seconds; episode ids count whole milliseconds."""


def release_faults(
    questions: Sequence[QuestionRow],
    episodes: Sequence[EpisodeRow],
    references: Sequence[ReferenceRow] | None,
) -> list[Fault]:
    """Return every fault of the rows of a release; None for the references leaves them out."""
    held = {row.id: row for row in episodes}
    found = [
        *_repeated(QUESTIONS, questions),
        *_repeated(EPISODES, episodes),
        *_windows(episodes),
        *_overlaps(episodes),
        *_licences(episodes),
        *links(questions, held),
        *_unused(questions, episodes),
        *_blank(questions),
        *_options(questions),
        *_decision_times(questions, held),
        *_duplicates(questions, held),
    ]
    if references is not None:
        found += _repeated(REFERENCES, references)
        found += reference_faults(questions, held, references)
    return found


def links(questions: Iterable[QuestionRow], episodes: Mapping[str, EpisodeRow]) -> Iterator[Fault]:
    """Yield the questions whose episode is not in the release."""
    for row in questions:
        if row.episode_id not in episodes:
            problem = f"its episode {row.episode_id!r} is not in episodes.jsonl"
            yield Fault(file=QUESTIONS, where=row.id, rule=Rule.LINK, problem=problem)


def reference_faults(
    questions: Iterable[QuestionRow],
    episodes: Mapping[str, EpisodeRow],
    references: Iterable[ReferenceRow],
) -> Iterator[Fault]:
    """Yield what is wrong with the references of `questions`, and which do not belong together."""
    asked, known = {row.id: row for row in questions}, {row.id: row for row in references}
    for name in asked.keys() - known.keys():
        yield Fault(file=QUESTIONS, where=name, rule=Rule.LINK, problem="has no reference")
    for name, row in known.items():
        if name not in asked:
            yield Fault(file=REFERENCES, where=name, rule=Rule.LINK, problem="has no question")
            continue
        yield from _answer(row, asked[name])
        if (episode := episodes.get(asked[name].episode_id)) is not None:
            yield from _cues(row, episode.duration)


def review_faults(file: str, facts: ReleaseFacts) -> Iterator[Fault]:
    """Yield what no person reviewed, though `file`, its manifest, does not say it is an example."""
    if facts.example:
        return
    if facts.review is None or not facts.review.reviewers_per_item:
        problem = "nobody reviewed the items; only an example release may say so"
        yield Fault(file=file, rule=Rule.REVIEW, problem=problem)
    elif facts.review.demonstration:
        problem = "demonstration votes freeze only into an example release"
        yield Fault(file=file, rule=Rule.REVIEW, problem=problem)


def _repeated(
    file: str, rows: Iterable[QuestionRow | EpisodeRow | ReferenceRow]
) -> Iterator[Fault]:
    seen: set[str] = set()
    for row in rows:
        if row.id in seen or is_blank(row.id):
            problem = "the id is empty" if is_blank(row.id) else "the id stands twice"
            yield Fault(file=file, where=row.id, rule=Rule.ID, problem=problem)
        seen.add(row.id)


def _windows(episodes: Iterable[EpisodeRow]) -> Iterator[Fault]:
    for row in episodes:
        if not abs(row.end - row.start - row.duration) <= TOLERANCE:
            problem = f"{row.start} to {row.end} s is not {row.duration} s"
            yield Fault(file=EPISODES, where=row.id, rule=Rule.WINDOW, problem=problem)
        for number, line in enumerate(row.transcript):
            if not -TOLERANCE <= line.start <= line.end <= row.duration + TOLERANCE:
                problem = f"transcript line {number} ({line.start} to {line.end} s) is outside"
                yield Fault(file=EPISODES, where=row.id, rule=Rule.WINDOW, problem=problem)


def _overlaps(episodes: Iterable[EpisodeRow]) -> Iterator[Fault]:
    """Compare within a source video where the clips' places in it are known, else within a clip."""
    timelines = defaultdict(list)
    for row in episodes:
        clip = row.sha256 if row.source_start is None else ""
        shift = row.source_start or 0.0
        place = (row.start + shift, row.end + shift, row.id)
        timelines[row.source_video_id, clip].append(place)
    for places in timelines.values():
        reached, by = -inf, ""
        for start, end, name in sorted(places):
            if start < reached - TOLERANCE and name != by:
                over = min(end, reached) - start
                problem = f"overlaps {by} of the same source video by {over:.3f} s"
                yield Fault(file=EPISODES, where=name, rule=Rule.OVERLAP, problem=problem)
            if end > reached:
                reached, by = end, name


def _licences(episodes: Iterable[EpisodeRow]) -> Iterator[Fault]:
    lacking: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in episodes:
        for what, given in (("licence", row.licence), ("consent", row.consent)):
            if is_blank(given or ""):
                lacking[row.source, what].append(row.id)
    for (source, what), ids in lacking.items():
        problem = f"no {what} is stated for {len(ids)} of its episodes, such as {ids[0]}"
        where = f"source {source}"
        yield Fault(file=EPISODES, where=where, rule=Rule.LICENCE, problem=problem)


def _unused(questions: Iterable[QuestionRow], episodes: Iterable[EpisodeRow]) -> Iterator[Fault]:
    used = {row.episode_id for row in questions}
    for row in episodes:
        if row.id not in used:
            yield Fault(file=EPISODES, where=row.id, rule=Rule.LINK, problem="has no question")


def _blank(questions: Iterable[QuestionRow]) -> Iterator[Fault]:
    for row in questions:
        if is_blank(row.question):
            problem = "nothing of the question can be seen"
            yield Fault(file=QUESTIONS, where=row.id, rule=Rule.FORMAT, problem=problem)
        for option in row.options:
            if is_blank(option.text):
                problem = f"nothing of option {option.id} can be seen"
                yield Fault(file=QUESTIONS, where=row.id, rule=Rule.OPTIONS, problem=problem)


def _options(questions: Iterable[QuestionRow]) -> Iterator[Fault]:
    for row in questions:
        first: dict[tuple[str, str], str] = {}
        for option in row.options:
            other = first.setdefault(same_option(option.text), option.id)
            if other != option.id:
                problem = f"options {other} and {option.id} say the same"
                yield Fault(file=QUESTIONS, where=row.id, rule=Rule.OPTIONS, problem=problem)
        if len(row.options) == 1:
            problem = "a choice needs two options or more"
            yield Fault(file=QUESTIONS, where=row.id, rule=Rule.OPTIONS, problem=problem)


def _decision_times(
    questions: Iterable[QuestionRow], episodes: Mapping[str, EpisodeRow]
) -> Iterator[Fault]:
    for row in questions:
        episode = episodes.get(row.episode_id)
        if row.decision_time is None or episode is None:
            continue
        if not 0 <= row.decision_time <= episode.duration:
            problem = f"decision time {row.decision_time} s is outside the episode"
            yield Fault(file=QUESTIONS, where=row.id, rule=Rule.DECISION_TIME, problem=problem)


def _duplicates(
    questions: Iterable[QuestionRow], episodes: Mapping[str, EpisodeRow]
) -> Iterator[Fault]:
    """Yield questions asked twice of an episode, or of episodes in which the same is said.

    The second are most likely one recording that was cut or encoded twice.
    """
    first: dict[tuple[str, ...], str] = {}
    for row in questions:
        keys: list[tuple[str, ...]] = [("", row.episode_id, same_text(row.question))]
        episode = episodes.get(row.episode_id)
        said = same_text(" ".join(line.text for line in episode.transcript)) if episode else ""
        if said:
            texts = sorted(same_text(option.text) for option in row.options)
            keys.append(("said", said, same_text(row.question), *texts))
        earlier = [first.setdefault(key, row.id) for key in keys]
        for other in dict.fromkeys(name for name in earlier if name != row.id):
            problem = f"asks the same as {other}"
            yield Fault(file=QUESTIONS, where=row.id, rule=Rule.DUPLICATE, problem=problem)


def _answer(row: ReferenceRow, question: QuestionRow) -> Iterator[Fault]:
    ids = [option.id for option in question.options]
    is_empty = isinstance(row.answer, str) and is_blank(row.answer)
    if is_empty or not fits(question.format, row.answer, ids):
        problem = f"answer {row.answer!r} does not fit a {question.format} question"
        yield Fault(file=REFERENCES, where=row.id, rule=Rule.ANSWER, problem=problem)
    elif question.format is Format.MULTIPLE and not 2 <= len(option_set(row.answer)) < len(ids):
        problem = "a multiple answer needs two options or more, and fewer than all"
        yield Fault(file=REFERENCES, where=row.id, rule=Rule.ANSWER, problem=problem)
    if question.format is Format.OPEN and not any(
        point.required and not is_blank(point.text) for point in row.key_points
    ):
        problem = "an open reference needs a required key point"
        yield Fault(file=REFERENCES, where=row.id, rule=Rule.KEY_POINTS, problem=problem)


def _cues(row: ReferenceRow, duration: float) -> Iterator[Fault]:
    for position, cue in enumerate(row.cues):
        if not 0 <= cue.start < cue.end <= duration:
            problem = f"cue {position} lies outside the episode"
            yield Fault(file=REFERENCES, where=row.id, rule=Rule.CUE, problem=problem)
