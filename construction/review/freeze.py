"""Freeze what reviewers approved unanimously into a release; refuse everything else by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as tool_version
from pathlib import Path
from typing import Literal

from construction.review.release_rows import release_rows
from construction.review.unanimity import counted_votes, is_unanimous, outcome_of
from construction.workspace import Workspace
from psychemme.errors import ReviewError
from psychemme.release.diff import ReleaseDiff
from psychemme.release.errata import Erratum
from psychemme.release.faults import QUESTIONS, Fault, ReleaseRefused, Rule
from psychemme.release.freeze import MoreFiles, derived_canary, write_frozen
from psychemme.release.read import Release
from psychemme.release.rows import ReleaseFacts, ReviewFacts
from psychemme.vocabulary import CandidateState, Closing, GateOutcome
from psychology_kb.load import load_profile, load_review
from state.review_desk import ReviewDesk
from state.review_values import ReviewedVersion, SetRecord, Vote
from state.runs import RunStore
from state.values import Dossier, RunRecord

LEAKAGE = "leakage"
"""The gate that every release speaks of, run or not."""


@dataclass(frozen=True)
class Order:
    """What to freeze: the release's name, version and terms.

    `example` permits demonstration votes. `leave_open` leaves out items whose review has not
    ended; without it they are refused. `previous` is the release this one follows, `errata` what
    is said of its faults.
    """

    name: str
    version: str
    profile: str
    example: bool = False
    leave_open: bool = False
    licence: str = ""
    languages: tuple[str, ...] = ()
    date: str | None = None
    citation: str = ""
    errata: tuple[Erratum, ...] = ()
    previous: Path | None = None


@dataclass(frozen=True)
class Reviewed:
    """One version with its set, its candidate and run, and which reviewers are no persons."""

    version: ReviewedVersion
    of_set: SetRecord
    dossier: Dossier
    run: RunRecord
    demonstrators: frozenset[str] = frozenset()

    @property
    def votes(self) -> dict[str, Vote]:
        """The verdicts that count, by reviewer."""
        return counted_votes(self.version, self.of_set)

    @property
    def is_demonstration(self) -> bool:
        """Whether any verdict that counts comes from no person."""
        return not self.demonstrators.isdisjoint(self.votes)

    @property
    def id(self) -> str:
        """The id that the item has in a release."""
        return self.dossier.outcome.target.id


@dataclass(frozen=True)
class Frozen:
    """What was frozen: how many items, and how the release differs from the previous one."""

    items: int
    diff: ReleaseDiff | None


def freeze(workspace: Workspace, out: Path, order: Order, more: MoreFiles | None = None) -> Frozen:
    """Write the approved items as a release at `out`, and mark them frozen.

    The same state gives the same bytes. Raises ReleaseRefused with every reason, ReviewError where
    nothing was approved.
    """
    reviewed = read_reviewed(workspace.database)
    approved = [one for one in reviewed if one.version.closing is Closing.APPROVED]
    if not approved:
        raise ReviewError(
            "No item has been approved.", "`psychemme review status` shows what is missing."
        )
    rows = release_rows([(one.version.item, one.dossier) for one in approved])
    faults = list(_review_faults(reviewed, order))

    def add(release: Release) -> Mapping[str, bytes]:
        # Asked for once the rows and the version are right, and before anything is written.
        if faults:
            raise _refused(())
        return more(release) if more else {}

    facts = release_facts(order, approved, reviewed)
    try:
        diff = write_frozen(out, facts, *rows, order.errata, order.previous, add)
    except ReleaseRefused as refused:
        raise _refused((*faults, *refused.faults)) from None
    _mark(workspace.database, approved)
    return Frozen(len(approved), diff)


def read_reviewed(database: Path) -> list[Reviewed]:
    """Return every version that was not replaced, by candidate."""
    with ReviewDesk(database) as desk, RunStore(database) as runs:
        sets = {record.name: record for record in desk.sets()}
        made_by = {run.ordinal: run for run in runs.runs()}
        nobody = frozenset(r.id for r in desk.reviewers() if r.is_demonstration)
        return [
            Reviewed(
                version,
                sets[version.set_name],
                dossier,
                made_by[dossier.outcome.target.run],
                nobody,
            )
            for version in desk.versions()
            if version.closing is not Closing.REPLACED
            for dossier in (runs.dossier(version.item.candidate_key),)
        ]


def release_facts(
    order: Order, approved: Sequence[Reviewed], reviewed: Sequence[Reviewed]
) -> ReleaseFacts:
    """Return what the release says of itself."""
    models = _models(approved)
    profile, form = load_profile(order.profile), load_review(order.profile)
    seeds = {one.run.seed for one in approved}
    complete = [one for one in reviewed if outcome_of(one.version, one.of_set) is not None]
    return ReleaseFacts(
        name=order.name,
        version=order.version,
        profile=order.profile,
        example=order.example,
        canary=derived_canary(order.name),
        versions={
            "maker": models["question"],
            "psychemme": tool_version("psychemme"),
            "review_form": form.version,
            "taxonomy": profile.version,
            **_prompts(approved),
        },
        seed=next(iter(seeds)) if len(seeds) == 1 else None,
        models=models,
        gates=_gates(approved),
        review=ReviewFacts(
            reviewers_per_item=min(one.of_set.reviewers_per_item for one in approved),
            items_reviewed=len(complete),
            demonstration=any(one.is_demonstration for one in approved),
        ),
        licence=order.licence,
        languages=order.languages,
        date=order.date,
        citation=order.citation,
    )


def _review_faults(reviewed: Sequence[Reviewed], order: Order) -> Iterator[Fault]:
    for one in reviewed:
        closing = one.version.closing
        votes = one.votes
        if closing is None and not order.leave_open:
            needed = one.of_set.reviewers_per_item
            yield _fault(one, f"its review is open: {len(votes)} of {needed} verdicts")
        if closing is Closing.APPROVED:
            if not is_unanimous(votes, one.of_set):
                approving = sum(vote.approves for vote in votes.values())
                yield _fault(one, f"{approving} of {len(votes)} reviewers approve it")
            if one.is_demonstration and not order.example:
                yield _fault(one, "its votes are a demonstration and come from no person")
            for gate in one.version.gates:
                if gate.outcome is GateOutcome.BLOCK:
                    yield _fault(one, f"the {gate.gate} gate keeps it out: {gate.detail}")


def _refused(faults: Sequence[Fault]) -> ReleaseRefused:
    found = list(dict.fromkeys(faults))
    action = "Mend or leave out what is named, then freeze again."
    return ReleaseRefused(f"{len(found)} faults", found, action)


def _fault(one: Reviewed, problem: str) -> Fault:
    return Fault(file=QUESTIONS, where=one.id, rule=Rule.REVIEW, problem=problem)


def _models(approved: Sequence[Reviewed]) -> dict[str, str]:
    return _joined(pair for one in approved for pair in one.dossier.models.items())


def _prompts(approved: Sequence[Reviewed]) -> dict[str, str]:
    return _joined(
        (name, pin)
        for one in approved
        for name, pin in one.run.pins.items()
        if name.endswith(" prompt")
    )


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for name, value in pairs:
        found.setdefault(name, set()).add(value)
    return {name: ", ".join(sorted(values)) for name, values in sorted(found.items())}


def _gates(approved: Sequence[Reviewed]) -> dict[str, Literal["passed", "not_run"]]:
    names = {LEAKAGE, *(gate.gate for one in approved for gate in one.version.gates)}
    passed = {
        name: all(name in {gate.gate for gate in one.version.gates} for one in approved)
        for name in sorted(names)
    }
    return {name: "passed" if everywhere else "not_run" for name, everywhere in passed.items()}


def _mark(database: Path, approved: Sequence[Reviewed]) -> None:
    with RunStore(database) as runs:
        for one in approved:
            if one.dossier.outcome.state is not CandidateState.FROZEN:
                runs.settle(one.dossier.outcome.target.key, CandidateState.FROZEN)
