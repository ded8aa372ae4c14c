"""A call that asks before it starts: for limits and a budget that several processes share."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from psychemme.clients.protocol import Client, Reply, Request
from psychemme.clients.size import input_tokens
from psychemme.clients.stopping import wait


class Meter(Protocol):
    """Keeps one account for all who ask it."""

    async def admit(self, model: str, tokens: float) -> float:
        """Enter a call of about `tokens`; return the seconds that it waits for its turn.

        Raises Stopped where the budget holds no further call.
        """

    async def settle(self, model: str, tokens: float, cost: float) -> None:
        """Enter what a reply took beyond the estimate, and its cost in US dollars."""


@dataclass(frozen=True)
class MeteredClient:
    """Starts a call when `meter` says so, and tells it what the reply took."""

    inner: Client
    meter: Meter = field(repr=False)
    stop: asyncio.Event = field(repr=False)

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Stopped where there is no money or time left."""
        estimate = input_tokens(request)
        if seconds := await self.meter.admit(self.model, estimate):
            await wait(seconds, self.stop)
        reply = await self.inner.complete(request)
        used = reply.usage.input_tokens + reply.usage.output_tokens
        surplus = used - estimate if used else 0.0
        await self.meter.settle(self.model, surplus, reply.usage.cost or 0.0)
        return reply

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()
