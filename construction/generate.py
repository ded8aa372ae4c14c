"""Run the graph over picks: bounded, resumable, the same whatever order things finish in."""

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from construction.coverage import Outcome, Tally
from construction.graph import RECURSION_LIMIT, Graph, GraphState
from construction.outcomes import as_outcome
from construction.plan import ANY, Plan
from construction.sampling import (
    CellStatus,
    EpisodeFacts,
    Pick,
    cell_statuses,
    is_last,
    pick_batch,
)
from psychemme.canonical import canonical_json
from psychemme.errors import ReplyError, RunError, Stopped
from psychemme.vocabulary import CandidateState
from state.runs import RunStore
from state.values import CandidateOutcome, CandidateTarget, EpisodeRecord, RunRecord

Work = Callable[[str], Awaitable[object]]
"""Takes a candidate, by its key, through the graph until its outcome is stored."""

_ID_DIGITS = 16


@dataclass
class Generation:
    """One run in progress; `secret` is the workspace's shuffle key.

    `report` is called with the tally whenever a candidate is settled.
    """

    run: RunRecord
    plan: Plan
    episodes: Sequence[EpisodeRecord]
    facts: Sequence[EpisodeFacts]
    store: RunStore
    work: Work
    concurrency: int
    stop: asyncio.Event
    secret: bytes = field(repr=False)
    report: Callable[[Tally], None] = lambda _: None
    _outcomes: dict[str, CandidateOutcome] = field(default_factory=dict)
    _counts: Counter[CandidateState] = field(default_factory=Counter)
    _is_complete: bool = False
    _why_stopped: Stopped = field(default_factory=Stopped)

    async def finish(self) -> Tally:
        """Work until the run is complete, and return its tally.

        Raises Stopped where `stop` was set with work left, EndpointError where no call can
        succeed; candidates in hand then stay pending and a later call goes on with them. Raises
        RunError naming every cell's cause where nothing could be started.
        """
        found = await self.store.in_thread(lambda: self.store.outcomes(self.run.ordinal))
        for outcome in found:
            self._note(outcome)
        self._settled = asyncio.Event()
        self._queue: asyncio.Queue[CandidateTarget | None] = asyncio.Queue(self.concurrency)
        self.report(self.tally)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._feed())
                for _ in range(self.concurrency):
                    group.create_task(self._work())
        except ExceptionGroup as failures:
            raise _first(failures) from None
        if self.tally.pending or not self._is_complete:
            raise self._why_stopped
        if not self._outcomes:
            causes = "; ".join(describe(cell) for cell in self.cells if cell.target.count)
            raise RunError(
                f"No candidate could be started: {causes}.",
                "Change the plan or prepare clips that fit it, then start again with --fresh.",
            )
        return self.tally

    @property
    def cells(self) -> tuple[CellStatus, ...]:
        """Where every target of the run stands."""
        targets = self.plan.scaled(self.run.count)
        return cell_statuses(self.plan, targets, self.facts, self._seen())

    @property
    def tally(self) -> Tally:
        """The run's candidates by what became of them."""
        return Tally.counted(self._counts)

    async def _feed(self) -> None:
        for outcome in list(self._outcomes.values()):
            if outcome.state is CandidateState.PENDING:
                await self._queue.put(outcome.target)
        batch = 1 + max((o.target.batch for o in self._outcomes.values()), default=-1)
        while not self._is_complete and not self.stop.is_set():
            await self._results_up_to(batch - self.plan.sampling.lag)
            for target in await self._start(batch):
                await self._queue.put(target)
            batch += 1
        for _ in range(self.concurrency):
            await self._queue.put(None)

    async def _results_up_to(self, batch: int) -> None:
        while not self.stop.is_set() and any(
            outcome.state is CandidateState.PENDING and outcome.target.batch <= batch
            for outcome in self._outcomes.values()
        ):
            self._settled.clear()
            await self._settled.wait()

    async def _start(self, batch: int) -> Sequence[CandidateTarget]:
        """Store the picks of `batch` as pending candidates, and note when it is the last."""
        if self.stop.is_set():
            return ()
        seen = self._seen()
        targets = self.plan.scaled(self.run.count)
        picks = pick_batch(self.plan, targets, self.facts, seen, batch, self.run.seed)
        if self.run.count is not None:
            picks = picks[: self.run.count - len(seen)]
        if not picks:
            self._is_complete = len(seen) == self.run.count or is_last(self.plan, seen, batch)
            return ()
        preparations = {episode.id: episode.preparation for episode in self.episodes}
        started = [
            _target(self.run, pick, preparations[pick.episode_id], self.secret) for pick in picks
        ]
        await self.store.in_thread(lambda: self.store.start_batch(started))
        for target in started:
            self._note(CandidateOutcome(target=target, state=CandidateState.PENDING))
        return started

    async def _work(self) -> None:
        while (target := await self._queue.get()) is not None:
            if not self.stop.is_set():
                await self._settle(target)
            self._settled.set()

    async def _settle(self, target: CandidateTarget) -> None:
        try:
            await self.work(target.key)
        except ReplyError as fault:
            code = fault.code
            await self.store.in_thread(
                lambda: self.store.settle(target.key, CandidateState.FAILED, code)
            )
        except Stopped as reason:
            self._why_stopped = reason if str(reason) else self._why_stopped
            return
        self._note(await self.store.in_thread(lambda: self.store.outcome(target.key)))
        self.report(self.tally)

    def _note(self, outcome: CandidateOutcome) -> None:
        earlier = self._outcomes.get(outcome.target.key)
        if earlier is not None:
            self._counts[earlier.state] -= 1
        self._counts[outcome.state] += 1
        self._outcomes[outcome.target.key] = outcome

    def _seen(self) -> list[Outcome]:
        facts = {facts.id: facts for facts in self.facts}
        return [as_outcome(o, facts[o.target.episode_id]) for o in self._outcomes.values()]


def through(graph: Graph) -> Work:
    """Return the work of this process: every step of the graph, here."""

    async def work(key: str) -> None:
        state = GraphState(candidate_key=key, round=0, route=None)
        await graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT})

    return work


def describe(cell: CellStatus) -> str:
    """Return a cell and where it stands, such as `W open: infeasible (no_acceptance)`."""
    target = cell.target
    places = [target.source_group, target.duration_band]
    name = " ".join([target.capability, target.format, *(p for p in places if p != ANY)])
    return f"{name}: {cell.state}" + (f" ({cell.reason})" if cell.reason else "")


def _target(run: RunRecord, pick: Pick, preparation: int, secret: bytes) -> CandidateTarget:
    identity = [run.seed, pick.index, pick.episode_id, pick.capability, pick.format]
    # Under the key: the Answer Agent reads ids, and could try capabilities until a plain hash fits.
    made = hmac.digest(secret, canonical_json(identity).encode(), hashlib.sha256)
    candidate_id = made.hex()[:_ID_DIGITS]
    return CandidateTarget(
        key=f"{run.ordinal}-{candidate_id}",
        id=candidate_id,
        run=run.ordinal,
        batch=pick.batch,
        pick=pick.index,
        episode_id=pick.episode_id,
        preparation=preparation,
        capability=pick.capability,
        format=pick.format,
        cell_json=canonical_json(pick.cell.model_dump(mode="json")),
    )


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = failures.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
