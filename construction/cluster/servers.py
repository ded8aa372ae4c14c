"""The two processes of a cluster: a scheduler and its workers.

Each listens on the address it is told to and nowhere else: Dask's dashboard and its HTTP routes,
which Dask opens even where nobody asks, are not started.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import Scheduler, Security, Worker

from construction.cluster.bench import Bench, BenchPlugin
from construction.cluster.needs import is_loopback, require_address, require_trust
from construction.cluster.quiet import keep_quiet_of_losses
from construction.cluster.reach import greet, unless_stopped
from psychemme.errors import ConfigError, RunError

_WAIT_S = 30
"""How long a worker waits for its scheduler."""

logging.getLogger("distributed").setLevel(logging.WARNING)
keep_quiet_of_losses()
# A worker holds stores and clients, and no data that could be moved to disk.
dask.config.set(
    {
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        "distributed.worker.profile.enabled": False,
    }
)


class _Scheduler(Scheduler):
    def start_http_server(self, *_: object, **__: object) -> None:
        """Open no HTTP port."""


class _Worker(Worker):
    def start_http_server(self, *_: object, **__: object) -> None:
        """Open no HTTP port."""


async def serve_scheduler(
    host: str,
    port: int,
    is_trusted: bool,
    stop: asyncio.Event,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve as scheduler on `host` and `port` until `stop`; `ready` gets the address.

    Raises ConfigError where the address could be reached by strangers or cannot be had.
    """
    security = _security(host, is_trusted)
    with _started(host, port):
        scheduler = await _Scheduler(
            host=host, port=port, dashboard=False, security=security, protocol=_scheme(security)
        )
    async with scheduler:
        ready(scheduler.address)
        await stop.wait()


async def serve_worker(
    address: str,
    root: Path,
    host: str,
    port: int,
    concurrency: int,
    is_trusted: bool,
    stop: asyncio.Event,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Work for the scheduler at `address` with the workspace `root` until `stop`.

    `concurrency` units are in hand at once. Raises ConfigError likewise, RunError where the
    scheduler cannot be reached or goes away.
    """
    require_address(address)
    if is_loopback(host) and not is_loopback(_host(address)):
        raise ConfigError(
            f"A worker on {host} cannot be reached from the scheduler at {address}.",
            "Name this machine's own address with --host.",
        )
    bench, security = Bench(root), _security(host, is_trusted)
    with _started(host, port, address):
        await unless_stopped(stop, greet(address, _WAIT_S))
        worker = await _worker(address, bench, host, port, concurrency, security)
    ready(worker.address)
    await _until(worker, bench, stop)
    await bench.clear()
    if not stop.is_set():
        raise RunError(
            f"The scheduler at {address} is gone.",
            "Start it again, then this worker; `psychemme generate --resume` goes on.",
        )


def _worker(
    address: str, bench: Bench, host: str, port: int, concurrency: int, security: Security
) -> Any:  # noqa: ANN401 - Dask is not typed
    return _Worker(
        address,
        host=host,
        port=port,
        nthreads=concurrency,
        dashboard=False,
        security=security,
        protocol=_scheme(security),
        death_timeout=_WAIT_S,
        memory_limit=0,
        plugins=(BenchPlugin(bench),),
    )


async def _until(worker: Any, bench: Bench, stop: asyncio.Event) -> None:  # noqa: ANN401
    """Wait for `stop`, then hand open units to the other workers; or for the worker's own end."""
    ends = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(worker.finished())]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        await bench.leave()
        await worker.close_gracefully(reason="asked to stop")
        await worker.finished()
    for end in ends:
        end.cancel()


def _security(host: str, is_trusted: bool) -> Security:
    security = Security()  # type: ignore[no-untyped-call]
    require_trust(host, bool(security.require_encryption), is_trusted)
    return security


def _scheme(security: Security) -> str:
    return "tls" if security.require_encryption else "tcp"


def _host(address: str) -> str:
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


@contextmanager
def _started(host: str, port: int, scheduler: str = "") -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        cause = error.__cause__ or error  # Dask wraps what hindered the start.
        if isinstance(cause, TimeoutError):
            raise RunError(
                f"No scheduler answers at {scheduler}.",
                "Start one with `psychemme cluster scheduler`, or correct the address.",
            ) from error
        if not isinstance(cause, OSError):
            raise
        raise ConfigError(
            f"The address {host}, port {port}, cannot be had: {cause.strerror or cause}.",
            "Name another address of this machine with --host, or a free port with --port.",
        ) from error
