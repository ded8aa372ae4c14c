"""What an endpoint bears: calls at once, requests and tokens per minute, and pauses it asks for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields

from psychemme.clients.protocol import Client, Reply, Request
from psychemme.clients.retries import Backoff, Throttled
from psychemme.clients.size import input_tokens
from psychemme.clients.stopping import wait
from psychemme.errors import Stopped

MOST_STRIKES = 6
"""How often in a row an endpoint may throttle, with no reply in between, before a run stops."""
LONGEST_ADVICE_S = 120.0
"""The longest `Retry-After` that is waited for, in seconds."""
_BURST_SHARE = 1 / 20
_NOISE_S = 1e-6


@dataclass(frozen=True)
class Limits:
    """What one endpoint bears; None means no limit."""

    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def strictest(self, other: "Limits") -> "Limits":
        """Return limits that keep both."""
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        given = ([value for value in pair if value is not None] for pair in pairs)
        return Limits(*(min(values, default=None) for values in given))


class Bucket:
    """An allowance that refills evenly: `per_minute`, of which 3 s worth may be taken at once.

    Taking more than there is leaves a debt, which later callers wait off.
    """

    def __init__(self, per_minute: float) -> None:
        self._per_second = per_minute / 60
        self._capacity = max(1.0, per_minute * _BURST_SHARE)
        self._level = self._capacity
        self._filled_at: float | None = None

    def seconds_until(self, amount: float, now: float) -> float:
        """Return how long to wait until `amount`, or all that fits, is there."""
        if self._filled_at is not None:
            gained = (now - self._filled_at) * self._per_second
            self._level = min(self._capacity, self._level + gained)
        self._filled_at = now
        return max(0.0, (min(amount, self._capacity) - self._level) / self._per_second)

    def take(self, amount: float) -> None:
        """Take `amount`; a negative one gives back."""
        self._level = min(self._capacity, self._level - amount)


@dataclass
class Ticket:
    """An admitted call: when it began (loop time), and the tokens it was taken for."""

    began: float
    tokens: float


class Limiter:
    """Admits calls in order of arrival, shared by every client of one endpoint.

    `stop` ends all waiting with Stopped. A caller that is cancelled while it waits takes nothing.
    """

    def __init__(
        self,
        limits: Limits,
        stop: asyncio.Event | None = None,
        backoff: Backoff | None = None,
        most_strikes: int = MOST_STRIKES,
    ) -> None:
        self._slots = asyncio.Semaphore(limits.concurrency) if limits.concurrency else None
        self._requests = _bucket(limits.requests_per_minute)
        self._tokens = _bucket(limits.tokens_per_minute)
        self._stop = stop or asyncio.Event()
        self._backoff = backoff or Backoff(first=1.0, most=60.0)
        self._turn = asyncio.Lock()
        self._paused_at = self._paused_until = float("-inf")
        self._strikes, self._most_strikes = 0, most_strikes

    @asynccontextmanager
    async def admitted(self, tokens: float) -> AsyncIterator[Ticket]:
        """Hold a place for a call of about `tokens` tokens, once there is one."""
        if self._slots is None:
            yield await self._admit(tokens)
            return
        async with self._slots:
            yield await self._admit(tokens)

    def answered(self, ticket: Ticket, tokens: float) -> None:
        """Note a reply and the tokens it really took."""
        self._strikes = 0
        if self._tokens and tokens:
            self._tokens.take(tokens - ticket.tokens)

    def throttled(self, ticket: Ticket, advice: float | None) -> bool:
        """Hold back every call as the endpoint advises (seconds); return whether to go on trying.

        Calls that were under way when the pause began are no further reason to give up.
        """
        if advice is not None and advice > LONGEST_ADVICE_S:
            return False
        now = _now()
        pause = advice if advice is not None else self._backoff.delay(self._strikes)
        if ticket.began >= self._paused_at:
            self._strikes += 1
            self._paused_at = now
        elif advice is None:
            return True
        self._paused_until = max(self._paused_until, now + pause)
        return self._strikes <= self._most_strikes

    async def _admit(self, tokens: float) -> Ticket:
        async with self._turn:
            while (seconds := self._wait_for(tokens)) > _NOISE_S:
                await wait(seconds, self._stop)
            if self._stop.is_set():
                raise Stopped
            for bucket, amount in self._buckets(tokens):
                bucket.take(amount)
            return Ticket(_now(), tokens)

    def _wait_for(self, tokens: float) -> float:
        now = _now()
        waits = [b.seconds_until(amount, now) for b, amount in self._buckets(tokens)]
        return max(self._paused_until - now, *waits, 0.0)

    def _buckets(self, tokens: float) -> list[tuple[Bucket, float]]:
        both = ((self._requests, 1.0), (self._tokens, tokens))
        return [(bucket, amount) for bucket, amount in both if bucket is not None]


@dataclass(frozen=True)
class LimitedClient:
    """Sends a request once `limiter` admits it, and again after a pause where it is throttled."""

    inner: Client
    limiter: Limiter = field(repr=False)

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self.inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the inner client's reply; raises Throttled where the endpoint keeps refusing."""
        estimate = input_tokens(request)
        while True:
            async with self.limiter.admitted(estimate) as ticket:
                try:
                    reply = await self.inner.complete(request)
                except Throttled as fault:
                    if not self.limiter.throttled(ticket, fault.retry_after):
                        raise
                else:
                    used = reply.usage.input_tokens + reply.usage.output_tokens
                    self.limiter.answered(ticket, used)
                    return reply

    async def aclose(self) -> None:
        """Close the inner client."""
        await self.inner.aclose()


def _bucket(per_minute: float | None) -> Bucket | None:
    return None if per_minute is None else Bucket(per_minute)


def _now() -> float:
    return asyncio.get_running_loop().time()
