"""A process of its own that holds the lease of a Shared State."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event

from state.address import Address
from state.leases import LeaseStore

_CONTEXT = multiprocessing.get_context("spawn")
_DEADLINE = 60.0


@contextmanager
def holder(address: Address, work: str) -> Iterator[SpawnProcess]:
    """Yield a process that holds the lease for `work` until it is killed; no heartbeat."""
    is_held = _CONTEXT.Event()
    process = _CONTEXT.Process(target=_hold, args=(address, work, is_held), daemon=True)
    process.start()
    try:
        if not is_held.wait(_DEADLINE):
            raise TimeoutError("the lease was not taken")
        yield process
    finally:
        process.kill()
        process.join()


def _hold(address: Address, work: str, is_held: Event) -> None:
    with LeaseStore(address) as store:
        store.take(work)
        is_held.set()
        time.sleep(10 * _DEADLINE)
