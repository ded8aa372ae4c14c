"""Asks a text model which two options of an item entail each other.

Each pair is one request, answered from the reply cache where it was asked before: what is paid is
paid once, in a workspace and without one. A reply that cannot be read is asked for once more, and
again whenever the audit is run.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from construction.audits.entailment import Entails, Pair, option_pairs
from construction.audits.values import AuditItem
from construction.endpoints import Spending, open_clients, places_of
from construction.leakage.estimate import ASSUMED_OUTPUT, total
from construction.leakage.filtering import work_through
from construction.leakage.models import refuse_budget
from prompts.load import render
from psychemme.canonical import canonical_json
from psychemme.clients.cache import ReplyCache
from psychemme.clients.cards import Cards, EndpointKind
from psychemme.clients.protocol import Client, Parameters, Reply, Request
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.clients.size import input_tokens
from psychemme.clients.terms import terms_of
from psychemme.config import Settings
from psychemme.episode import Value
from psychemme.errors import ConfigError, ReplyError
from psychemme.vocabulary import GateRole
from state.address import Address
from state.leakage import ENTAILMENT, LeakageStore, TrialCall
from state.leases import hold

DRAWS = 2
"""Calls a pair takes at most in one run."""
_DIGITS = 16
_LETTERS = ("A", "B")
_NAME = "Name another with --entailment; `psychemme models list` shows cards."


class EntailmentReply(Value):
    """Which of two options entails which, and in one sentence why."""

    reason: str = ""
    a_entails_b: bool
    b_entails_a: bool


@dataclass(frozen=True)
class Asking:
    """Which model is asked, how, and the folder where its replies are kept.

    Of a workspace's items, `database` keeps what was paid, and `versions` are theirs, by id.
    """

    model: str
    settings: Settings
    cards: Cards
    replies: Path
    database: Address | None = None
    versions: Mapping[str, int] = field(default_factory=dict)

    def request(self, pair: Pair, draw: int = 0) -> Request:
        """Return the request about a pair; it names its options A and B, whatever they are."""
        shown = zip(_LETTERS, (pair.one, pair.other), strict=True)
        options = [option.model_copy(update={"id": letter}) for letter, option in shown]
        inputs: Mapping[str, object] = {"question": pair.question, "options": options}
        prompt = render(GateRole.ENTAILMENT, inputs)
        return Request(
            role=GateRole.ENTAILMENT,
            prompt_id=prompt.prompt_id,
            prompt_hash=prompt.hash,
            system=prompt.system,
            user=prompt.user,
            inputs=inputs,
            reply_schema=EntailmentReply,
            parameters=Parameters(self.settings.temperature, self.settings.max_output_tokens),
            draw=draw,
        )

    def due(self, pair: Pair, cache: ReplyCache) -> Request:
        """Return the first request about a pair to which no reply is kept that cannot be read."""
        for draw in count():
            request = self.request(pair, draw)
            reply = cache.find(request, self.model)
            if reply is None or _read(reply) is not None:
                break
        return request

    def cache(self) -> ReplyCache:
        """Return where replies are looked for."""
        place = places_of({"": self.model}, self.settings, self.cards)[self.model]
        return ReplyCache(self.replies, GateRole.ENTAILMENT, place)


@dataclass(frozen=True)
class EntailmentEstimate:
    """What the pairs that nobody asked yet would take.

    `calls` reads each reply at once, `most` asks once more for each; so do the costs, in US
    dollars, None where the price is unknown. `spent` is what it has cost before.
    """

    pairs: int
    spent: float | None
    calls: int
    most: int
    input_tokens: int
    cost: float | None
    most_cost: float | None


Told = Callable[[int, int], None]
"""Is told how many pairs are done, of how many."""


def pairs_of(items: Sequence[AuditItem]) -> list[Pair]:
    """Return the pairs of options that a model is asked about."""
    return [pair for item in items for pair in option_pairs(item)]


def estimate_entailment(asking: Asking, items: Sequence[AuditItem]) -> EntailmentEstimate:
    """Return what the missing calls would take; asks nothing. Raises as `ask` does."""
    _refuse_model(asking)
    pairs, cache = pairs_of(items), asking.cache()
    spent: float | None = 0.0
    if asking.database is not None:
        with LeakageStore(asking.database) as store:
            spent = spent_before(store)
    requests = {request.user: request for request in (asking.due(one, cache) for one in pairs)}
    left = [one for one in requests.values() if cache.find(one, asking.model) is None]
    tokens = sum(map(input_tokens, left))
    price = terms_of(asking.model, asking.settings, asking.cards).price
    longest = asking.settings.max_output_tokens
    return EntailmentEstimate(
        pairs=len(pairs),
        spent=spent,
        calls=len(left),
        most=DRAWS * len(left),
        input_tokens=tokens,
        cost=price.of(tokens, ASSUMED_OUTPUT * len(left)) if price else None,
        most_cost=price.of(DRAWS * tokens, DRAWS * longest * len(left)) if price else None,
    )


async def ask(
    asking: Asking,
    items: Sequence[AuditItem],
    stop: asyncio.Event,
    spending: Spending,
    told: Told = lambda *_: None,
) -> Entails:
    """Ask about every pair of options, and return what says of a pair what was answered.

    In a workspace a budget counts what was paid for it before. Raises ConfigError where the model
    will not do or no budget can be kept, Stopped where `stop` was set or the budget is used up with
    work left, EndpointError where the model answers nothing, WorkspaceError where another process
    holds the Shared State.
    """
    _refuse_model(asking)
    with _ledger(asking, stop) as store:
        models = {GateRole.ENTAILMENT: asking.model}
        spending = replace(spending, spent=spent_before(store) if store else 0.0)
        refuse_budget(models, asking.settings, asking.cards, spending)
        opened = open_clients(
            models, asking.cards, asking.settings, spending, asking.replies, stop, role_of=GateRole
        )
        async with opened as clients:
            asker = _Asker(asking, clients[GateRole.ENTAILMENT], store)
            return await asker.ask_all(pairs_of(items), stop, told)


@contextmanager
def _ledger(asking: Asking, stop: asyncio.Event) -> Iterator[LeakageStore | None]:
    if asking.database is None:
        yield None
        return
    loop = asyncio.get_running_loop()
    with (
        hold(asking.database, "audit", lambda: loop.call_soon_threadsafe(stop.set)) as lease,
        LeakageStore(asking.database, lease) as store,
    ):
        yield store


@dataclass(frozen=True)
class _Asker:
    asking: Asking
    client: Client
    store: LeakageStore | None

    async def ask_all(self, pairs: Sequence[Pair], stop: asyncio.Event, told: Told) -> Entails:
        answers: dict[tuple[str, int], bool | None] = {}

        async def settle(pair: Pair, first: int) -> None:
            answers[pair.item_id, pair.place] = await self._answer(pair, first)
            told(len(answers), len(pairs))

        # Before anything is asked, so that two pairs of one wording share their replies.
        cache = self.asking.cache()
        due = await asyncio.to_thread(lambda: [self.asking.due(one, cache).draw for one in pairs])
        works = (partial(settle, *one) for one in zip(pairs, due, strict=True))
        await work_through(works, self.asking.settings.concurrency, stop)
        return lambda pair: answers[pair.item_id, pair.place]

    async def _answer(self, pair: Pair, first: int) -> bool | None:
        for draw in range(first, first + DRAWS):
            request = await asyncio.to_thread(self.asking.request, pair, draw)
            with suppress(ReplyError):
                reply = await self.client.complete(request)
                await self._keep(pair, request, reply)
                if (said := _read(reply)) is not None:
                    return said.a_entails_b and said.b_entails_a
        return None

    async def _keep(self, pair: Pair, request: Request, reply: Reply) -> None:
        if (store := self.store) is None or reply.cached:
            return
        call = _call(self.asking, pair, request, reply)
        await store.in_thread(lambda: store.record(call))


def spent_before(store: LeakageStore) -> float | None:
    """Return the US dollars that asking about options has cost here, None where it is unknown."""
    return total(call.cost for call in store.ledger() if call.role == ENTAILMENT)


def _read(reply: Reply) -> EntailmentReply | None:
    with suppress(InvalidReply):
        return parse_reply(reply.text, EntailmentReply)
    return None


def _call(asking: Asking, pair: Pair, request: Request, reply: Reply) -> TrialCall:
    key = request.key(asking.model)
    return TrialCall(
        candidate_key=pair.item_id,
        version=asking.versions[pair.item_id],
        probe=ENTAILMENT,
        protocol=key[:_DIGITS],
        model=asking.model,
        trial=pair.place,
        attempt=request.draw,
        order=(pair.one.id, pair.other.id),
        text=reply.text,
        finish_reason=reply.finish_reason,
        asked=reply.model,
        request_key=key,
        prompt_id=request.prompt_id,
        prompt_hash=request.prompt_hash,
        parameters_json=canonical_json(vars(request.parameters)),
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost=reply.usage.cost,
        latency=reply.latency,
    )


def _refuse_model(asking: Asking) -> None:
    if asking.cards.card_for(asking.model).endpoint is EndpointKind.SIGNAL:
        raise ConfigError(f"{asking.model!r} is no language model's name.", _NAME)
