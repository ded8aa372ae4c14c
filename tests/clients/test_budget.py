"""A budget is passed by no more than the calls in flight, and every call has its price."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psychemme.clients.budget import Budget, BudgetedClient, Price, PricedClient
from psychemme.clients.protocol import Reply, Request, Usage
from psychemme.clients.size import input_tokens, text_tokens
from psychemme.errors import Stopped
from tests.support.requests import request
from tests.support.virtual_time import run

PRICE = Price(input=2.0, output=10.0)


@dataclass
class Endpoint:
    """Takes a second and reports `usage`."""

    usage: Usage
    model: str = "m"
    asked: int = 0

    async def complete(self, _: Request) -> Reply:
        self.asked += 1
        await asyncio.sleep(1)
        return Reply("said", self.model, usage=self.usage)

    async def aclose(self) -> None:
        pass


async def spend(usage: Usage, budget: Budget, calls: int, slots: int) -> Endpoint:
    """Ask until the budget stops it, at most `slots` at once."""
    endpoint, free = Endpoint(usage), asyncio.Semaphore(slots)
    client = BudgetedClient(PricedClient(endpoint, PRICE), budget, PRICE)

    async def ask(draw: int) -> None:
        async with free:
            await client.complete(request(draw=draw))

    results = await asyncio.gather(*map(ask, range(calls)), return_exceptions=True)
    assert all(result is None or isinstance(result, Stopped) for result in results)
    return endpoint


def test_a_cost_follows_from_usage_and_price():
    reply = run(PricedClient(Endpoint(Usage(1_000_000, 500_000)), PRICE).complete(request()))
    assert reply.usage == Usage(1_000_000, 500_000, 7.0)


def test_an_unknown_price_leaves_the_cost_unknown():
    reply = run(PricedClient(Endpoint(Usage(10, 5)), None).complete(request()))
    assert reply.usage.cost is None


def test_an_endpoint_that_reports_no_usage_is_not_free():
    reply = run(PricedClient(Endpoint(Usage()), PRICE).complete(request()))
    assert reply.usage.cost == PRICE.of(input_tokens(request()), text_tokens("said"))
    assert reply.usage.cost > 0


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 0.2), st.integers(1, 16), st.integers(1, 5000), st.integers(1, 500))
def test_the_limit_is_passed_by_no_more_than_the_calls_in_flight(limit, slots, tokens_in, out):
    usage, budget = Usage(tokens_in, out), Budget(limit)
    endpoint = run(spend(usage, budget, 60, slots))
    one = PRICE.of(tokens_in, out)
    assert budget.spent == pytest.approx(endpoint.asked * one)
    assert budget.spent <= limit + slots * one + 1e-9
    if endpoint.asked < 60:
        assert budget.spent + slots * PRICE.of(input_tokens(request()), 0) + 1e-9 >= limit


def test_what_was_spent_before_counts_and_a_larger_budget_goes_on():
    first = Budget(0.01)
    run(spend(Usage(1000, 0), first, 20, 1))
    assert first.spent == pytest.approx(0.01)
    again = Budget(0.01, spent=first.spent)
    assert run(spend(Usage(1000, 0), again, 20, 1)).asked == 0
    larger = Budget(0.02, spent=first.spent)
    assert run(spend(Usage(1000, 0), larger, 20, 1)).asked == 5


def test_stopping_is_announced_with_both_sums():
    told: list[str] = []
    budget = Budget(0.5, 0.75, lambda: told.append("stop"))
    with pytest.raises(Stopped, match=r"budget of \$0\.5 holds no further call"):
        run(BudgetedClient(Endpoint(Usage()), budget, PRICE).complete(request()))
    assert told == ["stop"]


def test_free_models_never_use_a_budget_up():
    free = Price(0.0, 0.0)

    async def main() -> int:
        endpoint = Endpoint(Usage(1000, 1000))
        client = BudgetedClient(PricedClient(endpoint, free), Budget(0.01), free)
        await asyncio.gather(*(client.complete(request(draw=n)) for n in range(50)))
        return endpoint.asked

    assert run(main()) == 50
