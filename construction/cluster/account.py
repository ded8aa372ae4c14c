"""One account of a run's limits and budget, kept at the scheduler, which every worker reaches.

A worker asks before each call; what it is told to wait is entered at once, so that a worker that
dies leaves nothing to clean up but the wait of a call that never came.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin

from psychemme.clients.limits import Bucket, Limits
from psychemme.errors import Stopped

_GRACE_S = 600
SPENT = -1.0
"""The answer where the budget holds no further call."""


class Account(SchedulerPlugin):
    """The buckets of each endpoint and the money of the run `token`.

    `places` gives each model's endpoint. It goes away with the coordinator `client_id`.
    """

    def __init__(
        self,
        token: str,
        client_id: str,
        places: Mapping[str, str],
        limits: Mapping[str, Limits],
        budget: float | None,
        spent: float,
    ) -> None:
        self.name = handler_of(token)
        self._client_id = client_id
        self._budget, self._spent = budget, spent
        buckets = {place: _buckets(one) for place, one in limits.items()}
        self._buckets = {model: buckets[place] for model, place in places.items()}

    async def start(self, scheduler: Any) -> None:  # noqa: ANN401
        """Answer workers from now on."""
        scheduler.handlers[self.name] = self.enter

    def remove_client(self, scheduler: Any, client: str) -> None:  # noqa: ANN401
        """End some time after the coordinator, so that the last replies are still entered."""
        if client == self._client_id:
            scheduler.plugins.pop(self.name, None)
            scheduler.loop.call_later(_GRACE_S, scheduler.handlers.pop, self.name, None)

    def enter(self, model: str, requests: int, tokens: float, cost: float) -> float:
        """Enter a call or a reply; return the seconds a call waits, or `SPENT`."""
        if requests and self._budget is not None and self._spent >= self._budget:
            return SPENT
        self._spent += cost
        now, waits = time.monotonic(), [0.0]
        for bucket, amount in zip(self._buckets[model], (requests, tokens), strict=True):
            if bucket is not None:
                waits.append(bucket.seconds_until(amount, now))
                bucket.take(amount)
        return max(waits) if requests else 0.0


@dataclass(frozen=True)
class SharedMeter:
    """A worker's way to the account of the run `token`, through its `scheduler`."""

    scheduler: Any
    token: str

    async def admit(self, model: str, tokens: float) -> float:
        """Return how many seconds a call waits; raises Stopped where the budget is used up."""
        try:
            seconds = await self._enter(model=model, requests=1, tokens=tokens, cost=0.0)
        except OSError as error:
            raise Stopped("The scheduler is gone.") from error
        if seconds == SPENT:
            raise Stopped(
                "The budget holds no further call; `psychemme costs` shows what was spent."
            )
        return seconds

    async def settle(self, model: str, tokens: float, cost: float) -> None:
        """Enter what a reply took; the reply itself is kept whatever becomes of the account."""
        with suppress(OSError):
            await self._enter(model=model, requests=0, tokens=tokens, cost=cost)

    async def _enter(self, **entry: object) -> float:
        return float(await getattr(self.scheduler, handler_of(self.token))(**entry))


def handler_of(token: str) -> str:
    """Return the name under which the scheduler answers for the run `token`."""
    return f"psychemme_{token}"


def _buckets(limits: Limits) -> tuple[Bucket | None, Bucket | None]:
    given = (limits.requests_per_minute, limits.tokens_per_minute)
    requests, tokens = (None if one is None else Bucket(one) for one in given)
    return requests, tokens
