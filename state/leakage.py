"""The curator's door to the trials of the leakage filter: every reply, once."""

import json
from collections.abc import Mapping

from sqlmodel import Session, col, select

from psychemme.canonical import canonical_json, now
from psychemme.episode import Value
from psychemme.items import Answer
from state import tables
from state.leases import CuratorStore
from state.values import LedgerCall

ENTAILMENT = "entailment"
"""The probe of calls about an item's options that belong to no trial: `trial` is a pair's place."""
ANSWER, JUDGE = "answer", "judge"
"""The steps of a trial: an answer, and where it is an open one a judge's verdict on it."""


class TrialPlace(Value):
    """Which trial of which model on which version: what the model was given, and how."""

    candidate_key: str
    version: int
    probe: str
    protocol: str
    model: str
    trial: int


class TrialCall(TrialPlace):
    """One reply of a trial. `asked` is the model that replied: the trial's own, or the judge.

    `order` holds the option ids as shown; `answer` is in the item's own ids, None where the reply
    held none; `credit` is None where nobody could tell. `latency` is in seconds, `cost` in US
    dollars.
    """

    attempt: int
    step: str = ANSWER
    order: tuple[str, ...] = ()
    answer: Answer | None = None
    credit: float | None = None
    text: str
    finish_reason: str
    asked: str
    request_key: str
    prompt_id: str
    prompt_hash: str
    parameters_json: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency: float = 0.0
    cached: bool = False


class GateRunRecord(Value):
    """A run of a gate, and what it pinned."""

    ordinal: int
    gate: str
    pins: Mapping[str, str]
    started_at: int


class LeakageStore(CuratorStore):
    """Trials and the runs they belong to. Methods are sync."""

    def begin(self, gate: str, pins: Mapping[str, str]) -> GateRunRecord:
        """Return the newest run of `gate` where it pinned the same, else a new one."""

        def add(session: Session) -> GateRunRecord:
            table = tables.GateRun
            held = session.exec(select(table).order_by(col(table.ordinal))).all()
            mine = [row for row in held if row.gate == gate]
            if mine and json.loads(mine[-1].pins_json) == dict(pins):
                return _run(mine[-1])
            row = table(
                ordinal=len(held) + 1,
                gate=gate,
                pins_json=canonical_json(dict(pins)),
                started_at=now(),
            )
            session.add(row)
            session.flush()
            return _run(row)

        return self.commit(add)

    def runs(self, gate: str) -> list[GateRunRecord]:
        """Return the runs of `gate` in order."""
        table = tables.GateRun
        ordered = select(table).where(table.gate == gate).order_by(col(table.ordinal))
        return self.query(lambda session: [_run(row) for row in session.exec(ordered).all()])

    def record(self, call: TrialCall) -> None:
        """Commit a reply the moment it arrives."""
        fields = call.model_dump(exclude={"order", "answer"})
        texts = {
            "order_json": canonical_json(list(call.order)),
            "answer_json": canonical_json(call.answer),
        }
        row = tables.LeakageTrial.model_validate(fields | texts | {"called_at": now()})
        self.insert_once([row])

    def calls(self, key: str | None = None) -> list[TrialCall]:
        """Return every trial's reply, or those about one candidate, by their keys."""
        table = tables.LeakageTrial
        found = select(table).where(table.probe != ENTAILMENT)
        if key is not None:
            found = found.where(table.candidate_key == key)

        def find(session: Session) -> list[TrialCall]:
            ordered = found.order_by(*table.__table__.primary_key)  # type: ignore[attr-defined]
            return [_call(row) for row in session.exec(ordered).all()]

        return self.query(find)

    def ledger(self, run: int | None = None) -> list[LedgerCall]:
        """Return the calls about the candidates of a run (default: of all), as the ledger's are."""
        table = tables.LeakageTrial
        found = select(table)
        if run is not None:
            found = found.join(tables.Candidate).where(tables.Candidate.run == run)
        return self.query(lambda session: [_ledger(row) for row in session.exec(found).all()])


def _run(row: tables.GateRun) -> GateRunRecord:
    pins = json.loads(row.pins_json)
    return GateRunRecord(ordinal=row.ordinal, gate=row.gate, pins=pins, started_at=row.started_at)


def _call(row: tables.LeakageTrial) -> TrialCall:
    fields = row.model_dump(exclude={"order_json", "answer_json", "called_at"})
    order, answer = json.loads(row.order_json), json.loads(row.answer_json)
    return TrialCall.model_validate(fields | {"order": tuple(order), "answer": answer})


def _ledger(row: tables.LeakageTrial) -> LedgerCall:
    fields = row.model_dump(include=set(LedgerCall.model_fields) - {"round", "role", "model"})
    role = "leakage" if row.step == ANSWER else "leakage judge"
    role = ENTAILMENT if row.probe == ENTAILMENT else role
    return LedgerCall.model_validate(fields | {"round": 0, "role": role, "model": row.asked})
