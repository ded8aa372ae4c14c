"""The curator's door to what automatic gates found about candidates and versions under review."""

from collections import defaultdict
from collections.abc import Mapping

from sqlmodel import Session, SQLModel, col, select

from psychemme.canonical import now
from psychemme.vocabulary import CandidateState, GateOutcome
from state import review_tables as reviewed
from state import tables
from state.leases import CuratorStore
from state.review_values import GateRecord


class GateStore(CuratorStore):
    """Gate results by candidate. Methods are sync."""

    def record(self, key: str, version: int, *results: GateRecord) -> CandidateState:
        """Keep what gates found of a version, and return the candidate's state after it.

        Version 1 of a candidate that no review has opened is the graph's final proposal. While any
        gate's last result blocks it, an accepted candidate is `gated`, and accepted again after. A
        result that stands already is not stored again.
        """

        def add(session: Session) -> CandidateState:
            outcome = session.get_one(tables.Outcome, key, with_for_update=True)
            under_review = session.get(reviewed.ReviewItem, (key, version)) is not None
            for result in results:
                if under_review:
                    place = {"candidate_key": key, "version": version}
                    _add(session, reviewed.GateResult, place, result)
                else:
                    _add(session, tables.CandidateGate, {"candidate_key": key}, result)
                    _settle(session, outcome, result)
            return CandidateState(outcome.state)

        return self.commit(add)

    def found(self) -> Mapping[str, tuple[GateRecord, ...]]:
        """Return the last result of each gate by candidate; a later version's stands for it."""

        def find(session: Session) -> dict[str, dict[str, GateRecord]]:
            held: dict[str, dict[str, GateRecord]] = defaultdict(dict)
            gates, results = tables.CandidateGate, reviewed.GateResult
            for row in session.exec(select(gates).order_by(col(gates.position))).all():
                held[row.candidate_key][row.gate] = _record(row)
            in_order = (col(results.version), col(results.position))
            for later in session.exec(select(results).order_by(*in_order)).all():
                held[later.candidate_key][later.gate] = _record(later)
            return held

        return {key: tuple(by_gate.values()) for key, by_gate in self.query(find).items()}


def carry_gates(session: Session, key: str, version: int) -> None:
    """Give a version that review opens what the gates found of its candidate."""
    for result in _standing(session, key).values():
        _add(session, reviewed.GateResult, {"candidate_key": key, "version": version}, result)


def _standing(session: Session, key: str) -> dict[str, GateRecord]:
    """Return the last result of each gate about a candidate, before review."""
    table = tables.CandidateGate
    ordered = select(table).where(table.candidate_key == key).order_by(col(table.position))
    return {row.gate: _record(row) for row in session.exec(ordered).all()}


def _settle(session: Session, outcome: tables.Outcome, result: GateRecord) -> None:
    """Change a candidate's state where the gate's new result makes or ends a reason for it."""
    state, by = CandidateState(outcome.state), (outcome.reason or "").partition(":")[0]
    is_ended = state is CandidateState.GATED and by == result.gate
    if state is not CandidateState.ACCEPTED and not is_ended:
        return
    standing = _standing(session, outcome.candidate_key).values()
    blocking = next((one for one in standing if one.outcome is GateOutcome.BLOCK), None)
    state = CandidateState.ACCEPTED if blocking is None else CandidateState.GATED
    reason = None if blocking is None else f"{blocking.gate}: {blocking.detail}"
    session.add(outcome.sqlmodel_update({"state": str(state), "reason": reason}))


def _add(
    session: Session,
    table: type[tables.CandidateGate] | type[reviewed.GateResult],
    place: Mapping[str, object],
    result: GateRecord,
) -> None:
    mine = [getattr(table, name) == value for name, value in place.items()]
    ordered = select(table).where(*mine, table.gate == result.gate).order_by(col(table.position))
    earlier = session.exec(ordered).all()
    if earlier and _record(earlier[-1]) == result:
        return
    position = {"position": len(earlier), "found_at": now()}
    session.add(table.model_validate({**place, **position, **result.model_dump()}))
    session.flush()


def _record(row: SQLModel) -> GateRecord:
    return GateRecord.model_validate(row.model_dump(include={"gate", "outcome", "detail"}))
