"""Trying again where an endpoint did not answer, so that a passing fault reaches nobody."""

import asyncio
import math
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from psychemme.clients.protocol import Client, Reply, Request
from psychemme.clients.stopping import wait
from psychemme.errors import EndpointError


class Unanswered(EndpointError):
    """The endpoint did not answer this time (5xx, timeout, lost connection); it may the next."""


class Throttled(Unanswered):
    """HTTP 429: too many requests; `retry_after` is the server's own advice in seconds."""

    def __init__(self, problem: str, action: str, retry_after: float | None = None) -> None:
        super().__init__(problem, action, 429)
        self.retry_after = retry_after


def advice(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that `Retry-After` asks to wait, None where it says nothing usable.

    Milliseconds, seconds and dates are understood, as servers send all three.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(TypeError, ValueError):
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - (time.time() if now is None else now))
    return None


@dataclass(frozen=True)
class Backoff:
    """Delays that double from `first` to `most` seconds, each shortened by up to a quarter."""

    first: float = 0.5
    most: float = 8.0
    chance: random.Random = field(default_factory=random.Random, compare=False)

    def delay(self, number: int) -> float:
        """Return the seconds to wait before retry `number`, counted from 0."""
        longest = min(self.first * 2.0 ** min(number, 60), self.most)
        return longest * (1 - self.chance.random() / 4)


@dataclass(frozen=True)
class RetryingClient:
    """Tries again where `inner` raises Unanswered, up to `max_retries` times a request.

    Throttling is left to the endpoint's limiter, which holds back every call at once.
    """

    inner: Client
    max_retries: int
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    backoff: Backoff = field(default_factory=Backoff)

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Stopped where `stop` is set while waiting.

        Raises Unanswered where the last try was not answered either.
        """
        failures = 0
        while True:
            try:
                return await self.inner.complete(request)
            except Throttled:
                raise
            except Unanswered as fault:
                if failures >= self.max_retries:
                    problem = f"{fault.problem} It was asked {failures + 1} times."
                    raise Unanswered(problem, fault.action, fault.status) from None
                await wait(self.backoff.delay(failures), self.stop)
                failures += 1

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()
