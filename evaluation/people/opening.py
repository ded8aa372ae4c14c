"""Open a people study: draw what is asked, cut what is watched, and invite."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from evaluation.error_categories import Category, ErrorLabel
from evaluation.exports import read_responses
from evaluation.footage import find_clips
from evaluation.judge import covered
from evaluation.manifest import read_manifest, refuse_other_release, release_name, release_of
from evaluation.people.rows import Kind
from evaluation.people.sampling import draw_evenly, draw_items, plant
from evaluation.people.store import PeopleStore
from evaluation.people.study import (
    FILE_NAME,
    ModelWords,
    PeopleStudy,
    Task,
    film_path,
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
    release: Release, runs: Sequence[ReportRun], count: int, seed: int
) -> tuple[Task, ...]:
    """Return responses whose labels count, over capabilities and labels, without their labels."""
    drawn = _judged(release, runs, count, seed)
    return tuple(task.model_copy(update={"judgement": None}) for task in drawn)


def endorse_tasks(
    release: Release, runs: Sequence[ReportRun], count: int, seed: int, planted: float
) -> tuple[Task, ...]:
    """Return judged responses of which a share of the decisions, `planted`, is moved."""
    return plant(_judged(release, runs, count, seed), planted, seed)


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


def _judged(release: Release, runs: Sequence[ReportRun], count: int, seed: int) -> list[Task]:
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
    media: Sequence[Path] = (),
    categories: Sequence[Category] = (),
    report: Report = lambda _done, _total: None,
) -> dict[str, str]:
    """Write a study of `tasks` and return the token of each person's link.

    The windows of its episodes are cut out of the clips below `media`, if any is named. Raises
    RunError where there is a study already, ConfigError where a name is none, and MediaError.
    """
    if (folder / FILE_NAME).exists():
        raise RunError(f"{folder} holds a study already.", "Name another folder with --out.")
    _refuse_names(people)
    episodes = {
        name: release.episodes[name] for name in sorted({t.question.episode_id for t in tasks})
    }
    if media:
        _cut(folder, release, tuple(episodes), media, report)
    study = PeopleStudy(
        kind=kind,
        release=release_name(release),
        seed=seed,
        orders=person_orders(tuple(people), len(tasks), seed),
        tasks=tuple(tasks),
        episodes=episodes,
        films=tuple(episodes) if media else (),
        categories=tuple(categories),
    )
    folder.mkdir(parents=True, exist_ok=True)
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


def _cut(
    folder: Path, release: Release, names: Sequence[str], media: Sequence[Path], report: Report
) -> None:
    from psychemme.media.cut import cut_window

    clips = find_clips([release.episodes[name] for name in names], media)
    for done, name in enumerate(names, 1):
        episode = release.episodes[name]
        target = film_path(folder, episode)
        if not target.exists():
            cut_window(clips[name], target, episode.start, episode.end, MAX_HEIGHT)
        report(done, len(names))


def _refuse_names(people: Iterable[str]) -> None:
    names = list(people)
    if faults := [name for name in names if not _NAME.fullmatch(name)]:
        raise ConfigError(
            f"{faults[0]!r} is no name for files.",
            "Use up to 40 letters, digits, dots, dashes and underscores.",
        )
    if not names or len(set(names)) < len(names):
        raise ConfigError("Nobody is invited, or somebody twice.", "Name each person once.")
