"""Limits of an endpoint hold for all its callers, in order, and throttling loses nothing."""

import asyncio
import random
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psychemme.clients.limits import MOST_STRIKES, LimitedClient, Limiter, Limits
from psychemme.clients.protocol import MediaPart, Reply, Request, Usage
from psychemme.clients.retries import Backoff, RetryingClient, Throttled, Unanswered
from psychemme.clients.size import input_tokens, timeout_for
from psychemme.episode import Episode
from psychemme.errors import EndpointError, Stopped
from tests.support.requests import request
from tests.support.virtual_time import run


@dataclass
class Endpoint:
    """Takes `seconds` a call, and raises what `faults` hold first, in order of arrival."""

    seconds: float = 1.0
    faults: list[Exception] = field(default_factory=list)
    usage: Usage = field(default_factory=lambda: Usage(90, 10))
    model: str = "m"
    began: list[float] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def complete(self, asked: Request) -> Reply:
        self.began.append(asyncio.get_running_loop().time())
        self.order.append(asked.draw)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.at_once -= 1
        if self.faults:
            raise self.faults.pop(0)
        return Reply("{}", self.model, usage=self.usage)

    async def aclose(self) -> None:
        pass


def throttled(retry_after: float | None = None) -> Throttled:
    return Throttled("The endpoint throttles.", "Wait.", retry_after)


async def ask(client: LimitedClient | RetryingClient, count: int) -> list[Reply]:
    return await asyncio.gather(*(client.complete(request(draw=n)) for n in range(count)))


def limited(endpoint: Endpoint, limits: Limits, stop: asyncio.Event | None = None) -> LimitedClient:
    backoff = Backoff(first=1.0, most=60.0, chance=random.Random(7))
    return LimitedClient(endpoint, Limiter(limits, stop, backoff))


def test_concurrency_is_shared_by_all_clients_of_an_endpoint():
    async def main() -> Endpoint:
        endpoint, limiter = Endpoint(), Limiter(Limits(concurrency=4))
        clients = [LimitedClient(endpoint, limiter) for _ in range(3)]
        await asyncio.gather(*(ask(client, 8) for client in clients))
        return endpoint

    endpoint = run(main())
    assert endpoint.most_at_once == 4
    assert max(endpoint.began) == pytest.approx(5.0)


def test_callers_are_served_in_order_of_arrival():
    async def main() -> Endpoint:
        endpoint = Endpoint()
        await ask(limited(endpoint, Limits(concurrency=2, requests_per_minute=60)), 20)
        return endpoint

    assert run(main()).order == list(range(20))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.integers(1, 60))
def test_no_minute_holds_more_requests_than_allowed_and_a_burst(per_minute, count):
    async def main() -> list[float]:
        endpoint = Endpoint(seconds=0.0)
        await ask(limited(endpoint, Limits(requests_per_minute=per_minute)), count)
        return endpoint.began

    began = run(main())
    burst = max(1.0, per_minute / 20)
    for start in began:
        assert sum(start <= time < start + 60 for time in began) <= per_minute + burst + 1e-6
    assert max(began) <= count * 60 / per_minute


def test_tokens_are_corrected_by_what_was_used():
    async def main(usage: Usage) -> float:
        endpoint = Endpoint(seconds=0.0, usage=usage)
        client = limited(endpoint, Limits(tokens_per_minute=600))
        for draw in range(10):
            await client.complete(request(draw=draw))
        return endpoint.began[-1]

    estimate = input_tokens(request())
    assert run(main(Usage(estimate, 0))) < run(main(Usage(200, 0))) < run(main(Usage(400, 0)))
    assert run(main(Usage(400, 0))) == pytest.approx(9 * 40, rel=0.1)


def test_a_request_larger_than_a_minutes_tokens_is_still_sent():
    async def main() -> int:
        endpoint = Endpoint(usage=Usage(5000, 0))
        await ask(limited(endpoint, Limits(tokens_per_minute=1)), 1)
        return len(endpoint.began)

    assert run(main()) == 1


