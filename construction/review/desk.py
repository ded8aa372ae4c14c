"""Where review stands, for the curator's pages and `psychemme review status`; pure.

Who voted what is for curators only: nothing here may reach a reviewer.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from construction.review.unanimity import counted_votes, outcome_of, wanted
from psychemme.vocabulary import Approval, Capability, Closing, Verdict, VoteKind
from state.review import Place
from state.review_values import ReviewedVersion, SetRecord, Vote


class Stage(StrEnum):
    """How far the review of a version is; `complete` has all its verdicts and can be closed."""

    OPEN = "open"
    COMPLETE = "complete"
    APPROVED = "approved"
    REJECTED = "rejected"
    REPLACED = "replaced"


@dataclass(frozen=True)
class ItemStatus:
    """One version in the queue; counts are of reviewers.

    `wanted` verdicts make it complete; `answered` have committed an answer of their own, `voted`
    have a verdict that counts, of which `approving` approve everything; `lacking` are still to be
    assigned. `outcome` is how it would end, or ended; None while verdicts are missing.
    """

    version: ReviewedVersion
    stage: Stage
    wanted: int
    assigned: int
    answered: int
    voted: int
    approving: int
    skipped: int
    outcome: Closing | None
    lacking: int = 0

    @property
    def place(self) -> Place:
        """The candidate's key and the version."""
        return self.version.item.candidate_key, self.version.item.version


@dataclass(frozen=True)
class Tally:
    """Current versions by stage, and the verdicts given of those wanted; replaced ones apart."""

    stages: Mapping[Stage, int]
    voted: int
    wanted: int
    lacking: int

    @property
    def items(self) -> int:
        """How many current versions there are."""
        return sum(count for stage, count in self.stages.items() if stage is not Stage.REPLACED)

    @property
    def progress(self) -> float:
        """The fraction of wanted verdicts that are in; 0 where none is wanted."""
        return self.voted / self.wanted if self.wanted else 0.0


@dataclass(frozen=True)
class SetStatus:
    """A set with its tally, over all capabilities and by capability."""

    of_set: SetRecord
    total: Tally
    by_capability: Mapping[Capability, Tally]


@dataclass(frozen=True)
class Disagreement:
    """A version on which counted verdicts differ, and in which `dimensions` they do."""

    status: ItemStatus
    dimensions: tuple[Verdict, ...]
    votes: Mapping[str, Vote]


def item_statuses(
    versions: Iterable[ReviewedVersion],
    sets: Mapping[str, SetRecord],
    lacking: Mapping[Place, int] | None = None,
    gone: Collection[str] = (),
) -> list[ItemStatus]:
    """Return where each version stands, in the given order.

    `sets` are by name; `lacking` says how many reviewers versions lack (`assigning.wanting`),
    `gone` who is revoked.
    """
    return [item_status(version, sets[version.set_name], lacking, gone) for version in versions]


def item_status(
    version: ReviewedVersion,
    of_set: SetRecord,
    lacking: Mapping[Place, int] | None = None,
    gone: Collection[str] = (),
) -> ItemStatus:
    """Return where one version stands."""
    place = version.item.candidate_key, version.item.version
    counted = counted_votes(version, of_set)
    outcome = version.closing or outcome_of(version, of_set, gone)
    return ItemStatus(
        version=version,
        stage=_stage(version.closing, outcome),
        wanted=wanted(version, of_set, gone),
        assigned=len(version.assigned),
        answered=len(version.answers),
        voted=len(counted),
        approving=sum(vote.approves for vote in counted.values()),
        skipped=sum(vote.kind is VoteKind.SKIP for vote in version.standing().values()),
        outcome=outcome,
        lacking=(lacking or {}).get(place, 0),
    )


def set_statuses(statuses: Sequence[ItemStatus], sets: Mapping[str, SetRecord]) -> list[SetStatus]:
    """Return each set with its tallies, in the order of `sets`."""
    return [
        _set_status([s for s in statuses if s.version.set_name == name], of_set)
        for name, of_set in sets.items()
    ]


def disagreements(
    statuses: Iterable[ItemStatus], sets: Mapping[str, SetRecord]
) -> list[Disagreement]:
    """Return the current versions whose counted verdicts differ, most dimensions first."""
    found = [
        Disagreement(status, disputed(votes.values()), votes)
        for status in statuses
        if status.stage is not Stage.REPLACED
        for votes in (counted_votes(status.version, sets[status.version.set_name]),)
    ]
    differing = [one for one in found if one.dimensions]
    return sorted(differing, key=lambda one: (-len(one.dimensions), one.status.place))


def disputed(votes: Iterable[Vote]) -> tuple[Verdict, ...]:
    """Return the dimensions in which some votes approve and some reject."""
    cast = [vote.verdicts for vote in votes]
    return tuple(
        verdict
        for verdict in Verdict
        if set(Approval) <= {verdicts.get(verdict) for verdicts in cast}
    )


def _stage(closing: Closing | None, outcome: Closing | None) -> Stage:
    if closing is not None:
        return Stage(closing)
    return Stage.OPEN if outcome is None else Stage.COMPLETE


def _set_status(statuses: Sequence[ItemStatus], of_set: SetRecord) -> SetStatus:
    groups: dict[Capability, list[ItemStatus]] = {}
    for status in statuses:
        groups.setdefault(status.version.item.revealed.capability, []).append(status)
    ordered = {
        capability: _tally(groups[capability]) for capability in Capability if capability in groups
    }
    return SetStatus(of_set, _tally(statuses), ordered)


def _tally(statuses: Sequence[ItemStatus]) -> Tally:
    current = [status for status in statuses if status.stage is not Stage.REPLACED]
    return Tally(
        stages={stage: sum(s.stage is stage for s in statuses) for stage in Stage},
        voted=sum(min(status.voted, status.wanted) for status in current),
        wanted=sum(status.wanted for status in current),
        lacking=sum(status.lacking for status in current),
    )
