"""Reach a scheduler within a deadline, and wait for it no longer than is asked."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from distributed import Security
from distributed.comm.core import connect

from psychemme.errors import Stopped

T = TypeVar("T")


async def greet(address: str, seconds: float) -> None:
    """Return once a scheduler speaks at `address`; raises TimeoutError where none does in time.

    Dask itself waits without end for the first word of whatever takes its connection.
    """
    security = Security()  # type: ignore[no-untyped-call]
    arguments = security.get_connection_args("client")  # type: ignore[no-untyped-call]
    try:
        async with asyncio.timeout(seconds):
            comm = await connect(  # type: ignore[no-untyped-call]
                address, timeout=seconds, **arguments
            )
    except OSError as error:
        raise TimeoutError(f"no scheduler speaks at {address}") from error
    comm.abort()


async def unless_stopped(stop: asyncio.Event, waiting: Coroutine[Any, Any, T]) -> T:
    """Return what `waiting` gives; raises Stopped, and ends it, where `stop` is set before."""
    tasks = asyncio.create_task(waiting), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise Stopped
        return tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
