"""One store per agent role: the only door an agent has to the Shared State.

Methods are async; each runs in the role's own thread on the role's own engine, and no transaction
spans an await. A step is written with its result in one transaction and is unique, so the loser of
a race, or a resumed run, leaves the first writer's row alone.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Generic, Self, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, select

from psychemme.canonical import canonical_json, now
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychemme.vocabulary import AgentRole, Format, LookAgain, Step
from state import read, tables
from state.address import Address
from state.engines import open_engine
from state.outages import PATIENCE_SECONDS, Patience
from state.roles import DbRole
from state.values import (
    AnswerBrief,
    CallRecord,
    CandidateTarget,
    CriticBrief,
    Material,
    QuestionBrief,
    RecordedReply,
)

T = TypeVar("T")
B = TypeVar("B")
_MOST_KEPT = 512


class RoleStore:
    """A role's engine, used from one thread of its own."""

    db_role: ClassVar[DbRole]
    patience_seconds: ClassVar[float] = PATIENCE_SECONDS

    def __init__(self, address: Address) -> None:
        self._engine = open_engine(address, self.db_role)
        self._reader = self._engine.execution_options(write=False)
        self._patience = Patience(self.patience_seconds)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"store-{self.db_role}")
        self._targets: dict[str, CandidateTarget] = {}
        self._materials: dict[str, Material] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the work in hand, then close every connection."""
        self._thread.shutdown()
        self._engine.dispose()

    def query(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a read transaction, again where the server went away meanwhile."""

        def attempt() -> T:
            with Session(self._reader) as session:
                return work(session)

        return self.repeat(attempt)

    def commit(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a write transaction and commit it.

        All is done again where the server went away before the commit, never after it was asked.
        """
        asked = False

        def attempt() -> T:
            nonlocal asked
            with Session(self._engine) as session:
                result = work(session)
                session.flush()
                asked = True
                session.commit()
                return result

        return self._patience.outlast(attempt, lambda: not asked)

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Return what `attempt` does, which comes to the same when a commit had no answer."""
        return self._patience.outlast(attempt, lambda: True)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in the role's thread."""
        doing = asyncio.get_running_loop().run_in_executor(self._thread, work)
        # Shielded: cancelling the caller lets a commit finish; how it ends is then nobody's matter.
        doing.add_done_callback(lambda done: done.exception())
        return await asyncio.shield(doing)

    async def _query(self, work: Callable[[Session], T]) -> T:
        return await self.in_thread(lambda: self.query(work))

    async def _insert_once(self, rows: Sequence[SQLModel]) -> None:
        await self.in_thread(lambda: self.insert_once(rows))

    def insert_once(self, rows: Sequence[SQLModel]) -> None:
        """Insert all rows, or none where they were inserted before.

        So it may also be done again where the server went away with a commit unanswered.
        """

        def insert(session: Session) -> None:
            connection = session.connection()
            for row in rows:
                table = row.__table__  # type: ignore[attr-defined]
                connection.execute(table.insert(), row.model_dump())

        def attempt() -> None:
            try:
                self.commit(insert)
            except IntegrityError:
                # The trigger or the primary key refused it: the first writer's rows stand.
                if not self.query(lambda session: _is_stored(session, rows[-1])):
                    raise

        self.repeat(attempt)

    def target(self, session: Session, key: str) -> CandidateTarget:
        """Return a candidate's target, which never changes: read once."""
        return _kept(self._targets, key, lambda: read.target(session, key))

    def material(self, session: Session, key: str) -> Material:
        """Return a candidate's episode, which never changes: read once."""
        return _kept(self._materials, key, lambda: read.material(session, key))


class AgentStore(RoleStore, ABC, Generic[B]):
    """What the three agent roles have in common: their private calls and the shared ledger."""

    agent_role: ClassVar[AgentRole]
    _agent_step: ClassVar[Step]
    _calls: ClassVar[type[tables.CallColumns]]

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._untried: set[tuple[str, int]] = set()
        """Rounds that held no call when they began here: nothing to look for."""

    async def begin(self, key: str, at: int) -> B | None:
        """Return what the agent may see in round `at`, None where it did its step before."""

        def look(session: Session) -> B | None:
            if _is_stored(session, _step(key, at, self._agent_step)):
                return None
            calls = select(col(self._calls.attempt)).where(
                self._calls.candidate_key == key, self._calls.round == at
            )
            if session.exec(calls.limit(1)).first() is None:
                self._untried.add((key, at))
            return self._look(session, key, at)

        return await self._query(look)

    async def brief(self, key: str, at: int) -> B:
        """Return all that the agent may see in round `at`."""
        return await self._query(lambda session: self._look(session, key, at))

    @abstractmethod
    def _look(self, session: Session, key: str, at: int) -> B: ...

    async def recorded(self, key: str, at: int, attempt: int) -> RecordedReply | None:
        """Return a reply committed earlier, so that it is never paid for twice."""
        if (key, at) in self._untried:
            return None

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
        self._untried.discard((key, at))


class QuestionStore(AgentStore[QuestionBrief]):
    """The Question Agent's door."""

    db_role = DbRole.QUESTION
    agent_role = AgentRole.QUESTION
    _agent_step = Step.PROPOSE
    _calls = tables.QuestionCall

    def _look(self, session: Session, key: str, at: int) -> QuestionBrief:
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
            target=self.target(session, key),
            material=self.material(session, key),
            ordinal=_ordinal(session, self.target(session, key)),
            earlier=earlier,
            feedback=read.question_feedback(session, key, at),
        )

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


