"""Freeze what reviewers approved unanimously into a release; refuse everything else by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version as tool_version
from pathlib import Path

from construction.audits.desk import WorkspaceAudit, audit_subjects
from construction.audits.sources import Subject, versioned
from construction.leakage.models import SEPARATOR
from construction.leakage.policies import policy_of
from construction.review.release_rows import release_rows
from construction.review.unanimity import (
    counted_votes,
    is_unanimous,
    outcome_of,
    revoked,
    wanted,
)
from construction.workspace import Workspace
from psychemme.errors import ReviewError
from psychemme.release.diff import ReleaseDiff
from psychemme.release.errata import Erratum
from psychemme.release.faults import QUESTIONS, Fault, ReleaseRefused, Rule, counted, listed
from psychemme.release.freeze import MoreFiles, derived_canary, write_frozen
from psychemme.release.read import Release
from psychemme.release.rows import GateResult, ReleaseFacts, ReviewFacts
from psychemme.vocabulary import Closing, GateOutcome
from psychology_kb.load import load_profile, load_review
from state.address import Address
from state.leakage import LeakageStore
from state.review_desk import ReviewDesk
from state.review_values import GateRecord, ReviewedVersion, SetRecord, Vote
from state.runs import RunStore
from state.values import Dossier, RunRecord

RULE = 5
"""Reviewers of an item (paper, Section 3.3)."""
LEAKAGE = "leakage"
"""The gate that every release speaks of, run or not."""


@dataclass(frozen=True)
class Order:
    """What to freeze: the release's name, version and terms.

    `example` permits demonstration votes. `leave_open` leaves out items whose review has not
    ended; without it they are refused. `leave_out` are ids, or candidates' keys, of items that stay
    out whatever was said of them. `unfiltered` permits items that the leakage filter was not run
    on. `previous` is the release this one follows, `errata` what is said of its faults.
    """

    name: str
    version: str
    profile: str
    example: bool = False
    leave_open: bool = False
    leave_out: frozenset[str] = frozenset()
    unfiltered: bool = False
    licence: str = ""
    languages: tuple[str, ...] = ()
    date: str | None = None
    citation: str = ""
    errata: tuple[Erratum, ...] = ()
    previous: Path | None = None


@dataclass(frozen=True)
class Reviewed:
    """The newest version of a candidate with its set and run, and the versions before it.

    `demonstrators` are the reviewers who are no persons, `gone` those who are revoked.
    """

    version: ReviewedVersion
    of_set: SetRecord
    dossier: Dossier
    run: RunRecord
    earlier: tuple[ReviewedVersion, ...] = ()
    demonstrators: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()

    @property
    def votes(self) -> dict[str, Vote]:
        """The verdicts that count, by reviewer."""
        return counted_votes(self.version, self.of_set)

    @property
    def is_demonstration(self) -> bool:
        """Whether any verdict that counts comes from no person."""
        return not self.demonstrators.isdisjoint(self.votes)

    @property
    def was_seen_before(self) -> bool:
        """Whether a verdict that counts is of somebody who saw an earlier version's reference."""
        unblinded = {a.reviewer_id for a in self.version.assigned if a.is_unblinded}
        unblinded |= {name for name, own in self.version.answers.items() if own.is_unblinded}
        return not unblinded.isdisjoint(self.votes)

    @property
    def id(self) -> str:
        """The id that the item has in a release."""
        return self.dossier.outcome.target.id

    @property
    def key(self) -> str:
        """The candidate's key, the run before the id."""
        return self.version.item.candidate_key

    @property
    def subject(self) -> Subject:
        """The version as audits take it."""
        item = self.version.item
        return Subject(versioned(item, self.dossier), self.run.ordinal, item.version, True)


@dataclass(frozen=True)
class Frozen:
    """What was frozen: how many items of how many reviewers each, and what differs from before."""

    items: int
    reviewers_per_item: int
    diff: ReleaseDiff | None


