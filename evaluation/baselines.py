"""What a model must beat: answers that look at no recording, and the signal baseline.

The first four answer choice questions alone; an open question they leave unanswered, which scores
0. None of them explains anything, so that all have Verified 0. `majority-position` and
`most-frequent` know the references of other episodes only (cross-fitted, never their own).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, pairwise
from random import Random

from psychemme.episode import Episode, HistoryEntry, Interval, Signals, Utterance
from psychemme.items import Answer
from psychemme.release.read import Release
from psychemme.release.rows import EpisodeRow, QuestionRow
from psychemme.vocabulary import Format
from psychology_kb.cards import Norm
from psychology_kb.load import load_profile, profiles

RANDOM, SIGNAL = "random", "signal"
Answers = Mapping[str, Answer | None]


def random_answers(release: Release, seed: int) -> Answers:
    """Return one of the possible answers to each choice question, all equally likely."""
    found: dict[str, Answer | None] = {}
    for question in release.questions.values():
        chance = Random(f"{seed}:{question.id}")  # noqa: S311 - a seeded baseline
        found[question.id] = chance.choice(possible_answers(question) or [None])
    return found


def possible_answers(question: QuestionRow) -> list[Answer | None]:
    """Return the answers that fit: each option, or each set of two options or more but not all."""
    ids = [option.id for option in question.options]
    if question.format is Format.MULTIPLE:
        sizes = range(2, max(3, len(ids)))
        return [list(chosen) for size in sizes for chosen in combinations(ids, size)]
    return list(ids)


def expected_accuracy(questions: Iterable[QuestionRow]) -> float | None:
    """Return the mean answer credit that random answers earn; open questions earn 0."""
    shares = [1 / len(found) if (found := possible_answers(q)) else 0.0 for q in questions]
    return sum(shares) / len(shares) if shares else None


def longest_options(release: Release, _seed: int = 0) -> Answers:
    """Return the longest option; on `multiple` the longer half, two options at the least."""
    return {
        q.id: _ranked(q, {o.id: len(o.text) for o in q.options}) for q in release.questions.values()
    }


def majority_positions(release: Release, _seed: int = 0) -> Answers:
    """Return the position that is right most often; on `multiple` the half right most often."""
    return _cross_fitted(release, lambda q: q.format, _by_position)


def most_frequent_answers(release: Release, _seed: int = 0) -> Answers:
    """Return the whole answer most frequent for the capability, format and number of options."""
    return _cross_fitted(
        release, lambda q: (q.format, q.capability, len(q.options)), _by_whole_answer
    )


def signal_answers(release: Release, _seed: int = 0) -> Answers:
    """Return what the signal baseline's answer path finds in transcript, context and history."""
    norms = _norms(release.manifest.profile)
    return {
        q.id: _signal_answer(q, release.episodes[q.episode_id], norms)
        for q in release.questions.values()
    }


BASELINES: Mapping[str, Callable[[Release, int], Answers]] = {
    RANDOM: random_answers,
    "majority-position": majority_positions,
    "most-frequent": most_frequent_answers,
    "longest-option": longest_options,
    SIGNAL: signal_answers,
}
"""Each baseline by the name that `evaluate --model` takes."""


def reply_text(answer: Answer | None) -> str:
    """Return the JSON reply that gives `answer` and explains nothing."""
    return json.dumps({"answer": answer} | dict.fromkeys("GWNTSAMR"), ensure_ascii=False)


def _cross_fitted(
    release: Release,
    kind: Callable[[QuestionRow], object],
    choose: Callable[[QuestionRow, list[Answer]], Answer | None],
) -> Answers:
    references = release.references()
    seen: dict[object, list[tuple[str, Answer]]] = defaultdict(list)
    for question in release.questions.values():
        seen[kind(question)].append((question.episode_id, references[question.id].answer))
    return {
        q.id: choose(q, [answer for episode, answer in seen[kind(q)] if episode != q.episode_id])
        for q in release.questions.values()
    }


def _by_position(question: QuestionRow, answers: list[Answer]) -> Answer | None:
    right = Counter(one for a in answers for one in ([a] if isinstance(a, str) else a))
    return _ranked(question, {option.id: right[option.id] for option in question.options})


def _by_whole_answer(question: QuestionRow, answers: list[Answer]) -> Answer | None:
    if not question.options:
        return None
    known = {option.id for option in question.options}
    wholes = Counter(tuple([a] if isinstance(a, str) else sorted(a)) for a in answers)
    fitting = [(count, whole) for whole, count in wholes.items() if known.issuperset(whole)]
    if not fitting:
        return _ranked(question, dict.fromkeys(known, 0))
    whole = min(fitting, key=lambda pair: (-pair[0], pair[1]))[1]
    return whole[0] if question.format is Format.SINGLE else list(whole)


def _ranked(question: QuestionRow, scores: Mapping[str, int]) -> Answer | None:
    """Return the option of the highest score, or half of them; ties go to the earlier id."""
    ids = sorted(scores, key=lambda name: (-scores[name], name))
    if not ids:
        return None
    return ids[0] if question.format is Format.SINGLE else sorted(ids[: max(2, len(ids) // 2)])


def _norms(profile: str) -> tuple[Norm, ...]:
    """Return the norms as the Answer Agent gets them: principles without examples."""
    if profile not in profiles():
        return ()
    plain = {"fitting": (), "unfitting": ()}
    return tuple(norm.model_copy(update=plain) for norm in load_profile(profile).norms)


def _signal_answer(
    question: QuestionRow, row: EpisodeRow, norms: tuple[Norm, ...]
) -> Answer | None:
    from psychemme.clients.signal.answer import answer

    speech = tuple(Interval(start=x.start, end=x.end) for x in row.transcript if x.start < x.end)
    episode = Episode(
        duration=row.duration,
        public_context=question.public_context,
        transcript=tuple(Utterance(start=x.start, end=x.end, text=x.text) for x in row.transcript),
        signals=Signals(speech=speech, pauses=_between(speech)),
        history=tuple(HistoryEntry(before=e.before, text=e.text) for e in question.history),
    )
    inputs = {
        "episode": episode,
        "question": question.question,
        "options": question.options,
        "format": question.format,
        "decision_time": question.decision_time,
        "norms": norms,
        "feedback": (),
    }
    return answer(inputs).answer


def _between(speech: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Return the gaps between lines of a transcript."""
    return tuple(Interval(start=a.end, end=b.start) for a, b in pairwise(speech) if b.start > a.end)
