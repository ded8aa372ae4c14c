"""The client of an evaluated model or a judge, with what its card says about price and limits."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from psychemme.clients.budget import Budget, BudgetedClient, Price, PricedClient
from psychemme.clients.cards import Cards, ModelCard
from psychemme.clients.limits import LimitedClient, Limiter, Limits
from psychemme.clients.make import EndpointSettings, make_client
from psychemme.clients.protocol import Client
from psychemme.clients.retries import RetryingClient
from psychemme.clients.stopping import StoppableClient
from psychemme.config import Settings
from psychemme.errors import ConfigError


def endpoint_of(settings: Settings, cards: Cards) -> EndpointSettings:
    """Return how to reach the endpoint that `settings` name."""
    key = settings.api_key
    return EndpointSettings(
        base_url=settings.base_url,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.timeout,
        max_retries=settings.max_retries,
        cards=cards,
    )


def open_budget(limit: float | None, cards: Sequence[ModelCard]) -> Budget | None:
    """Return the budget of US dollars that `cards` share, None where there is no limit.

    Raises ConfigError where a price is unknown.
    """
    unknown = sorted({card.name for card in cards if card.price is None})
    if limit is not None and unknown:
        raise ConfigError(
            f"A budget needs prices, and none is known for {', '.join(unknown)}.",
            "Give the model's card its price (0 for a server of your own), or leave out --budget.",
        )
    return None if limit is None else Budget(limit)


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
    card = cards.card_for(name)
    limiter = Limiter(Limits(**card.limits.model_dump()), stop)
    endpoint = StoppableClient(make_client(name, endpoint_of(settings, cards)), stop)
    tried = RetryingClient(LimitedClient(endpoint, limiter), settings.max_retries, stop)
    price = None if card.price is None else Price(card.price.input, card.price.output)
    client: Client = PricedClient(tried, price)
    if budget is not None and price is not None:
        client = BudgetedClient(client, budget, price)
    try:
        yield client
    finally:
        await client.aclose()