def test_a_cancelled_waiter_takes_nothing_and_blocks_nobody():
    async def main() -> list[int]:
        endpoint = Endpoint()
        client = limited(endpoint, Limits(concurrency=1, requests_per_minute=30))
        tasks = [asyncio.create_task(client.complete(request(draw=n))) for n in range(6)]
        await asyncio.sleep(0.5)
        for n in (0, 2, 3):
            tasks[n].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert max(endpoint.began) == pytest.approx(5.0)
        return endpoint.order

    assert run(main()) == [0, 1, 4, 5]


def test_retry_after_pauses_the_whole_endpoint():
    async def main() -> Endpoint:
        endpoint = Endpoint(faults=[throttled(30.0)])
        assert len(await ask(limited(endpoint, Limits(concurrency=2)), 6)) == 6
        return endpoint

    endpoint = run(main())
    assert [time for time in endpoint.began if 1.0 <= time < 31.0] == []
    assert len(endpoint.began) == 7


def test_calls_under_way_when_a_pause_begins_count_once():
    async def main() -> int:
        endpoint = Endpoint(faults=[throttled() for _ in range(64)])
        replies = await ask(limited(endpoint, Limits()), 64)
        return len(replies)

    assert run(main()) == 64


def test_back_off_grows_until_a_reply_comes():
    async def main() -> list[float]:
        endpoint = Endpoint(seconds=0.0, faults=[throttled() for _ in range(MOST_STRIKES)])
        await ask(limited(endpoint, Limits()), 1)
        return endpoint.began

    began = run(main())
    pauses = [after - before for before, after in pairwise(began)]
    assert len(pauses) == MOST_STRIKES
    assert all(0.75 * 2**n <= pause <= 2**n for n, pause in enumerate(pauses))


@pytest.mark.parametrize(
    "faults",
    [[throttled() for _ in range(MOST_STRIKES + 1)], [throttled(3600.0)]],
    ids=["for ever", "an hour"],
)
def test_throttling_without_end_stops_the_run_and_fails_no_candidate(faults):
    with pytest.raises(EndpointError) as stopped:
        run(ask(limited(Endpoint(faults=faults), Limits()), 1))
    assert isinstance(stopped.value, Throttled)


def test_stopping_ends_every_wait():
    async def main() -> list[object]:
        stop, endpoint = asyncio.Event(), Endpoint()
        client = limited(endpoint, Limits(concurrency=4, requests_per_minute=1), stop)
        tasks = [asyncio.create_task(client.complete(request(draw=n))) for n in range(9)]
        await asyncio.sleep(0.5)
        stop.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert asyncio.get_running_loop().time() <= 1.0
        return results

    results = run(main())
    assert isinstance(results[0], Reply)
    assert all(isinstance(one, Stopped) for one in results[1:])


def test_a_passing_fault_is_tried_again_and_a_lasting_one_raised():
    async def main(faults: int) -> Endpoint:
        endpoint = Endpoint(0.0, [Unanswered("No answer.", "Wait.") for _ in range(faults)])
        await ask(RetryingClient(endpoint, max_retries=3), 1)
        return endpoint

    assert len(run(main(3)).began) == 4
    with pytest.raises(Unanswered):
        run(main(4))


def test_strictest_keeps_both():
    one, other = Limits(4, 100.0, None), Limits(None, 60.0, 1000.0)
    assert one.strictest(other) == other.strictest(one) == Limits(4, 60.0, 1000.0)


@pytest.mark.parametrize(
    ("kinds", "seconds"), [([], 100.0), (["image"] * 30, 150.0), (["video", "audio"], 220.0)]
)
def test_timeouts_grow_with_the_length_of_the_media(kinds, seconds, tmp_path):
    media = tuple(MediaPart(kind, "", "", tmp_path) for kind in kinds)
    asked = request(media=media, inputs={"episode": Episode(duration=36.0)})
    assert timeout_for(asked, 100.0) == pytest.approx(seconds)
