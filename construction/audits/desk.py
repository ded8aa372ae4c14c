"""Audit a workspace, and act on what the plan says of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from construction.audits.entailment import Entails
from construction.audits.meaning import Vectors
from construction.audits.registry import run_audits
from construction.audits.similar import COMPARING
from construction.audits.sources import Subject, of_workspace, versioned
from construction.audits.values import AuditResult
from construction.gates import NOT_RUN, GatePolicy, blocking, ended, gate, verdicts
from construction.leakage.policies import policies, policy_of
from construction.workspace import Workspace
from psychemme.config import Effective
from psychemme.vocabulary import CandidateState, GateOutcome
from state.gates import GateStore
from state.review_values import GateRecord, ItemVersion
from state.runs import RunStore


@dataclass(frozen=True)
class WorkspaceAudit:
    """The results of a workspace's audits, with the thresholds of its newest run.

    `records` hold what the policy of each item's run makes of them, by candidate key; items that
    pass everything have none.
    """

    subjects: tuple[Subject, ...]
    results: tuple[AuditResult, ...]
    policies: Mapping[int, GatePolicy]
    records: Mapping[str, tuple[GateRecord, ...]]

    @property
    def policy(self) -> GatePolicy:
        """The policy of the newest run."""
        return self.policies[max(self.policies)] if self.policies else GatePolicy()

    @property
    def blocked(self) -> dict[str, str]:
        """Why accepted candidates are kept out, by key."""
        waiting = (one for one in self.subjects if not one.under_review and not one.reason)
        return self._reasons(waiting)

    def blocked_of(self, run: int | None) -> dict[str, str]:
        """Return those of `blocked` that are of a run, or all."""
        of = {one.item.id: one.run for one in self.subjects}
        return {key: why for key, why in self.blocked.items() if run in (None, of[key])}

    @property
    def held(self) -> dict[str, str]:
        """Why versions under review are kept out of a release, by candidate key."""
        return self._reasons(one for one in self.subjects if one.under_review)

    @property
    def released(self) -> tuple[str, ...]:
        """The candidates that an audit has gated and none keeps out any more."""
        ran = {result.audit: not result.why.startswith(NOT_RUN) for result in self.results}
        gated = []
        for one in self.subjects:
            name, *_ = one.reason.partition(":")
            if name in ran and (ran[name] or self.policies[one.run].action(name) != "block"):
                gated.append(one)
        blocked = self._reasons(gated)
        return tuple(one.item.id for one in gated if one.item.id not in blocked)

    def verdicts_of(self, one: Subject) -> tuple[GateRecord, ...]:
        """Return one record for each audit that looked at single items: what it found, or passed.

        They are under the policy of the subject's own run.
        """
        return verdicts(self._known(one), self.records.get(one.item.id, ()), self.policies[one.run])

    def rows_of(self, one: Subject, standing: Sequence[GateRecord]) -> tuple[GateRecord, ...]:
        """Return `verdicts_of` an item, and what takes the place of `standing` findings of it."""
        rows = self.verdicts_of(one)
        return (*rows, *ended(standing, rows, self._known(one), self.policies[one.run]))

    def _known(self, one: Subject) -> list[AuditResult]:
        return [result for result in self.results if one.item.id not in result.unknown]

    def _reasons(self, subjects: Iterable[Subject]) -> dict[str, str]:
        found = {one.item.id: blocking(self.records.get(one.item.id, ())) for one in subjects}
        return {key: why for key, why in found.items() if why}


def audit_workspace(
    workspace: Workspace,
    run: int | None = None,
    effective: Effective | None = None,
) -> WorkspaceAudit:
    """Return what all audits find in the items of a run (default: of all runs).

    The policy is that of each run's plan, or of the plan that `effective` was given by flag.
    """
    subjects = of_workspace(workspace.database, run)
    return audit_subjects(subjects, policies(workspace, effective))


def audit_subjects(
    subjects: Sequence[Subject],
    by_run: Mapping[int, GatePolicy],
    entails: Entails | None = None,
    vectors: Vectors | None = None,
) -> WorkspaceAudit:
    """Return what all audits find in `subjects`, under the policy of each one's run."""
    newest = by_run[max(by_run)] if by_run else GatePolicy()
    items = [one.item for one in subjects]
    results = run_audits(items, newest.thresholds, entails, vectors)
    found: dict[str, tuple[GateRecord, ...]] = {}
    for policy in dict.fromkeys(by_run[one.run] for one in subjects):
        own = results
        if policy.thresholds != newest.thresholds:
            own = run_audits(items, policy.thresholds, entails, vectors)
        mine = {one.item.id for one in subjects if by_run[one.run] == policy}
        found |= {key: records for key, records in gate(own, policy).items() if key in mine}
    return WorkspaceAudit(tuple(subjects), results, by_run, found)


def apply(workspace: Workspace, audit: WorkspaceAudit) -> tuple[int, int]:
    """Store what was found of every item; return how many became gated, and how many accepted.

    Items that pass are stored as passed: an edit's version takes the place of the one that did not.
    What another gate keeps out stays out.
    """
    gated = accepted = 0
    with GateStore(workspace.database) as store:
        standing = store.found()
        for one in audit.subjects:
            before = standing.get(one.item.id, ())
            rows = audit.rows_of(one, before)
            if one.under_review:
                store.record(one.item.id, one.version, *rows)
            elif not set(rows) <= set(before):
                state = store.record(one.item.id, one.version, *rows)
                gated += not one.reason and state is CandidateState.GATED
                accepted += bool(one.reason) and state is CandidateState.ACCEPTED
    return gated, accepted


def gate_blocked(workspace: Workspace, audit: WorkspaceAudit, keys: Iterable[str]) -> None:
    """Gate accepted candidates of `audit.blocked`; nothing else is stored."""
    with GateStore(workspace.database) as store:
        for key in keys:
            store.record(key, 1, *filter(_blocks, audit.records[key]))


def audit_edit(workspace: Workspace, item: ItemVersion) -> None:
    """Store what is wrong with an edited version, and that it passes what an earlier one did not.

    What compares items is left to the next audit of all.
    """
    with RunStore(workspace.database) as runs, GateStore(workspace.database) as store:
        dossier = runs.dossier(item.candidate_key)
        policy = policy_of(runs.run(dossier.outcome.target.run).plan_json)
        earlier = {one.gate for one in store.found().get(item.candidate_key, ())}
    results = run_audits([versioned(item, dossier)], policy.thresholds)
    alone = [one for one in results if one.kind == "item" and one.audit not in COMPARING]
    found = gate(alone, policy).get(item.candidate_key, ())
    rows = [
        record
        for record in verdicts(alone, found, policy)
        if record.outcome is not GateOutcome.PASSED or record.gate in earlier
    ]
    with GateStore(workspace.database) as store:
        store.record(item.candidate_key, item.version, *rows)


def _blocks(record: GateRecord) -> bool:
    return record.outcome is GateOutcome.BLOCK
