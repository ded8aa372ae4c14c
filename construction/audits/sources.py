"""Where audited items come from: candidates, versions under review, a release."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from construction.audits.values import AuditItem
from construction.versions import first_version
from psychemme.episode import Episode, HistoryEntry, Utterance
from psychemme.items import Answer
from psychemme.release.read import read_release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow
from psychemme.vocabulary import CandidateState, Closing
from state.address import Address
from state.review_desk import ReviewDesk
from state.review_values import ItemVersion
from state.runs import RunStore
from state.values import Dossier

_WAITING = frozenset({CandidateState.ACCEPTED, CandidateState.GATED})


@dataclass(frozen=True)
class Subject:
    """An item of a workspace, whose id is its candidate's key.

    Version 1 of one that is not `under_review` is the graph's final proposal. `reason` is why it is
    gated, empty where it is not.
    """

    item: AuditItem
    run: int
    version: int
    under_review: bool
    reason: str = ""


def of_candidates(database: Address, run: int | None = None) -> list[Subject]:
    """Return what the graph accepted and no review has opened, by key; gated ones too."""
    with RunStore(database) as runs:
        if run is not None:
            runs.run(run)
        kept = [one for one in runs.outcomes(run) if one.state in _WAITING]
        kept.sort(key=lambda one: one.target.key)
        return [
            Subject(item, one.target.run, 1, under_review=False, reason=one.reason or "")
            for one in kept
            if (item := proposed(runs.dossier(one.target.key))) is not None
        ]


def of_versions(database: Address, run: int | None = None) -> list[Subject]:
    """Return the newest version of each candidate under review or approved, by key."""
    with ReviewDesk(database) as desk, RunStore(database) as runs:
        newest = {one.item.candidate_key: one for one in desk.versions()}
        left = {Closing.REJECTED, Closing.REPLACED}
        kept = [key for key, one in sorted(newest.items()) if one.closing not in left]
        found = [(newest[key].item, runs.dossier(key)) for key in kept]
    return [
        Subject(versioned(item, dossier), dossier.outcome.target.run, item.version, True)
        for item, dossier in found
        if run is None or dossier.outcome.target.run == run
    ]


def of_workspace(database: Address, run: int | None = None) -> list[Subject]:
    """Return all items of a workspace: those under review first, so that a repeat is the new one.

    What is gated stands last.
    """
    waiting = of_candidates(database, run)
    reviewed = of_versions(database, run)
    taken = {one.item.id for one in reviewed}
    free = [one for one in waiting if one.item.id not in taken]
    return [*reviewed, *sorted(free, key=lambda one: bool(one.reason))]


def of_release(root: Path) -> list[AuditItem]:
    """Return the items of a release with their references, by id.

    Raises ReleaseError where a part is missing, altered or of another version.
    """
    release = read_release(root)
    references = release.references()
    return [
        _released(row, references[name], release.episodes[row.episode_id])
        for name, row in release.questions.items()
    ]


def proposed(dossier: Dossier) -> AuditItem | None:
    """Return a candidate's final proposal, None where it has none."""
    final = dossier.final
    if final is None or final.question is None or final.reference is None:
        return None
    return versioned(first_version(dossier), dossier)


def versioned(item: ItemVersion, dossier: Dossier) -> AuditItem:
    """Return a version under review of the candidate in `dossier`."""
    told = item.revealed
    return AuditItem(
        id=item.candidate_key,
        episode_id=item.episode_id,
        capability=told.capability,
        subcategory=told.subcategory,
        format=item.format,
        question=item.question,
        options=item.options,
        answer=_frozen(told.answer),
        shown=_shown(dossier, [option.id for option in item.options]),
        cues=told.cues,
        key_points=told.key_points,
        decision_time=item.decision_time,
        episode=dossier.episode.content,
    )


def _released(row: QuestionRow, reference: ReferenceRow, episode: EpisodeRow) -> AuditItem:
    lines = (Utterance(start=u.start, end=u.end, text=u.text) for u in episode.transcript)
    history = (HistoryEntry(before=one.before, text=one.text) for one in row.history)
    return AuditItem(
        id=row.id,
        episode_id=row.episode_id,
        capability=row.capability,
        subcategory=row.subcategory,
        format=row.format,
        question=row.question,
        options=row.options,
        answer=_frozen(reference.answer),
        cues=reference.cues,
        key_points=reference.key_points,
        decision_time=row.decision_time,
        episode=Episode(
            duration=episode.duration,
            public_context=row.public_context,
            transcript=tuple(lines),
            history=tuple(history),
        ),
    )


def _shown(dossier: Dossier, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the order in which the last answer was given, if it was of these options."""
    orders = [r.order for r in dossier.rounds if sorted(r.order) == sorted(ids)]
    return orders[-1] if orders else ()


def _frozen(answer: Answer) -> str | tuple[str, ...]:
    return answer if isinstance(answer, str) else tuple(answer)