class AnswerStore(AgentStore[AnswerBrief]):
    """The Answer Agent's door: no reference, cue, rationale or critique behind it."""

    db_role = DbRole.ANSWER
    agent_role = AgentRole.ANSWER
    _agent_step = Step.ANSWER
    _calls = tables.AnswerCall

    def _look(self, session: Session, key: str, at: int) -> AnswerBrief:
        candidate = session.exec(
            select(tables.Candidate.id, tables.Candidate.format).where(tables.Candidate.key == key)
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
            material=self.material(session, key),
            question=question[0],
            options=read.OPTIONS.validate_json(question[1]),
            decision_time=question[2],
            feedback=tuple(LookAgain(row.code) for row in feedback),
        )

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


class CriticStore(AgentStore[CriticBrief]):
    """The Critic Agent's door."""

    db_role = DbRole.CRITIC
    agent_role = AgentRole.CRITIC
    _agent_step = Step.CRITIQUE
    _calls = tables.CriticCall

    def _look(self, session: Session, key: str, at: int) -> CriticBrief:
        proposed = read.question_round(session, key, at)
        return CriticBrief(
            target=self.target(session, key),
            material=self.material(session, key),
            question=read.question(session, key, proposed),
            reference=read.reference(session, key, proposed),
            independent=read.independent(session, key, at),
        )

    async def save(self, key: str, at: int, critique: Critique) -> None:
        """Store the critique of round `at`."""
        row = tables.CritiqueRow(
            candidate_key=key, round=at, critique_json=_json(critique.model_dump(mode="json"))
        )
        await self._insert_once((row, _step(key, at, Step.CRITIQUE, "criticised")))


def _ordinal(session: Session, target: CandidateTarget) -> int:
    """Return how many candidates of the run were picked before for the same kind of question."""
    candidate = tables.Candidate
    before = select(candidate.pick).where(
        candidate.run == target.run,
        candidate.pick < target.pick,
        candidate.episode_id == target.episode_id,
        candidate.capability == target.capability,
        candidate.format == target.format,
    )
    return len(session.exec(before).all())


def _kept(values: dict[str, T], key: str, make: Callable[[], T]) -> T:
    if key not in values:
        if len(values) >= _MOST_KEPT:
            values.clear()
        values[key] = make()
    return values[key]


def _step(key: str, at: int, step: Step, outcome: str = "") -> tables.StepRow:
    return tables.StepRow(candidate_key=key, round=at, step=step, outcome=outcome)


def _is_stored(session: Session, row: SQLModel) -> bool:
    key = row.__table__.primary_key  # type: ignore[attr-defined]
    same = [column == getattr(row, column.name) for column in key]
    return session.exec(select(*key).where(*same)).first() is not None


_json = canonical_json
