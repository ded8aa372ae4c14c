"""The coordinator's side: it picks, and workers do the candidates and clips."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress
from secrets import token_hex
from typing import Any

from distributed import Client, KilledWorker, as_completed

from construction.cluster import bench
from construction.cluster.account import Account
from construction.cluster.needs import require_address
from construction.cluster.orders import clips_written, raise_reported, written
from construction.cluster.quiet import keep_quiet_of_losses
from construction.cluster.reach import greet, unless_stopped
from construction.endpoints import limits_of, places_of, spent_before
from construction.generate import Work
from construction.plan import EpisodeLimits
from construction.prepare import Measure
from construction.runs import Job, models_of
from construction.workspace import Workspace
from psychemme.clients.cards import load_cards
from psychemme.config import Settings
from psychemme.errors import RunError, Stopped
from psychemme.media.blobs import BlobStore
from psychemme.media.prepare import PreparedClip
from psychemme.media.settings import MediaSettings, resolve_asr
from state.values import ClipRecord

_CONNECT_S = 10
_HIRE_S = 30

keep_quiet_of_losses()


@asynccontextmanager
async def open_crew(
    address: str, workspace: Workspace, job: Job, stop: asyncio.Event
) -> AsyncIterator[tuple[Work, int]]:
    """Yield the work of a cluster on `job`, and how many candidates it takes at once.

    Raises RunError where the scheduler or its workers cannot be reached, Stopped where `stop` is
    set before they are.
    """
    cards, models = load_cards(workspace.root), models_of(job.settings)
    limits = limits_of(models, job.settings, cards)
    places, spent = places_of(models, job.settings, cards), spent_before(job.spending)
    order = written(job, _marker(workspace, job.settings, job.lease))
    async with _connected(address, stop) as client:
        for worker, outcome in (await client.run(bench.make_ready)).items():
            raise_reported(outcome, worker)
        account = Account(job.lease, client.id, places, limits, job.spending.budget, spent)
        await client.register_plugin(account)
        # A candidate makes one call at a time, so this many keep what every endpoint bears at once.
        bounds = [one.concurrency for one in limits.values() if one.concurrency is not None]
        halting = asyncio.create_task(_halt(client, job.lease, stop))
        try:
            most = max(1, min([_slots(client), *bounds]))
            yield _work(client, address, job.lease, order, stop), most
        finally:
            halting.cancel()


@contextmanager
def open_measuring(
    address: str, workspace: Workspace, settings: Settings, limits: EpisodeLimits
) -> Iterator[Measure]:
    """Yield what measures clips on a cluster, for `prepare_workspace`; raises as `open_crew`."""
    model = resolve_asr(MediaSettings(asr=settings.asr), workspace.blobs / "models")
    order = clips_written(settings, limits, model, _marker(workspace, settings, token_hex(16)))
    with _reached(address):
        asyncio.run(greet(address, _CONNECT_S))
        client = Client(  # type: ignore[no-untyped-call]
            address, timeout=_CONNECT_S, set_as_default=False
        )
    with client:
        with _staffed(address):
            client.wait_for_workers(1, timeout=_HIRE_S)

        def measure(clips: Sequence[ClipRecord]) -> Iterator[tuple[str, PreparedClip]]:
            futures = {
                client.submit(
                    bench.measure, order, clip.id, clip.path, clip.sha256, pure=False
                ): clip
                for clip in clips
            }
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                with _kept(address, f"clip {futures[future].id}"):
                    outcome = future.result()
                raise_reported(outcome, outcome["worker"])
                yield futures[future].sha256, PreparedClip.model_validate_json(outcome["clip"])

        yield measure


@asynccontextmanager
async def _connected(address: str, stop: asyncio.Event) -> AsyncIterator[Client]:
    require_address(address)
    with _reached(address):
        await unless_stopped(stop, greet(address, _CONNECT_S))
        client = await Client(  # type: ignore[no-untyped-call]
            address, asynchronous=True, timeout=_CONNECT_S, set_as_default=False
        )
    async with client:
        with _staffed(address):
            await unless_stopped(stop, client.wait_for_workers(1, timeout=_HIRE_S))
        yield client


def _work(client: Client, address: str, lease: str, order: str, stop: asyncio.Event) -> Work:
    async def work(key: str) -> None:
        name = f"psychemme-{lease}-{key}"
        future = client.submit(bench.work, order, key, key=name, pure=False)
        with _kept(address, f"candidate {key}"):
            outcome = await future.result()
        try:
            raise_reported(outcome, outcome["worker"])
        except Stopped:
            stop.set()  # The budget is used up: no other worker need try.
            raise

    return work


async def _halt(client: Client, lease: str, stop: asyncio.Event) -> None:
    await stop.wait()
    with suppress(OSError):
        await client.run(bench.halt, lease)


def _marker(workspace: Workspace, settings: Settings, text: str) -> str:
    """Store a blob that every worker must find, and return its SHA-256."""
    return BlobStore(workspace.blobs, settings.media).put(text.encode())


def _slots(client: Client) -> int:
    workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return sum(worker["nthreads"] for worker in workers.values())


@contextmanager
def _reached(address: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"No scheduler answers at {address}.",
            "Start one with `psychemme cluster scheduler`, or correct the address.",
        ) from error


@contextmanager
def _staffed(address: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise RunError(
            f"The scheduler at {address} has no worker.",
            "Start some with `psychemme cluster worker`.",
        ) from error


@contextmanager
def _kept(address: str, name: str) -> Iterator[None]:
    """Raise RunError where the cluster can give no result for the unit `name`."""
    try:
        yield
    except KilledWorker as error:
        raise RunError(
            f"Several workers died while they worked on {name}.",
            "Look into their logs for the cause, such as too little memory, then resume.",
        ) from error
    except CancelledError as error:  # of the unit; that of a task is asyncio's own
        raise RunError(
            f"The scheduler at {address} is gone; what is finished is stored.",
            "Start scheduler and workers again, then do the same again (`generate --resume`).",
        ) from error
