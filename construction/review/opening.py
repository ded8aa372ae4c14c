"""Put accepted candidates under review: their versions, their footage, their reviewers."""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from construction.audits.desk import audit_workspace, gate_blocked
from construction.review.assigning import assign, next_positions, pool_of
from construction.versions import first_version
from construction.workspace import Workspace
from psychemme.canonical import now
from psychemme.errors import MediaError, ReviewError
from psychemme.media.blobs import sha256_file
from psychemme.media.clip_files import clip_file
from psychemme.media.cut import cut_window
from psychemme.release.faults import listed
from psychemme.vocabulary import CandidateState, SetKind
from state.address import Address
from state.review_desk import ReviewDesk
from state.review_values import (
    AssignmentRecord,
    Board,
    Changes,
    SetRecord,
)
from state.runs import RunStore
from state.values import CandidateOutcome, ClipRecord, Dossier

_UNDER_REVIEW = frozenset(
    {CandidateState.IN_REVIEW, CandidateState.APPROVED, CandidateState.FROZEN}
)

Report = Callable[[int, int], None]
"""Is told how many are done, of how many."""

LeftOut = Callable[[Mapping[str, str]], None]
"""Is told which candidates audits keep out, and why."""


@dataclass(frozen=True)
class Opening:
    """What to open: a set's name and kind, how many reviewers an item needs, and of what.

    `count` items are drawn with `seed` from what the graph has accepted (all where None), of one
    `run` or of all. `overlap` is the fraction of items that every reviewer gets.
    """

    name: str
    kind: SetKind
    reviewers_per_item: int
    count: int | None = None
    run: int | None = None
    overlap: float = 0.0
    seed: int = 0


def open_set(
    workspace: Workspace,
    opening: Opening,
    *,
    assigned: bool = True,
    report: Report = lambda *_: None,
    left_out: LeftOut = lambda _: None,
) -> int:
    """Open a set of items, assign it and return their number; all footage is cut first.

    What audits find that the plan lets block stays out and becomes gated; `left_out` is told. With
    `assigned` false nobody is asked yet. `report` is told how many episodes are cut, of how many.
    It needs no lease: review adds rows of its own in one transaction, and of a run's it changes
    only the state of candidates that the run is done with. Raises ReviewError where nothing can be
    opened or the pool is too small, MediaError where a clip has changed; nothing is stored then.
    """
    audit = audit_workspace(workspace)
    left_out(blocked := audit.blocked_of(opening.run))
    dossiers = _chosen(workspace.database, opening, blocked)

    def plan(board: Board) -> Changes:
        return _opened(board, opening, dossiers, assigned=assigned)

    with ReviewDesk(workspace.database) as desk:
        plan(desk.board())  # Refuses before any footage is cut.
        cut_footage(workspace, dossiers, report)
        gate_blocked(workspace, audit, blocked)
        desk.change(plan)
    return len(dossiers)


def footage_path(workspace: Workspace, episode_id: str, preparation: int) -> Path:
    """Return where the footage that reviewers see of an episode lies (H.264 and AAC in MP4)."""
    return workspace.root / "review" / f"{episode_id}-{preparation}.mp4"


def cut_footage(workspace: Workspace, dossiers: Iterable[Dossier], report: Report) -> None:
    """Cut the footage of every episode that has none; raises MediaError naming what has changed."""
    wanted = {footage_path(workspace, d.episode.id, d.episode.preparation): d for d in dossiers}
    missing = {target: d for target, d in wanted.items() if not target.exists()}
    clips = {dossier.clip.id: dossier.clip for dossier in missing.values()}
    if changed := [clip.path for clip in clips.values() if not _is_same(workspace, clip)]:
        raise MediaError(
            f"{listed([repr(path) for path in changed])}: not the file that was added.",
            "Put that file back.",
        )
    for done, (target, dossier) in enumerate(missing.items(), 1):
        source = clip_file(dossier.clip.path, dossier.clip.sha256, workspace.blobs)
        cut_window(source, target, dossier.episode.start, dossier.episode.end)
        report(done, len(missing))


def _is_same(workspace: Workspace, clip: ClipRecord) -> bool:
    path = clip_file(clip.path, clip.sha256, workspace.blobs)
    return path.is_file() and sha256_file(path) == clip.sha256


def _chosen(database: Address, opening: Opening, blocked: Collection[str]) -> list[Dossier]:
    with RunStore(database) as runs:
        if opening.run is not None:
            runs.run(opening.run)
        outcomes = runs.outcomes()
        free = [
            one.target.key
            for one in outcomes
            if one.state is CandidateState.ACCEPTED
            and opening.run in (None, one.target.run)
            and one.target.key not in blocked
        ]
        if not free:
            kept_out = f" Audits keep {len(blocked)} out." if blocked else ""
            raise ReviewError(
                f"No accepted candidate is left to review.{kept_out}",
                "Generate some, or choose another run.",
            )
        keys = _drawn(free, opening)
        _refuse_twins(keys, outcomes)
        return [runs.dossier(key) for key in keys]


def _refuse_twins(keys: Sequence[str], outcomes: Iterable[CandidateOutcome]) -> None:
    """Refuse candidates that another run made of the same seed: a release has their id once."""
    under_review: dict[str, set[str]] = defaultdict(set)
    for one in outcomes:
        if one.target.key in keys or one.state in _UNDER_REVIEW:
            under_review[one.target.id].add(one.target.key)
    twins = [" and ".join(sorted(held)) for held in under_review.values() if len(held) > 1]
    if twins:
        raise ReviewError(
            f"Runs of one seed made candidates of the same id: {listed(sorted(twins))}.",
            "Open the candidates of one run only with --run; generate others with another --seed.",
        )


def _drawn(keys: Sequence[str], opening: Opening) -> list[str]:
    if opening.count is None or opening.count >= len(keys):
        return sorted(keys)
    draw = random.Random(opening.seed)  # noqa: S311 - a sample, no secret
    return sorted(draw.sample(sorted(keys), opening.count))


def _opened(
    board: Board, opening: Opening, dossiers: Sequence[Dossier], *, assigned: bool
) -> Changes:
    if opening.name in board.sets:
        raise ReviewError(f"There is a set {opening.name!r} already.", "Choose another name.")
    record = SetRecord(
        name=opening.name,
        kind=opening.kind,
        reviewers_per_item=opening.reviewers_per_item,
        opened_at=now(),
    )
    return Changes(
        sets=(record,),
        items=tuple((record.name, first_version(dossier)) for dossier in dossiers),
        assignments=_assignments(board, opening, dossiers) if assigned else (),
    )


def _assignments(
    board: Board, opening: Opening, dossiers: Sequence[Dossier]
) -> tuple[AssignmentRecord, ...]:
    made = assign(
        [(dossier.outcome.target.key, 1) for dossier in dossiers],
        pool_of(board, {d.outcome.target.key: d.clip.recording_group for d in dossiers}),
        opening.reviewers_per_item,
        overlap=opening.overlap,
        seed=opening.seed,
        first=next_positions(board),
    )
    return tuple(made)
