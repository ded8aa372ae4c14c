"""One store per agent role: the only door an agent has to the Shared State.

Methods are async; each runs in the role's own thread on the role's own engine, and no transaction
spans an await. A step is written with its result in one transaction and is unique, so the loser of
a race, or a resumed run, leaves the first writer's row alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, select

from psychemme.canonical import canonical_json, now
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychemme.vocabulary import AgentRole, Format, LookAgain, Step
from state import read, tables
from state.engines import open_engine
from state.roles import DbRole
from state.values import AnswerBrief, CallRecord, CriticBrief, QuestionBrief, RecordedReply

T = TypeVar("T")


class RoleStore:
    """A role's engine, used from one thread of its own."""

    db_role: ClassVar[DbRole]

    def __init__(self, path: Path) -> None:
        self._engine = open_engine(path, self.db_role)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"store-{self.db_role}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the work in hand, then close every connection."""
        self._thread.shutdown()
        self._engine.dispose()

    def query(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a read transaction."""
        with Session(self._engine.execution_options(write=False)) as session:
            return work(session)

    def commit(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a write transaction and commit it."""
        with Session(self._engine) as session:
            result = work(session)
            session.commit()
            return result

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in the role's thread."""
        # Shielded: cancelling the caller lets a commit finish.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))

    async def _query(self, work: Callable[[Session], T]) -> T:
        return await self.in_thread(lambda: self.query(work))

    async def _insert_once(self, rows: Sequence[SQLModel]) -> None:
        await self.in_thread(lambda: self.insert_once(rows))

    def insert_once(self, rows: Sequence[SQLModel]) -> None:
        """Insert all rows, or none where they were inserted before."""
        try:
            self.commit(lambda session: session.add_all(rows))
        except IntegrityError:
            # The trigger or the primary key refused it: the first writer's rows stand.
            if not self.query(lambda session: _is_stored(session, rows[-1])):
                raise

    async def is_done(self, key: str, at: int, step: Step) -> bool:
        """Return whether the step of round `at` was finished before."""
        row = _step(key, at, step)
        return await self._query(lambda session: _is_stored(session, row))


class AgentStore(RoleStore):
    """What the three agent roles have in common: their private calls and the shared ledger."""

    agent_role: ClassVar[AgentRole]
    _calls: ClassVar[type[tables.CallColumns]]

    async def recorded(self, key: str, at: int, attempt: int) -> RecordedReply | None:
        """Return a reply committed earlier, so that it is never paid for twice."""

        def find(session: Session) -> RecordedReply | None:
            call = session.get(self._calls, (key, at, attempt))
            if call is None:
                return None
            return RecordedReply(text=call.text, finish_reason=call.finish_reason)

        return await self._query(find)

    async def record(self, key: str, at: int, call: CallRecord) -> None:
        """Commit a reply the moment it arrives, and what it cost."""
        place = {"candidate_key": key, "round": at}
        fields = place | call.model_dump()
        ledger = fields | {"role": self.agent_role, "called_at": now()}
        rows = (tables.LedgerEntry.model_validate(ledger), self._calls.model_validate(fields))
        await self._insert_once(rows)


class QuestionStore(AgentStore):
    """The Question Agent's door."""

    db_role = DbRole.QUESTION
    agent_role = AgentRole.QUESTION
    _calls = tables.QuestionCall

    async def brief(self, key: str, at: int) -> QuestionBrief:
        """Return all that the Question Agent may see in round `at`."""

        def look(session: Session) -> QuestionBrief:
            rounds = session.exec(
                select(tables.QuestionRow.round)
                .where(tables.QuestionRow.candidate_key == key, tables.QuestionRow.round < at)
                .order_by(col(tables.QuestionRow.round))
            ).all()
            earlier = tuple(
                Proposal(
                    question=read.question(session, key, r),
                    reference=read.reference(session, key, r),
                )
                for r in rounds
            )
            return QuestionBrief(
                target=read.target(session, key),
                material=read.material(session, key),
                earlier=earlier,
                feedback=read.question_feedback(session, key, at),
            )

        return await self._query(look)

    async def save(self, key: str, at: int, proposal: Proposal) -> None:
        """Store a proposal, public and private sides apart, as the step of round `at`."""
        place = {"candidate_key": key, "round": at}
        rows: list[SQLModel] = []
        if proposal.question is not None and proposal.reference is not None:
            question, reference = proposal.question, proposal.reference
            rows.append(
                tables.QuestionRow(
                    candidate_key=key,
                    round=at,
                    subcategory=question.subcategory,
                    question=question.question,
                    options_json=_json(read.OPTIONS.dump_python(question.options, mode="json")),
                    decision_time=question.decision_time,
                )
            )
            rows.append(
                tables.ReferenceRow(
                    candidate_key=key,
                    round=at,
                    answer_json=_json(reference.answer),
                    key_points_json=_json(
                        read.KEY_POINTS.dump_python(reference.key_points, mode="json")
                    ),
                    rationale=reference.rationale,
                )
            )
            rows.extend(
                tables.CueRow.model_validate(place | {"position": i} | cue.model_dump())
                for i, cue in enumerate(reference.cues)
            )
        outcome = "proposed" if proposal.declined is None else f"declined: {proposal.declined}"
        rows.append(_step(key, at, Step.PROPOSE, outcome))
        await self._insert_once(rows)


class AnswerStore(AgentStore):
    """The Answer Agent's door: no reference, cue, rationale or critique behind it."""

    db_role = DbRole.ANSWER
    agent_role = AgentRole.ANSWER
    _calls = tables.AnswerCall

    async def brief(self, key: str, at: int) -> AnswerBrief:
        """Return all that the Answer Agent may see in round `at`."""

        def look(session: Session) -> AnswerBrief:
            candidate = session.exec(
                select(tables.Candidate.id, tables.Candidate.format).where(
                    tables.Candidate.key == key
                )
            ).one()
            question = session.exec(
                select(
                    tables.QuestionRow.question,
                    tables.QuestionRow.options_json,
                    tables.QuestionRow.decision_time,
                ).where(
                    tables.QuestionRow.candidate_key == key,
                    tables.QuestionRow.round == read.question_round(session, key, at),
                )
            ).one()
            feedback = read.of_round(session, tables.AnswerFeedback, key, at)
            return AnswerBrief(
                candidate_id=candidate[0],
                format=Format(candidate[1]),
                material=read.material(session, key),
                question=question[0],
                options=read.OPTIONS.validate_json(question[1]),
                decision_time=question[2],
                feedback=tuple(LookAgain(row.code) for row in feedback),
            )

        return await self._query(look)

    async def save(
        self, key: str, at: int, independent: IndependentAnswer, order: Sequence[str]
    ) -> None:
        """Store an independent answer (in proposal ids) and the option order it was given in."""
        answer = tables.IndependentAnswerRow(
            candidate_key=key,
            round=at,
            answer_json=_json(independent.answer),
            flag=independent.flag,
            rationale=independent.rationale,
            order_json=_json(list(order)),
        )
        await self._insert_once((answer, _step(key, at, Step.ANSWER, "answered")))


class CriticStore(AgentStore):
    """The Critic Agent's door."""

    db_role = DbRole.CRITIC
    agent_role = AgentRole.CRITIC
    _calls = tables.CriticCall

    async def brief(self, key: str, at: int) -> CriticBrief:
        """Return all that the Critic Agent may see in round `at`."""

        def look(session: Session) -> CriticBrief:
            proposed = read.question_round(session, key, at)
            return CriticBrief(
                target=read.target(session, key),
                material=read.material(session, key),
                question=read.question(session, key, proposed),
                reference=read.reference(session, key, proposed),
                independent=read.independent(session, key, at),
            )

        return await self._query(look)

    async def save(self, key: str, at: int, critique: Critique) -> None:
        """Store the critique of round `at`."""
        row = tables.CritiqueRow(
            candidate_key=key, round=at, critique_json=_json(critique.model_dump(mode="json"))
        )
        await self._insert_once((row, _step(key, at, Step.CRITIQUE, "criticised")))


def _step(key: str, at: int, step: Step, outcome: str = "") -> tables.StepRow:
    return tables.StepRow(candidate_key=key, round=at, step=step, outcome=outcome)


def _is_stored(session: Session, row: SQLModel) -> bool:
    key = row.__table__.primary_key  # type: ignore[attr-defined]
    same = [column == getattr(row, column.name) for column in key]
    return session.exec(select(*key).where(*same)).first() is not None


_json = canonical_json
