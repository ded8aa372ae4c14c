"""Ask a model about every item of a run that it has not answered yet."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from evaluation.asking import Asking
from evaluation.baselines import BASELINES, reply_text
from evaluation.exports import export_responses, parsed_reply
from evaluation.manifest import RunManifest
from evaluation.option_orders import option_order, shown_release
from evaluation.responses import Outcome
from evaluation.store import CallRow, RunStore, call_row
from evaluation.work import Progress, work_through
from psychemme.canonical import canonical_json
from psychemme.clients.failures import ReplyFault
from psychemme.clients.retries import Unanswered
from psychemme.errors import MediaError, ReplyError
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import EvaluationRole

MOST_UNANSWERED = 20
"""Items in a row that an endpoint may leave unanswered before a run stops."""


@dataclass
class Evaluation:
    """One run in progress. `report` is called whenever an item is settled."""

    folder: Path
    manifest: RunManifest
    release: Release
    store: RunStore
    asking: Asking | None
    concurrency: int
    stop: asyncio.Event
    report: Callable[[Progress], None] = lambda _: None
    _failures: Counter[str] = field(default_factory=Counter)
    _settled: int = 0
    _tokens: int = 0
    _cost: float | None = 0.0
    _unanswered: int = 0

    @property
    def name(self) -> str:
        """What tells this run from others in progress."""
        order = self.manifest.policy.order
        return f"{self.manifest.model} order {order}" if order else self.manifest.model

    async def finish(self) -> Progress:
        """Ask what is not answered yet, write `responses.jsonl`, and return where it ended.

        Raises Stopped where `stop` was set or the budget ran out with work left, EndpointError
        where the endpoint answers nothing; what is answered is kept and exported all the same.
        """
        answered = self.store.responses()
        for row in answered.values():
            self._count(row)
        self._tokens, self._cost = self.store.spent()
        self.report(self.progress)
        left = [self.release.questions[i] for i in self.manifest.items if i not in answered]
        try:
            if self.asking is None:
                self._answer_all(left)
            else:
                self.asking.footage.expect([question.episode_id for question in left])
                ask = partial(self._ask, self.asking)
                await work_through(left, ask, self.concurrency, self.stop)
        finally:
            export_responses(self.folder, self.manifest, self.release, self.store)
        return self.progress

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        planned = len(self.manifest.items)
        return Progress(planned, self._settled, self._failures, self._tokens, self._cost)

    def _answer_all(self, left: Sequence[QuestionRow]) -> None:
        policy = self.manifest.policy
        shown = shown_release(self.release, policy.order, policy.order_seed)
        # Each order is a draw of its own.
        answers = BASELINES[self.manifest.model](shown, (self.manifest.seed or 0) + policy.order)
        rows = [
            CallRow(
                role=EvaluationRole.EVALUATED,
                model=self.manifest.model,
                item_id=question.id,
                sent_json=canonical_json(
                    {"option_order": option_order(question, policy.order, policy.order_seed)}
                ),
                text=reply_text(answers[question.id]),
                finish_reason="stop",
                cost=0.0,
            )
            for question in left
        ]
        if rows:
            self.store.keep_all(rows)
        for row in rows:
            self._count(row)
        self.report(self.progress)

    async def _ask(self, asking: Asking, question: QuestionRow) -> None:
        try:
            request, sent = await asking.request(question)
        except MediaError as fault:
            await self._keep_error(question, Outcome.MEDIA_ERROR, fault.problem)
            return
        model = self.manifest.model
        row = None
        try:
            reply = await asking.client.complete(request)
            row = call_row(request, model, question.id, reply=reply, sent=sent)
        except ReplyError as fault:
            if fault.code == ReplyFault.REFUSED:
                filtered = Outcome.CONTENT_FILTER.value
                row = call_row(request, model, question.id, finish_reason=filtered, sent=sent)
            else:
                await self._keep_error(question, Outcome.API_ERROR, fault.code)
        except Unanswered as fault:
            await self._keep_error(question, Outcome.API_ERROR, fault.problem)
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                raise
        if row is not None:
            self._unanswered = 0
            await self.store.keep(row)
            self._count(row)
            self.report(self.progress)

    async def _keep_error(self, question: QuestionRow, outcome: Outcome, why: str) -> None:
        row = CallRow(
            role=EvaluationRole.EVALUATED,
            model=self.manifest.model,
            item_id=question.id,
            error=f"{outcome}: {why}",
        )
        await self.store.keep(row)
        self._failures[outcome] += 1
        self.report(self.progress)

    def _count(self, row: CallRow) -> None:
        question = self.release.questions[row.item_id]
        parsed = parsed_reply(row, question)
        self._settled += 1
        if parsed.reason is not None:
            self._failures[parsed.reason] += 1
        self._tokens += row.input_tokens + row.output_tokens
        if self._cost is not None:
            self._cost = None if row.cost is None else self._cost + row.cost
