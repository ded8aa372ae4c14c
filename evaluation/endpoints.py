"""The client of an evaluated model or of one that labels responses, on its endpoint's terms."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from psychemme.clients.budget import Budget, BudgetedClient, PricedClient
from psychemme.clients.cards import Cards
from psychemme.clients.deadline import DeadlineClient
from psychemme.clients.limits import LimitedClient, Limiter
from psychemme.clients.make import make_client
from psychemme.clients.protocol import Client
from psychemme.clients.retries import RetryingClient
from psychemme.clients.stopping import StoppableClient
from psychemme.clients.terms import endpoint_of, refuse_unknown_prices, terms_of
from psychemme.config import Settings
from psychemme.errors import ConfigError


def open_budget(
    limit: float | None, models: Sequence[str], settings: Settings, cards: Cards
) -> Budget | None:
    """Return the budget of US dollars that `models` share, None where there is no limit.

    Raises ConfigError where a price is unknown.
    """
    if limit is None:
        return None
    refuse_unknown_prices(models, settings, cards)
    return Budget(limit)


def count_spent(budget: Budget | None, spent: float | None) -> None:
    """Count what a run has cost already; raises ConfigError where that is unknown."""
    if budget is None:
        return
    if spent is None:
        raise ConfigError(
            "The run holds calls of unknown cost, so that no budget can be kept.",
            "Leave out --budget, or start a new run with --fresh.",
        )
    budget.spent += spent


@asynccontextmanager
async def open_client(
    name: str, cards: Cards, settings: Settings, budget: Budget | None, stop: asyncio.Event
) -> AsyncIterator[Client]:
    """Yield the client of the model `name`; a retry queues like any call, and all are counted."""
    terms = terms_of(name, settings, cards)
    endpoint = StoppableClient(make_client(name, endpoint_of(settings, cards)), stop)
    limited = LimitedClient(DeadlineClient(endpoint, settings.timeout), Limiter(terms.limits, stop))
    tried = RetryingClient(limited, settings.max_retries, stop)
    client: Client = PricedClient(tried, terms.price)
    if budget is not None and terms.price is not None:
        client = BudgetedClient(client, budget, terms.price)
    try:
        yield client
    finally:
        await client.aclose()
