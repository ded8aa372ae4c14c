"""Open a people study: draw what is asked, cut what is watched, and invite."""

import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from evaluation.error_categories import Category, ErrorLabel
from evaluation.exports import read_responses
from evaluation.footage import find_clips
from evaluation.judge import covered
from evaluation.manifest import read_manifest, refuse_other_release, release_name, release_of
from evaluation.people.rows import Draw, Kind, folded
from evaluation.people.sampling import draw_anyhow, draw_evenly, draw_items, plant
from evaluation.people.store import PeopleStore
from evaluation.people.study import (
    FILE_NAME,
    ModelWords,
    PeopleStudy,
    Task,
    film_path,
    kept_private,
    person_orders,
    read_study,
    write_study,
)
from evaluation.report.runs import ReportRun
from evaluation.responses import Response
from evaluation.store import RunStore
from psychemme.errors import ConfigError, RunError
from psychemme.pages.tokens import hash_token, new_token
from psychemme.release.read import Release
from psychemme.release.rows import EpisodeRow

MAX_HEIGHT = 512
"""Pixels, as models get it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

Report = Callable[[int, int], None]


def baseline_tasks(
    release: Release, count: int, seed: int, *, is_stratified: bool = False
) -> tuple[Task, ...]:
    """Return the items that annotators answer; nothing of a reference is read."""
    names = draw_items(release.questions.values(), count, seed, is_stratified=is_stratified)
    return tuple(Task(question=release.questions[name]) for name in names)


def label_tasks(
    release: Release,
    runs: Sequence[ReportRun],
    count: int,
    seed: int,
    draw: Draw = Draw.EVEN,
) -> tuple[Task, ...]:
    """Return responses whose labels count, `EVEN` over capability and label, without labels."""
    drawn = _judged(release, runs, count, seed, draw)
    return tuple(task.model_copy(update={"judgement": None}) for task in drawn)


def endorse_tasks(
    release: Release,
    runs: Sequence[ReportRun],
    count: int,
    seed: int,
    planted: float,
    draw: Draw = Draw.EVEN,
) -> tuple[Task, ...]:
    """Return judged responses of which a share of the decisions, `planted`, is moved."""
    return plant(_judged(release, runs, count, seed, draw), planted, seed)


def error_tasks(
    release: Release,
    responses: Iterable[Response],
    proposed: Sequence[ErrorLabel],
    count: int,
    seed: int,
) -> tuple[Task, ...]:
    """Return failures with the category `proposed` for each, over capabilities and categories."""
    given = {(one.model, one.condition, one.item_id): one for one in responses}
    references = release.references()
    tasks = []
    for label in proposed:
        key = (label.model, label.condition, label.item_id)
        if words := _words(given.get(key)):
            task = Task(
                question=release.questions[label.item_id],
                reference=references[label.item_id],
                words=words,
                proposed=label.category,
            )
            tasks.append(task)
    if not tasks:
        raise RunError(
            "No response of these runs has a category that a model proposed.",
            "Run `psychemme errors` on them first.",
        )
    tasks.sort(key=_key)
    drawn = draw_evenly(tasks, lambda t: (t.question.capability, t.proposed), count, seed)
    return tuple(drawn)


def read_answered(
    folders: Sequence[Path], release: Path | None = None
) -> tuple[Release, list[Response]]:
    """Return the release and all responses of the runs at `folders`, whoever judged them."""
    found = release_of(read_manifest(folders[0]), release)
    responses: list[Response] = []
    for folder in folders:
        manifest = read_manifest(folder)
        refuse_other_release(manifest, found)
        with RunStore(folder, for_reading=True) as store:
            responses.extend(read_responses(manifest, found, store).values())
    return found, responses


def _judged(
    release: Release, runs: Sequence[ReportRun], count: int, seed: int, draw: Draw
) -> list[Task]:
    names = [run.scored.name for run in runs]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise RunError(f"Two runs are of {twins[0]}.", "Name one of them.")
    references = release.references()
    tasks = [
        Task(
            question=question,
            reference=references[name],
            words=words,
            judge=run.judge,
            judgement=judgement,
        )
        for run in runs
        for name, judgement in run.judgements.items()
        if (words := _words(run.responses.get(name)))
        for question in (release.questions[name],)
        if covered(run.responses[name], question)
    ]
    if not tasks:
        raise RunError(
            "No response of these runs has a judge's labels that count.",
            "Run `psychemme judge` on them first.",
        )
    tasks.sort(key=_key)
    if draw is Draw.RANDOM:
        return draw_anyhow(tasks, count, seed)
    return draw_evenly(tasks, _stratum, count, seed)


def _stratum(task: Task) -> tuple[str, ...]:
    labels = task.judgement
    return (task.question.capability, labels.evidence_support if labels else "")


def _key(task: Task) -> tuple[str, ...]:
    words = task.words
    return (task.question.id, words.model, words.condition) if words else (task.question.id,)


def _words(response: Response | None) -> ModelWords | None:
    if response is None or response.answer is None:
        return None
    return ModelWords(
        model=response.model,
        condition=response.condition,
        answer=response.answer,
        rationales={field: text for field, text in response.rationales.items() if text},
    )


def open_study(
    folder: Path,
    kind: Kind,
    release: Release,
    tasks: Sequence[Task],
    people: Sequence[str],
    seed: int,
    *,
    address: str,
    media: Sequence[Path] = (),
    draw: Draw | None = None,
    categories: Sequence[Category] = (),
    report: Report = lambda _done, _total: None,
) -> dict[str, str]:
    """Write a study of `tasks` and return the token of each person's link.

    The windows of its episodes are cut out of the clips below `media`, if any is named; links
    begin with `address`. What is made can be read by its owner alone. Raises RunError where there
    is a study already, ConfigError where a name is none, and MediaError.
    """
    if (folder / FILE_NAME).exists():
        raise RunError(f"{folder} holds a study already.", "Name another folder with --out.")
    _refuse_names(people)
    episodes = {
        name: release.episodes[name] for name in sorted({t.question.episode_id for t in tasks})
    }
    clips = find_clips(list(episodes.values()), media) if media else {}
    study = PeopleStudy(
        id=secrets.token_hex(8),
        address=address,
        kind=kind,
        release=release_name(release),
        seed=seed,
        orders=person_orders(tuple(people), len(tasks), seed),
        tasks=tuple(tasks),
        episodes=episodes,
        films=tuple(clips),
        draw=draw,
        categories=tuple(categories),
    )
    with kept_private():
        folder.mkdir(parents=True, exist_ok=True)
        _remove_parts(folder)
        _cut(folder, episodes, clips, report)
        write_study(folder, study)
    return {who: invite(folder, who) for who in people}


def invite(folder: Path, person: str) -> str:
    """Return the token of a new link for a person of a study; the one before ends."""
    if person not in (orders := read_study(folder).orders):
        raise ConfigError(
            f"{person!r} is not in this study.", f"Name one of {', '.join(sorted(orders))}."
        )
    token = new_token()
    with PeopleStore(folder) as store:
        store.invite(person, hash_token(token))
    return token


def _remove_parts(folder: Path) -> None:
    """Remove what a kill left half made."""
    for left in (*folder.glob(".part-*"), *folder.glob("media/.part-*")):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()


def _cut(
    folder: Path, episodes: Mapping[str, EpisodeRow], clips: Mapping[str, Path], report: Report
) -> None:
    from psychemme.media.cut import cut_window

    for done, (name, clip) in enumerate(clips.items(), 1):
        episode = episodes[name]
        target = film_path(folder, episode)
        if not target.exists():
            cut_window(clip, target, episode.start, episode.end, MAX_HEIGHT)
        report(done, len(clips))


def _refuse_names(people: Iterable[str]) -> None:
    names = list(people)
    if faults := [name for name in names if not _NAME.fullmatch(name)]:
        raise ConfigError(
            f"{faults[0]!r} is no name for files.",
            "Use up to 40 of A-Z, a-z, digits, dots, dashes and underscores; begin with a letter "
            "or digit.",
        )
    if not names or len({*map(folded, names)}) < len(names):
        raise ConfigError(
            "Nobody is invited, or two names differ at most in case.", "Name each person once."
        )
