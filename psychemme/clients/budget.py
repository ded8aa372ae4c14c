"""Money: what a call costs, and a limit that a run does not pass by more than calls in flight."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from psychemme.clients.protocol import Client, Reply, Request, Usage
from psychemme.clients.size import input_tokens, text_tokens
from psychemme.errors import Stopped

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


@dataclass(frozen=True)
class PricedClient:
    """Puts the cost of each call into its usage; None stays where the price is unknown."""

    inner: Client
    price: Price | None

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply with its cost."""
        reply = await self.inner.complete(request)
        if self.price is None or reply.usage.cost is not None:
            return reply
        usage = _reported(request, reply)
        cost = self.price.of(usage.input_tokens, usage.output_tokens)
        return replace(reply, usage=replace(reply.usage, cost=cost))

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()


def _reported(request: Request, reply: Reply) -> Usage:
    """Return the usage; an endpoint that reports none is billed by the size of both texts."""
    if reply.usage.input_tokens or reply.usage.output_tokens:
        return reply.usage
    return Usage(input_tokens(request), text_tokens(reply.text))


class Budget:
    """US dollars that a run may spend: what its ledger holds, and what is in flight.

    `when_spent` is called once, when a call is refused.
    """

    def __init__(
        self, limit: float, spent: float = 0.0, when_spent: Callable[[], None] = lambda: None
    ) -> None:
        self.limit, self.spent = limit, spent
        self._in_flight = 0.0
        self._when_spent = when_spent

    @contextmanager
    def reserved(self, estimate: float) -> Iterator[None]:
        """Count `estimate` as in flight; raises Stopped where nothing is left to start it."""
        if self.spent + self._in_flight >= self.limit:
            self._when_spent()
            raise Stopped(
                f"The budget of ${self.limit:g} holds no further call; `psychemme costs` shows "
                "what was spent."
            )
        self._in_flight += estimate
        try:
            yield
        finally:
            self._in_flight -= estimate


@dataclass(frozen=True)
class BudgetedClient:
    """Starts a call only while `budget` has something left.

    The estimate in flight is the prompt alone, so that no call waits for a worst case that does
    not come: the limit is passed by at most the replies to calls in flight.
    """

    inner: Client
    budget: Budget
    price: Price

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Stopped where the budget is used up."""
        with self.budget.reserved(self.price.of(input_tokens(request), 0)):
            reply = await self.inner.complete(request)
            self.budget.spent += reply.usage.cost or 0.0
            return reply

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()
