"""A model rates the clips: one call each, kept as it arrives.

A reply that is kept is never paid for again, whatever the minimum is by then. One that could not be
read says nothing of the clip, and is asked for once more by the next run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from construction.endpoints import MakeClient, Spending, open_clients
from construction.footage import sent
from construction.leakage.filtering import work_through
from construction.leakage.models import refuse_budget
from construction.screening.due import Due, calls_about, refuse_model, spent_on
from construction.screening.rubric import Rated, Ratings
from construction.screening.rules import RubricMinimum
from construction.screening.verdicts import word_of_model
from construction.workspace import Workspace
from psychemme.canonical import canonical_json
from psychemme.clients.cards import load_cards
from psychemme.clients.make import make_client
from psychemme.clients.protocol import Client, Reply, Usage
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.config import Settings
from psychemme.errors import ReplyError
from psychemme.media.prepare import PreparedClip
from psychemme.vocabulary import GateRole
from state.leases import hold
from state.screening import ScreeningStore


@dataclass
class Rater:
    """Everything one model is to be asked, ready to work."""

    client: Client
    model: str
    store: ScreeningStore
    minimum: RubricMinimum
    due: Sequence[Due]
    spent: float | None
    concurrency: int
    stop: asyncio.Event
    report: Callable[[int, int, float | None], None] = lambda *_: None
    _done: int = 0

    async def finish(self) -> None:
        """Ask all that is due. Calls in flight finish and are kept, whatever ends it.

        Raises Stopped where `stop` was set or the budget is used up with work left, EndpointError
        where the model answers nothing.
        """
        self.report(0, len(self.due), self.spent)
        works = [partial(self._rate, one) for one in self.due]
        await work_through(works, self.concurrency, self.stop)

    async def _rate(self, one: Due) -> None:
        try:
            reply = await self.client.complete(one.request)
        except ReplyError as fault:
            # This one request has no reply, now or ever: that is kept like any other, at no cost.
            free = Usage(cost=0.0)
            reply = Reply(text="", model=self.model, finish_reason=fault.code, usage=free)
        said = word_of_model(_rated(one, self.model, reply), self.minimum)
        await self.store.in_thread(lambda: self.store.record(one.clip_id, said))
        self._done += 1
        if self.spent is not None:
            cost = reply.usage.cost
            self.spent = None if cost is None else self.spent + cost
        self.report(self._done, len(self.due), self.spent)


@asynccontextmanager
async def rating(
    workspace: Workspace,
    settings: Settings,
    minimum: RubricMinimum,
    model: str,
    prepared: Mapping[str, PreparedClip],
    stop: asyncio.Event,
    spending: Spending,
    make: MakeClient = make_client,
) -> AsyncIterator[Rater]:
    """Yield what asks `model` about the clips; `prepared` holds them by SHA-256.

    `minimum` are the scores that its verdicts take.

    Raises ConfigError where the model will not do or a budget meets no price, WorkspaceError where
    another process holds the Shared State.
    """
    cards = load_cards(workspace.root)
    refuse_model(model, cards)
    models = {GateRole.SCREENING: model}
    loop = asyncio.get_running_loop()
    with (
        hold(workspace.database, "screen", lambda: loop.call_soon_threadsafe(stop.set)) as lease,
        ScreeningStore(workspace.database, lease) as store,
    ):
        calls = calls_about(workspace, settings, model, store, prepared)
        for clip_id, rated in calls.held.items():
            store.record(clip_id, word_of_model(rated, minimum))
        allowed = replace(spending, spent=spent_on(store))
        refuse_budget(models, settings, cards, allowed)
        opened = open_clients(
            models,
            cards,
            settings,
            allowed,
            workspace.blobs / "replies",
            stop,
            make,
            lambda role: role,
        )
        async with opened as clients:
            client = clients[GateRole.SCREENING]
            yield Rater(
                client, model, store, minimum, calls.due, allowed.spent, settings.concurrency, stop
            )


def _rated(one: Due, model: str, reply: Reply) -> Rated:
    request = one.request
    try:
        ratings = parse_reply(reply.text, Ratings)
    except InvalidReply:
        ratings = None
    return Rated(
        model=model,
        request_key=one.request_key,
        attempt=one.attempt,
        prompt_id=request.prompt_id,
        prompt_hash=request.prompt_hash,
        parameters_json=canonical_json(vars(request.parameters) | {"sent": sent(request.media)}),
        text=reply.text,
        finish_reason=reply.finish_reason,
        ratings=ratings,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost=reply.usage.cost,
        latency=reply.latency,
        cached=reply.cached,
    )
