"""What the plan says of gates: which findings keep an item from people, and which only warn."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from construction.audits.values import AuditResult, AuditSettings
from psychemme.episode import Value
from psychemme.vocabulary import GateOutcome
from state.review_values import GateRecord


def _word(value: object) -> object:
    # YAML 1.1 reads a bare `off` as false.
    return "off" if value is False else value


NOT_RUN = "not run"
"""How the reason of an audit begins that was not run at all."""
Action = Annotated[Literal["off", "warn", "block"], BeforeValidator(_word)]


class GatePolicy(Value):
    """What a finding of each gate does: `block` keeps the item out, `warn` only tells.

    What code can prove blocks by default; what is a guess, or a property of the whole set, warns.
    A set-level audit that blocks keeps out the items it names, once the set is flagged.
    """

    leakage: Action = "warn"
    option_count: Action = "block"
    option_duplicates: Action = "block"
    answer_sanity: Action = "block"
    cue_validity: Action = "block"
    duplicate_questions: Action = "block"
    outcome_shown: Action = "block"
    personal_data: Action = "block"
    profanity: Action = "warn"
    street_address: Action = "warn"
    option_similarity: Action = "warn"
    reference_echo: Action = "warn"
    ambiguous_referents: Action = "warn"
    repeated_questions: Action = "warn"
    similar_meaning: Action = "warn"
    mutual_entailment: Action = "warn"
    answer_position: Action = "warn"
    longest_option: Action = "warn"
    option_only: Action = "warn"
    question_openings: Action = "warn"
    distinct_ngrams: Action = "warn"
    cue_position: Action = "warn"
    capability_balance: Action = "warn"
    format_balance: Action = "warn"
    thresholds: AuditSettings = AuditSettings()

    def action(self, gate: str) -> Literal["off", "warn", "block"]:
        """Return what a finding of `gate` does; raises KeyError where there is no such gate."""
        if gate not in type(self).model_fields or gate == "thresholds":
            raise KeyError(gate)
        found: Literal["off", "warn", "block"] = getattr(self, gate)
        return found


def gate(
    results: Sequence[AuditResult], policy: GatePolicy
) -> Mapping[str, tuple[GateRecord, ...]]:
    """Return what the results say of each item that offends, by id, in the order of results.

    A set-level result speaks of single items only where the policy lets it block.
    """
    found: dict[str, list[GateRecord]] = {}
    for result in results:
        action = policy.action(result.audit)
        if action == "off" or (result.kind == "set" and action != "block"):
            continue
        for one in result.findings:
            record = GateRecord(gate=result.audit, outcome=GateOutcome(action), detail=one.detail)
            found.setdefault(one.item_id, []).append(record)
    return {item_id: tuple(records) for item_id, records in found.items()}


def blocking(records: Sequence[GateRecord]) -> str:
    """Return why an item is kept out, as `<gate>: <detail>`, and nothing where it is not."""
    reasons = (f"{r.gate}: {r.detail}" for r in records if r.outcome is GateOutcome.BLOCK)
    return "; ".join(reasons)


def verdicts(
    results: Sequence[AuditResult], found: Sequence[GateRecord], policy: GatePolicy
) -> tuple[GateRecord, ...]:
    """Return one record for each gate that looked at single items: what it found, or `passed`.

    Where a gate found several things of an item, the record names all of them.
    """
    looked = [r.audit for r in results if r.kind == "item" and not r.why.startswith(NOT_RUN)]
    gates = [name for name in looked if policy.action(name) != "off"]
    gates += [record.gate for record in found if record.gate not in gates]
    return tuple(_verdict(name, [r for r in found if r.gate == name]) for name in gates)


def ended(
    standing: Sequence[GateRecord],
    new: Sequence[GateRecord],
    results: Sequence[AuditResult],
    policy: GatePolicy,
) -> tuple[GateRecord, ...]:
    """Return what takes the place of `standing` findings that `new` records do not speak of.

    Those are of gates that the policy has turned off since, of audits of the whole set that were
    run and keep the item out no more, and of audits that were not run, but may only warn by now.
    """
    ran = {one.audit: not one.why.startswith(NOT_RUN) for one in results}
    again = {one.gate for one in new}
    left = [one for one in standing if one.outcome is not GateOutcome.PASSED]
    ends = (_end(one, ran, policy) for one in left if one.gate not in again)
    return tuple(record for record in ends if record is not None)


def _end(one: GateRecord, ran: Mapping[str, bool], policy: GatePolicy) -> GateRecord | None:
    action = policy.action(one.gate) if one.gate in type(policy).model_fields else ""
    if action == "off" or ran.get(one.gate):
        why = "the plan turns it off" if action == "off" else "nothing is found any more"
        return GateRecord(gate=one.gate, outcome=GateOutcome.PASSED, detail=why)
    if action == "warn" and one.gate in ran and one.outcome is GateOutcome.BLOCK:
        return one.model_copy(update={"outcome": GateOutcome.WARN})
    return None


def _verdict(name: str, found: Sequence[GateRecord]) -> GateRecord:
    if not found:
        return GateRecord(gate=name, outcome=GateOutcome.PASSED)
    detail = "; ".join(record.detail for record in found)
    return found[0].model_copy(update={"detail": detail})
