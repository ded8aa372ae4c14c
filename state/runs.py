"""The curator's door: runs, candidates and what became of them.

Methods are sync and serve the command line; the graph's code steps call them through
`asyncio.to_thread`.
"""

import json
from collections.abc import Sequence

import sqlalchemy
from sqlalchemy import func
from sqlmodel import Session, SQLModel, col, select

from psychemme.canonical import canonical_json, now
from psychemme.items import Critique, Defect
from psychemme.vocabulary import CandidateState, LookAgain, Step
from state import read, tables
from state.roles import DbRole
from state.stores import RoleStore
from state.values import (
    CandidateOutcome,
    CandidateTarget,
    ClipRecord,
    Dossier,
    RoundRecord,
    RunRecord,
)


class RunStore(RoleStore):
    """Runs, candidates, their outcomes and dossiers."""

    db_role = DbRole.CURATOR

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

        self.commit(update)

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
    steps: dict[int, dict[str, str]] = {}
    for row in session.exec(
        select(tables.StepRow)
        .where(tables.StepRow.candidate_key == key)
        .order_by(col(tables.StepRow.round))
    ):
        steps.setdefault(row.round, {})[row.step] = row.outcome
    return tuple(_round(session, key, at, found) for at, found in sorted(steps.items()))


def _round(session: Session, key: str, at: int, steps: dict[str, str]) -> RoundRecord:
    record: dict[str, object] = {
        "round": at,
        "steps": steps,
        "question_feedback": read.question_feedback(session, key, at),
        "answer_feedback": tuple(
            row.code for row in read.of_round(session, tables.AnswerFeedback, key, at)
        ),
    }
    if session.get(tables.QuestionRow, (key, at)) is not None:
        record["question"] = read.question(session, key, at)
        record["reference"] = read.reference(session, key, at)
    if (answer := session.get(tables.IndependentAnswerRow, (key, at))) is not None:
        record["independent"] = read.independent(session, key, at)
        record["order"] = tuple(json.loads(answer.order_json))
    if (critique := session.get(tables.CritiqueRow, (key, at))) is not None:
        record["critique"] = Critique.model_validate_json(critique.critique_json)
    return RoundRecord.model_validate(record)
