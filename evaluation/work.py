"""A bounded number of things at once, stopped without losing what is in hand."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from psychemme.errors import PsychemmeError, Stopped

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """How far a run is: items planned and settled, failures by reason, tokens and US dollars."""

    planned: int
    settled: int
    failures: Counter[str]
    tokens: int
    cost: float | None


async def work_through(
    things: Iterable[T],
    do: Callable[[T], Awaitable[None]],
    concurrency: int,
    stop: asyncio.Event,
) -> None:
    """Do `things` in order, `concurrency` at once, until none is left or `stop` is set.

    The first error sets `stop`, lets what is in hand finish, and is then raised. Raises Stopped
    where things are left.
    """
    pending, faults, left = iter(things), list[PsychemmeError](), False

    async def worker() -> None:
        nonlocal left
        for thing in pending:
            if stop.is_set():
                left = True
                return
            try:
                await do(thing)
            except PsychemmeError as fault:
                faults.append(fault)
                left = True
                stop.set()

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    if faults:
        raise next((fault for fault in faults if not isinstance(fault, Stopped)), faults[0])
    if left:
        raise Stopped