def freeze(workspace: Workspace, out: Path, order: Order, more: MoreFiles | None = None) -> Frozen:
    """Write the approved items as a release at `out`, and mark them frozen.

    The same state gives the same bytes. Raises ReleaseRefused with every reason, ReviewError where
    nothing was approved.
    """
    reviewed = _without(read_reviewed(workspace.database), order.leave_out)
    reviewed, audit = _audited(reviewed)
    approved = [one for one in reviewed if one.version.closing is Closing.APPROVED]
    if not approved:
        raise ReviewError(
            "No item has been approved.", "`psychemme review status` shows what is missing."
        )
    rows = release_rows([(one.version.item, one.dossier) for one in approved])
    faults = [*_review_faults(reviewed, order), *_unfiltered(approved, order)]

    def add(release: Release) -> Mapping[str, bytes]:
        # Asked for once the rows and the version are right, and before anything is written.
        if faults:
            raise _refused(())
        return more(release) if more else {}

    facts = release_facts(order, approved, reviewed)
    facts = facts.model_copy(update={"gates": _with_set(facts.gates, audit)})
    if facts.gates[LEAKAGE] != "not_run":
        named = _filters(workspace.database)
        facts = facts.model_copy(update={"models": facts.models | named})
    try:
        diff = write_frozen(out, facts, *rows, order.errata, order.previous, add)
    except ReleaseRefused as refused:
        raise _refused((*faults, *refused.faults)) from None
    _mark(workspace.database, approved)
    return Frozen(len(approved), _reviewers_per_item(approved), diff)


def _without(reviewed: Sequence[Reviewed], left_out: frozenset[str]) -> list[Reviewed]:
    known = {name for one in reviewed for name in (one.id, one.key)}
    if unknown := sorted(left_out - known):
        raise ReviewError(
            f"No item under review is called {unknown[0]!r}.",
            "Name it as the faults or `psychemme review status` do.",
        )
    return [one for one in reviewed if left_out.isdisjoint((one.id, one.key))]


def _audited(reviewed: Sequence[Reviewed]) -> tuple[list[Reviewed], WorkspaceAudit]:
    """Return `reviewed` with what audits find now in those that are approved, and the audit.

    A stored result may be older than its version, or than another item that now asks the same. One
    that blocks stands until its gate is run again, and so does what a finding was stored as.
    """
    approved = [one for one in reviewed if one.version.closing is Closing.APPROVED]
    subjects = {one.key: one.subject for one in approved}
    by_run = {one.run.ordinal: policy_of(one.run.plan_json) for one in approved}
    audit = audit_subjects(list(subjects.values()), by_run)

    def gates(one: Reviewed) -> tuple[GateRecord, ...]:
        held = {gate.gate: gate for gate in one.version.gates}
        for found in audit.verdicts_of(subjects[one.key]):
            before = held.get(found.gate)
            is_kept = before and (
                before.outcome is GateOutcome.BLOCK or before.detail == found.detail
            )
            held[found.gate] = before if before and is_kept else found
        return tuple(held.values())

    audited = [
        replace(one, version=one.version.model_copy(update={"gates": gates(one)}))
        if one.key in subjects
        else one
        for one in reviewed
    ]
    return audited, audit


def read_reviewed(database: Address) -> list[Reviewed]:
    """Return every version that was not replaced, by candidate."""
    with ReviewDesk(database) as desk, RunStore(database) as runs:
        board = desk.board()
        made_by = {run.ordinal: run for run in runs.runs()}
        nobody = frozenset(r.id for r in board.reviewers if r.is_demonstration)
        versions: dict[str, list[ReviewedVersion]] = {}
        for version in board.versions:
            versions.setdefault(version.item.candidate_key, []).append(version)
        return [
            Reviewed(
                newest,
                board.sets[newest.set_name],
                dossier,
                made_by[dossier.outcome.target.run],
                tuple(earlier),
                nobody,
                revoked(board),
            )
            for key, (*earlier, newest) in versions.items()
            if newest.closing is not Closing.REPLACED
            for dossier in (runs.dossier(key),)
        ]


def release_facts(
    order: Order, approved: Sequence[Reviewed], reviewed: Sequence[Reviewed]
) -> ReleaseFacts:
    """Return what the release says of itself."""
    models = _models(approved)
    profile, form = load_profile(order.profile), load_review(order.profile)
    seeds = {one.run.seed for one in approved}
    ended = [
        one.version.closing or outcome_of(one.version, one.of_set, one.gone) for one in reviewed
    ]
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
            reviewers_per_item=_reviewers_per_item(approved),
            items_reviewed=sum(outcome is not None for outcome in ended),
            demonstration=any(one.is_demonstration for one in approved),
            versions_replaced=sum(
                bool(counted_votes(version, one.of_set))
                for one in reviewed
                for version in one.earlier
            ),
            items_seen_before=sum(one.was_seen_before for one in approved),
        ),
        licence=order.licence,
        languages=order.languages,
        date=order.date,
        citation=order.citation,
    )


def _reviewers_per_item(approved: Sequence[Reviewed]) -> int:
    return min(one.of_set.reviewers_per_item for one in approved)


