"""The three agents' clients: one limiter per endpoint, and around each model what it needs.

From the outside in: cache, budget, price, retries, limits, deadline, stop, endpoint. A cached
reply passes none of the others; a retry queues like any call.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from psychemme.clients.budget import Budget, BudgetedClient, Price, PricedClient
from psychemme.clients.cache import CachedClient, ReplyCache
from psychemme.clients.cards import Cards
from psychemme.clients.deadline import DeadlineClient
from psychemme.clients.limits import LimitedClient, Limiter, Limits
from psychemme.clients.make import SIGNAL, EndpointSettings, make_client
from psychemme.clients.protocol import Client
from psychemme.clients.retries import RetryingClient
from psychemme.clients.stopping import StoppableClient
from psychemme.config import Settings
from psychemme.errors import ConfigError
from psychemme.vocabulary import AgentRole

MakeClient = Callable[[str, EndpointSettings], Client]


@dataclass(frozen=True)
class Spending:
    """How a run may spend: a budget in US dollars, what is spent already, whether to cache."""

    budget: float | None = None
    spent: float | None = 0.0
    cache: bool = True


NO_LIMIT = Spending()
"""Spend what it takes, and answer from the cache where it can."""


def endpoint_of(settings: Settings, cards: Cards) -> EndpointSettings:
    """Return how to reach the endpoint that `settings` name, or else the models' own."""
    key = settings.api_key
    return EndpointSettings(
        base_url=settings.base_url,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.timeout,
        max_retries=settings.max_retries,
        cards=cards,
    )


@dataclass(frozen=True)
class Terms:
    """What a model costs, None where nobody knows, and what its endpoint bears."""

    price: Price | None = None
    limits: Limits = field(default_factory=Limits)


def terms_of(model: str, settings: Settings, cards: Cards) -> Terms:
    """Return the terms of `model`: what `settings` say of the endpoint goes before its card."""
    if model == SIGNAL:
        return Terms(price=Price(0.0, 0.0))
    given = (settings.input_price, settings.output_price)
    card = cards.card_for(model)
    listed = Price(card.price.input, card.price.output) if card.price else None
    price = listed if None in given else Price(*(value or 0.0 for value in given))
    limits = Limits(None, settings.requests_per_minute, settings.tokens_per_minute)
    return Terms(price, limits.strictest(Limits(**card.limits.model_dump())))


def refuse_unknown_prices(
    models: Mapping[AgentRole, str], settings: Settings, cards: Cards
) -> None:
    """Raise ConfigError naming every model whose price is unknown: no budget could hold it."""
    terms = {name: terms_of(name, settings, cards) for name in models.values()}
    unknown = sorted(name for name, one in terms.items() if one.price is None)
    if unknown:
        raise ConfigError(
            f"A budget needs prices, and none is known for {', '.join(unknown)}.",
            "Set PSYCHEMME_INPUT_PRICE and PSYCHEMME_OUTPUT_PRICE (US dollars per million tokens; "
            "0 for a server of your own), or leave out --budget.",
        )


@asynccontextmanager
async def open_clients(
    models: Mapping[AgentRole, str],
    cards: Cards,
    settings: Settings,
    spending: Spending,
    replies: Path,
    stop: asyncio.Event,
    make: MakeClient = make_client,
) -> AsyncIterator[dict[AgentRole, Client]]:
    """Yield each role's client; cached replies are kept below the folder `replies`.

    Raises ConfigError where a budget is set and what was spent before is unknown.
    """
    endpoint, budget = endpoint_of(settings, cards), _budget(spending, stop)
    terms = {model: terms_of(model, settings, cards) for model in models.values()}
    places = {name: endpoint.base_url or cards.card_for(name).base_url or "" for name in terms}
    limiters = _limiters(terms, places, stop, settings.max_retries)

    def wrapped(role: AgentRole, model: str) -> Client:
        # Retries are made out here, where each waits its turn, and not inside the SDK.
        client: Client = StoppableClient(make(model, replace(endpoint, max_retries=0)), stop)
        if model == SIGNAL:
            return client
        price = terms[model].price
        client = DeadlineClient(client, settings.timeout)
        client = LimitedClient(client, limiters[places[model]])
        client = RetryingClient(client, settings.max_retries, stop)
        client = PricedClient(client, price)
        if budget is not None and price is not None:
            client = BudgetedClient(client, budget, price)
        if spending.cache:
            client = CachedClient(client, ReplyCache(replies, role, places[model]))
        return client

    clients = {role: wrapped(role, model) for role, model in models.items()}
    try:
        yield clients
    finally:
        for client in clients.values():
            await client.aclose()


def _limiters(
    terms: Mapping[str, Terms], places: Mapping[str, str], stop: asyncio.Event, most_strikes: int
) -> dict[str, Limiter]:
    """Return one limiter per endpoint, which keeps the strictest limits of its models."""
    limits: dict[str, Limits] = {}
    for model, place in places.items():
        limits[place] = limits.get(place, Limits()).strictest(terms[model].limits)
    return {place: Limiter(one, stop, most_strikes=most_strikes) for place, one in limits.items()}


def _budget(spending: Spending, stop: asyncio.Event) -> Budget | None:
    if spending.budget is None:
        return None
    if spending.spent is None:
        raise ConfigError(
            "The run to resume has calls of unknown cost, so that no budget can be kept.",
            "Leave out --budget, or start a new run with --fresh.",
        )
    return Budget(spending.budget, spending.spent, stop.set)
