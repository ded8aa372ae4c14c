"""An end to every call: a server that sends a byte now and then would keep one waiting for ever."""

import asyncio
from dataclasses import dataclass

from psychemme.clients.failures import GO_ON
from psychemme.clients.protocol import Client, Reply, Request
from psychemme.clients.retries import Unanswered
from psychemme.clients.size import timeout_for

TRIES = 3
"""A call may read an unusable HTTP 200 again, so that it is given as long as several tries."""


@dataclass(frozen=True)
class DeadlineClient:
    """Gives `inner` three times the timeout of the request, `base` in seconds at the least."""

    inner: Client
    base: float

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Unanswered where it takes too long."""
        seconds = TRIES * timeout_for(request, self.base)
        try:
            async with asyncio.timeout(seconds):
                return await self.inner.complete(request)
        except TimeoutError:
            raise Unanswered(
                f"The endpoint of {self.model!r} did not finish a reply in {seconds:.0f} s.",
                f"Check the server or raise PSYCHEMME_TIMEOUT, then {GO_ON}",
            ) from None

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()
