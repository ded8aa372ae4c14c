"""The clients of agents and gates: one limiter per endpoint, around each model what it needs.

From the outside in: cache, budget, price, retries, limits, deadline, stop, endpoint. A cached
reply passes none of the others; a retry queues like any call. Where processes share a meter, it
stands inside the limits and keeps budget and minutes in their place.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from psychemme.clients.budget import Budget, BudgetedClient, PricedClient
from psychemme.clients.cache import CachedClient, ReplyCache
from psychemme.clients.cards import Cards
from psychemme.clients.deadline import DeadlineClient
from psychemme.clients.limits import LimitedClient, Limiter, Limits
from psychemme.clients.make import SIGNAL, EndpointSettings, make_client
from psychemme.clients.metered import Meter, MeteredClient
from psychemme.clients.protocol import Client
from psychemme.clients.retries import RetryingClient
from psychemme.clients.stopping import StoppableClient
from psychemme.clients.terms import endpoint_of, terms_of
from psychemme.config import Settings
from psychemme.errors import ConfigError
from psychemme.vocabulary import AgentRole, Role

K = TypeVar("K", bound=str)
MakeClient = Callable[[str, EndpointSettings], Client]


@dataclass(frozen=True)
class Spending:
    """How a run may spend: a budget in US dollars, what is spent already, whether to cache.

    A `meter` keeps budget and minutes for several processes together.
    """

    budget: float | None = None
    spent: float | None = 0.0
    cache: bool = True
    meter: Meter | None = None


NO_LIMIT = Spending()
"""Spend what it takes, and answer from the cache where it can."""


@asynccontextmanager
async def open_clients(
    models: Mapping[K, str],
    cards: Cards,
    settings: Settings,
    spending: Spending,
    replies: Path,
    stop: asyncio.Event,
    make: MakeClient = make_client,
    role_of: Callable[[K], Role] = AgentRole,
) -> AsyncIterator[dict[K, Client]]:
    """Yield the client of each key; cached replies are kept below the folder `replies`.

    `role_of` says whose requests a key's client answers; an agent's key is its role. Raises
    ConfigError where a budget is set and what was spent before is unknown.
    """
    endpoint, budget = endpoint_of(settings, cards), _budget(spending, stop)
    terms = {model: terms_of(model, settings, cards) for model in models.values()}
    places = places_of(models, settings, cards)
    limiters = {
        place: Limiter(
            Limits(limits.concurrency) if spending.meter else limits,
            stop,
            most_strikes=settings.max_retries,
        )
        for place, limits in limits_of(models, settings, cards).items()
    }

    def wrapped(key: K, model: str) -> Client:
        # Retries are made out here, where each waits its turn, and not inside the SDK.
        client: Client = StoppableClient(make(model, replace(endpoint, max_retries=0)), stop)
        if model == SIGNAL:
            return client
        price = terms[model].price
        client = DeadlineClient(client, settings.timeout)
        if spending.meter is not None:
            client = MeteredClient(PricedClient(client, price), spending.meter, stop)
        client = LimitedClient(client, limiters[places[model]])
        client = RetryingClient(client, settings.max_retries, stop)
        client = PricedClient(client, price)
        if budget is not None and price is not None:
            client = BudgetedClient(client, budget, price)
        if spending.cache:
            client = CachedClient(client, ReplyCache(replies, role_of(key), places[model]))
        return client

    clients = {key: wrapped(key, model) for key, model in models.items()}
    try:
        yield clients
    finally:
        for client in clients.values():
            await client.aclose()


def places_of(models: Mapping[K, str], settings: Settings, cards: Cards) -> dict[str, str]:
    """Return the endpoint of each model, empty for the one without."""
    named = settings.base_url
    return {name: named or cards.card_for(name).base_url or "" for name in models.values()}


def limits_of(models: Mapping[K, str], settings: Settings, cards: Cards) -> dict[str, Limits]:
    """Return what each endpoint bears: the strictest limits of its models."""
    limits: dict[str, Limits] = {}
    for model, place in places_of(models, settings, cards).items():
        found = terms_of(model, settings, cards).limits
        limits[place] = limits.get(place, Limits()).strictest(found)
    return limits


def spent_before(spending: Spending) -> float:
    """Return the US dollars spent before; raises ConfigError where a budget needs them, unknown."""
    if spending.budget is not None and spending.spent is None:
        raise ConfigError(
            "The run to resume has calls of unknown cost, so that no budget can be kept.",
            "Leave out --budget, or start a new run with --fresh.",
        )
    return spending.spent or 0.0


def _budget(spending: Spending, stop: asyncio.Event) -> Budget | None:
    spent = spent_before(spending)
    return None if spending.budget is None else Budget(spending.budget, spent, stop.set)
