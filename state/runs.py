"""The curator's door: runs, candidates and what became of them.

Methods are sync and serve the command line; the graph's code steps call them through
`asyncio.to_thread`.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import func
from sqlmodel import Session, SQLModel, col, select

from psychemme.canonical import canonical_json, now
from psychemme.errors import RunError
from psychemme.items import Critique, Defect
from psychemme.vocabulary import CandidateState, LookAgain, Step
from state import read, tables
from state.leases import CuratorStore
from state.values import (
    CandidateOutcome,
    CandidateTarget,
    Case,
    ClipRecord,
    Dossier,
    LedgerCall,
    RoundRecord,
    RunRecord,
)

InRound = TypeVar(
    "InRound",
    tables.StepRow,
    tables.QuestionRow,
    tables.ReferenceRow,
    tables.CueRow,
    tables.IndependentAnswerRow,
    tables.CritiqueRow,
    tables.QuestionFeedback,
    tables.AnswerFeedback,
)


class RunStore(CuratorStore):
    """Runs, candidates, their outcomes and dossiers."""

    def newest_preparation(self) -> int:
        """Return the highest preparation number, 0 before the first."""
        highest = select(func.max(tables.Preparation.number))
        return int(self.query(lambda session: session.exec(highest).one() or 0))

    def start_run(self, run: RunRecord) -> None:
        """Store a new run."""
        row = tables.Run(
            **run.model_dump(include={"ordinal", "seed", "count", "preparation", "plan_json"}),
            models_json=canonical_json(dict(run.models)),
            pins_json=canonical_json(dict(run.pins)),
            created_at=now(),
        )
        self.commit(lambda session: session.add(row))

    def runs(self) -> list[RunRecord]:
        """Return all runs in order."""

        def find(session: Session) -> list[RunRecord]:
            rows = session.exec(select(tables.Run).order_by(col(tables.Run.ordinal))).all()
            return [_run(row) for row in rows]

        return self.query(find)

    def run(self, ordinal: int) -> RunRecord:
        """Return a run; raises RunError where there is none of that number."""
        found = self.runs()
        if not 1 <= ordinal <= len(found):
            held = f"This workspace holds runs 1 to {len(found)}." if found else "None yet."
            raise RunError(f"There is no run {ordinal}.", held)
        return found[ordinal - 1]

    def start_batch(self, targets: Sequence[CandidateTarget]) -> None:
        """Store a batch of picks as pending candidates, all or none."""
        rows = [tables.Candidate.model_validate(target.model_dump()) for target in targets]
        outcomes = [
            tables.Outcome(candidate_key=target.key, state=CandidateState.PENDING)
            for target in targets
        ]

        def insert(session: Session) -> None:
            session.add_all(rows)
            session.flush()
            session.add_all(outcomes)

        self.commit(insert)

    def outcomes(self, run: int | None = None) -> list[CandidateOutcome]:
        """Return every candidate of a run (default: of all runs) in pick order."""
        found = select(tables.Candidate, tables.Outcome).join(tables.Outcome)
        if run is not None:
            found = found.where(tables.Candidate.run == run)
        found = found.order_by(col(tables.Candidate.run), col(tables.Candidate.pick))
        return self.query(lambda s: [_outcome(*pair) for pair in s.exec(found).all()])

    def outcome(self, key: str) -> CandidateOutcome:
        """Return what became of one candidate."""
        return self.query(
            lambda s: _outcome(s.get_one(tables.Candidate, key), s.get_one(tables.Outcome, key))
        )

    def settle(
        self, key: str, state: CandidateState, reason: str | None = None, **facts: object
    ) -> None:
        """Record what became of a candidate; `facts` are other columns of its outcome."""

        def update(session: Session) -> None:
            row = session.get_one(tables.Outcome, key)
            row.sqlmodel_update({"state": state, "reason": reason} | facts)
            session.add(row)

        self.repeat(lambda: self.commit(update))

    def costs(self, run: int | None = None) -> tuple[int, float | None]:
        """Return tokens and US dollars spent; None where a price is unknown."""
        ledger = tables.LedgerEntry
        spent = sqlalchemy.select(
            func.coalesce(func.sum(col(ledger.input_tokens) + col(ledger.output_tokens)), 0),
            func.count(),
            func.count(col(ledger.cost)),
            func.coalesce(func.sum(col(ledger.cost)), 0.0),
        ).select_from(ledger)
        if run is not None:
            spent = spent.join(tables.Candidate).where(col(tables.Candidate.run) == run)
        tokens, calls, priced, cost = self.query(lambda s: s.connection().execute(spent).one())
        return int(tokens), float(cost or 0) if calls == priced else None

    def ledger(self, run: int | None = None) -> list[LedgerCall]:
        """Return every call of a run (default: of all runs), in no particular order."""
        names = list(LedgerCall.model_fields)
        found = sqlalchemy.select(*(col(getattr(tables.LedgerEntry, name)) for name in names))
        if run is not None:
            found = found.join(tables.Candidate).where(col(tables.Candidate.run) == run)
        rows = self.query(lambda s: s.connection().execute(found).all())
        return [LedgerCall(**dict(zip(names, row, strict=True))) for row in rows]

    def record_step(
        self,
        key: str,
        at: int,
        step: Step,
        outcome: str,
        question_feedback: Sequence[Defect] = (),
        answer_feedback: Sequence[LookAgain] = (),
    ) -> None:
        """Store a code step of round `at`, and the feedback it gives to the next round."""
        rows: list[SQLModel] = [
            tables.QuestionFeedback.model_validate(
                {"candidate_key": key, "round": at + 1, "position": i, **defect.model_dump()}
            )
            for i, defect in enumerate(question_feedback)
        ]
        rows.extend(
            tables.AnswerFeedback(candidate_key=key, round=at + 1, position=i, code=code)
            for i, code in enumerate(answer_feedback)
        )
        rows.append(tables.StepRow(candidate_key=key, round=at, step=step, outcome=outcome))
        self.insert_once(rows)

    def rounds(self, key: str) -> tuple[RoundRecord, ...]:
        """Return what every round of a candidate left behind."""
        return self.query(lambda session: _rounds(session, key))

    def case(self, key: str) -> Case:
        """Return what the code steps need of a candidate, and nothing else."""
        return self.query(
            lambda session: Case(
                target=self.target(session, key),
                episode=self.material(session, key).episode,
                rounds=_rounds(session, key),
            )
        )

    def dossier(self, key: str) -> Dossier:
        """Return a candidate from target to outcome."""

        def find(session: Session) -> Dossier:
            candidate = session.get_one(tables.Candidate, key)
            row = session.get_one(tables.EpisodeRow, (candidate.episode_id, candidate.preparation))
            clip = session.get_one(tables.Clip, row.clip_id)
            return Dossier(
                outcome=_outcome(candidate, session.get_one(tables.Outcome, key)),
                clip=ClipRecord.model_validate(clip.model_dump()),
                episode=read.episode(row),
                rounds=_rounds(session, key),
                models=_run(session.get_one(tables.Run, candidate.run)).models,
            )

        return self.query(find)


def _run(row: tables.Run) -> RunRecord:
    return RunRecord(
        **row.model_dump(exclude={"models_json", "pins_json"}),
        models=json.loads(row.models_json),
        pins=json.loads(row.pins_json),
    )


def _outcome(candidate: tables.Candidate, outcome: tables.Outcome) -> CandidateOutcome:
    return CandidateOutcome(
        target=CandidateTarget.model_validate(candidate.model_dump()),
        **outcome.model_dump(exclude={"candidate_key"}),
    )


def _rounds(session: Session, key: str) -> tuple[RoundRecord, ...]:
    found = _Rows(session, key)
    rounds = sorted({row.round for row in found.of(tables.StepRow)})
    return tuple(_round(found, at) for at in rounds)


class _Rows:
    """A candidate's rows, read once a table and not once a round."""

    def __init__(self, session: Session, key: str) -> None:
        self._session, self._key = session, key
        self._read: dict[type[SQLModel], Sequence[Any]] = {}

    def of(self, table: type[InRound], at: int | None = None) -> list[InRound]:
        """Return the candidate's rows of `table` in the order of their keys."""
        if table not in self._read:
            mine = select(table).where(table.candidate_key == self._key)
            ordered = mine.order_by(*table.__table__.primary_key)  # type: ignore[attr-defined]
            self._read[table] = self._session.exec(ordered).all()
        return [row for row in self._read[table] if at is None or row.round == at]


def _round(rows: _Rows, at: int) -> RoundRecord:
    # What a step made is stored with it, so that no table is read for a step that is not there.
    steps = {row.step: row.outcome for row in rows.of(tables.StepRow, at)}
    record: dict[str, object] = {"round": at, "steps": steps}
    if at > 0:
        record["question_feedback"] = read.as_defects(rows.of(tables.QuestionFeedback, at))
        record["answer_feedback"] = tuple(row.code for row in rows.of(tables.AnswerFeedback, at))
    if Step.PROPOSE in steps:
        for question, reference in zip(
            rows.of(tables.QuestionRow, at), rows.of(tables.ReferenceRow, at), strict=True
        ):
            record["question"] = read.as_question(question)
            record["reference"] = read.as_reference(reference, rows.of(tables.CueRow, at))
    if Step.ANSWER in steps:
        for answer in rows.of(tables.IndependentAnswerRow, at):
            record["independent"] = read.as_independent(answer)
            record["order"] = tuple(json.loads(answer.order_json))
    if Step.CRITIQUE in steps:
        for critique in rows.of(tables.CritiqueRow, at):
            record["critique"] = Critique.model_validate_json(critique.critique_json)
    return RoundRecord.model_validate(record)