def _review_faults(reviewed: Sequence[Reviewed], order: Order) -> Iterator[Fault]:
    for one in reviewed:
        closing = one.version.closing
        votes = one.votes
        for fault in one.version.faults:
            yield _fault(one, f"a row cannot be read: {fault}")
        if closing is None and not order.leave_open:
            needed = wanted(one.version, one.of_set, one.gone)
            yield _fault(one, f"its review is open: {len(votes)} of {needed} verdicts")
        if closing is Closing.APPROVED:
            if not is_unanimous(votes, one.of_set):
                approving = sum(vote.approves for vote in votes.values())
                void = sorted(one.version.conflicted & one.version.standing().keys())
                but = f"; conflict of interest: {', '.join(void)}" if void else ""
                yield _fault(one, f"{approving} of {len(votes)} reviewers approve it{but}")
            if one.is_demonstration and not order.example:
                yield _fault(one, "its votes are a demonstration and come from no person")
            yield from _gate_faults(one)


def _gate_faults(one: Reviewed) -> Iterator[Fault]:
    """Yield the gates that block the item; an edit does not open them, only their next run does."""
    for gate in one.version.gates:
        if gate.outcome is GateOutcome.BLOCK:
            yield _fault(one, f"the {gate.gate} gate keeps it out: {gate.detail}")
    found = {g.gate: (v.item.version, g.outcome) for v in one.earlier for g in v.gates}
    for name in sorted(found.keys() - {gate.gate for gate in one.version.gates}):
        number, outcome = found[name]
        if outcome is GateOutcome.BLOCK:
            newest = one.version.item.version
            problem = f"blocked version {number} and has not been run on version {newest}"
            yield _fault(one, f"the {name} gate {problem}")


def _unfiltered(approved: Sequence[Reviewed], order: Order) -> Iterator[Fault]:
    """Yield a fault where the leakage filter was not run on items whose plan has it."""
    if order.unfiltered or order.example:
        return
    missing = [
        one.id
        for one in approved
        if policy_of(one.run.plan_json).action(LEAKAGE) != "off"
        and all(gate.gate != LEAKAGE for gate in one.version.gates)
    ]
    if missing:
        some = f"{len(missing)} of {counted(len(approved), 'item')}: {listed(missing)}"
        how = "run `psychemme leakage`, or say so with --leakage-not-run or in the plan"
        problem = f"the leakage filter was not run on {some}; {how}"
        yield Fault(file=QUESTIONS, rule=Rule.REVIEW, problem=problem)


def _filters(database: Address) -> dict[str, str]:
    with LeakageStore(database) as store:
        names = {
            name for run in store.runs(LEAKAGE) for name in run.pins["models"].split(SEPARATOR)
        }
    return {"leakage filter": ", ".join(sorted(names))} if names else {}


def _refused(faults: Sequence[Fault]) -> ReleaseRefused:
    found = list(dict.fromkeys(faults))
    action = "Mend or leave out what is named, then freeze again."
    return ReleaseRefused(counted(len(found), "fault"), found, action)


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


def _gates(approved: Sequence[Reviewed]) -> dict[str, GateResult]:
    found = [{gate.gate: gate.outcome for gate in one.version.gates} for one in approved]
    return {
        name: _gate_result([of_item.get(name) for of_item in found])
        for name in sorted({LEAKAGE}.union(*found))
    }


def _with_set(gates: Mapping[str, GateResult], audit: WorkspaceAudit) -> dict[str, GateResult]:
    """Return `gates` with audits of the whole set, and those not run or of too few items."""
    found: dict[str, GateResult] = {}
    for one in audit.results:
        if audit.policy.action(one.audit) == "off":
            continue
        if one.kind == "item":
            found[one.audit] = gates.get(one.audit, "not_run")
        elif one.is_flagged:
            found[one.audit] = "warned"
        else:
            is_told = not one.why and one.of >= audit.policy.thresholds.fewest
            found[one.audit] = "passed" if is_told else "not_run"
    return dict(sorted({**gates, **found}.items()))


def _gate_result(outcomes: Sequence[GateOutcome | None]) -> GateResult:
    if None in outcomes:
        return "not_run"
    return "passed" if set(outcomes) == {GateOutcome.PASSED} else "warned"


def _mark(database: Address, approved: Sequence[Reviewed]) -> None:
    with ReviewDesk(database) as desk:
        desk.mark_frozen(
            [(one.version.item.candidate_key, one.version.item.version) for one in approved]
        )
