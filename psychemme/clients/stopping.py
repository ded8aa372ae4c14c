"""Asking work to stop: no new call starts, and nobody waits on."""

import asyncio
from dataclasses import dataclass

from psychemme.clients.protocol import Client, Reply, Request
from psychemme.errors import Stopped


@dataclass(frozen=True)
class StoppableClient:
    """Passes requests on until `stop` is set: calls in flight finish, no new one starts."""

    inner: Client
    stop: asyncio.Event

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Stopped once `stop` is set."""
        if self.stop.is_set():
            raise Stopped
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()


async def wait(seconds: float, stop: asyncio.Event) -> None:
    """Sleep for `seconds`; raises Stopped as soon as `stop` is set."""
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
    raise Stopped
