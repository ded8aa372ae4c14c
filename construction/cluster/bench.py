"""A worker's side: its own stores, clients and graph, opened once for the run in hand."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from distributed import Reschedule, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from construction.cluster.account import SharedMeter
from construction.cluster.orders import (
    ClipOrder,
    Order,
    job_of,
    read,
    refuse_differences,
    refuse_other_media,
    report,
)
from construction.generate import Work
from construction.plan import EpisodeLimits, Plan
from construction.prepare import cut_ahead, measure_here
from construction.runs import Job, open_work, pins_of
from construction.workspace import Workspace, open_workspace
from psychemme.config import load_settings
from psychemme.errors import MediaError, PsychemmeError, RunError, Stopped
from psychemme.media.blobs import BlobStore
from psychemme.media.clip_files import clip_file
from psychemme.media.prepare import PreparedClip
from psychemme.media.settings import MediaSettings, resolve_asr
from psychemme.vocabulary import AgentRole
from state.clips import ClipStore
from state.engines import prove_logins
from state.roles import DbRole
from state.runs import RunStore


@dataclass
class _InHand:
    """The run that this worker works on, and how many of its units are under way."""

    lease: str
    work: Work
    stop: asyncio.Event
    stack: AsyncExitStack
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    units: int = 0

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Count one unit as under way."""
        self.units += 1
        self.idle.clear()
        try:
            yield
        finally:
            self.units -= 1
            if not self.units:
                self.idle.set()


class Bench:
    """Where a worker works: the workspace at `root`, and one run at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_leaving = False
        self._in_hand: _InHand | None = None
        self._turn = asyncio.Lock()

    async def work(self, order: str, key: str) -> Mapping[str, str]:
        """Take the candidate `key` through the graph; return an empty report, or its fault."""
        try:
            in_hand = await self._opened(order, key)
            with in_hand.unit():
                await in_hand.work(key)
        except Stopped as reason:
            if self.is_leaving:
                raise Reschedule from reason
            return report(reason)
        except PsychemmeError as fault:
            return report(fault)
        return {}

    def prove_logins(self) -> None:
        """Raise ConfigError where a password that a unit needs is missing or refused."""
        prove_logins(Workspace(self.root).database, (DbRole.CURATOR, *AgentRole))

    async def measure(self, order: str, clip_id: str, path: str, sha256: str) -> Mapping[str, str]:
        """Return a prepared clip as JSON, or the fault that stopped it."""
        try:
            prepared = await asyncio.to_thread(self._measure, order, clip_id, path, sha256)
        except PsychemmeError as fault:
            return report(fault)
        return {"clip": prepared.model_dump_json()}

    def _measure(self, text: str, clip_id: str, path: str, sha256: str) -> PreparedClip:
        order, own = read(text, ClipOrder), load_settings(self.root)
        blobs = BlobStore(Workspace(self.root).blobs, own.settings.media)
        refuse_other_media(order.marker, blobs)
        is_own = own.origins["asr"] != "default"
        media = MediaSettings(asr=own.settings.asr if is_own else order.asr)
        model = resolve_asr(media, blobs.root / "models")
        refuse_differences(
            {"speech model": str(order.asr_model)}, {"speech model": str(model and model.sha256)}
        )
        ((_, prepared),) = measure_here([(path, sha256)], media, blobs, 1)
        if not prepared.is_refused:
            file, limits = clip_file(path, sha256, blobs.root), EpisodeLimits(**order.limits)
            with suppress(MediaError):  # The coordinator meets it again and stores the reason.
                cut_ahead(clip_id, file, prepared, limits, media, blobs)
        return prepared

    def halt(self, lease: str | None = None) -> None:
        """Let calls in flight finish and start no new one (of the run `lease`)."""
        if self._in_hand is not None and lease in (None, self._in_hand.lease):
            self._in_hand.stop.set()

    async def clear(self) -> None:
        """Halt, wait until the last unit has ended, and close what is open."""
        async with self._turn:
            await self._close()

    async def leave(self) -> None:
        """Hand the units under way to other workers."""
        self.is_leaving = True
        await self.clear()

    async def _opened(self, text: str, key: str) -> _InHand:
        order = read(text, Order)
        async with self._turn:
            if self.is_leaving:
                raise Stopped
            if self._in_hand is None or self._in_hand.lease != order.lease:
                await self._close()
                workspace = open_workspace(self.root)
                job = job_of(order, load_settings(self.root))
                blobs = BlobStore(workspace.blobs, job.settings.media)
                await asyncio.to_thread(refuse_other_media, order.marker, blobs)
                self._in_hand = await _open(workspace, job, key)
            return self._in_hand

    async def _close(self) -> None:
        if (ended := self._in_hand) is None:
            return
        self.halt()
        await ended.idle.wait()
        self._in_hand = None
        await ended.stack.aclose()


async def _open(workspace: Workspace, job: Job, key: str) -> _InHand:
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        runs = stack.enter_context(RunStore(workspace.database, job.lease))
        clips = stack.enter_context(ClipStore(workspace.database))
        _refuse_other_pins(workspace, job, runs, key)
        meter = SharedMeter(get_worker().scheduler, job.lease)
        job = replace(job, spending=replace(job.spending, meter=meter))
        work, _ = await stack.enter_async_context(open_work(workspace, job, runs, clips, stop))
        in_hand = _InHand(job.lease, work, stop, stack.pop_all())
    in_hand.idle.set()
    return in_hand


def _refuse_other_pins(workspace: Workspace, job: Job, runs: RunStore, key: str) -> None:
    """Raise RunError where this worker's files, or its Shared State, are not the run's."""
    run = runs.run(int(key.partition("-")[0]))
    if dict(run.pins) != dict(job.pins):
        raise RunError(
            "This worker is connected to another Shared State than the coordinator.",
            "Give both the same PSYCHEMME_DATABASE.",
        )
    plan = Plan.model_validate_json(run.plan_json)
    refuse_differences(job.pins, pins_of(workspace, job.settings, plan))


class BenchPlugin(WorkerPlugin):
    """Ties a bench to its Dask worker."""

    name = "psychemme-bench"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def transition(self, key: object, start: str, finish: str, **_: object) -> None:  # noqa: ARG002
        """Halt when nobody waits for a unit any more: its coordinator is gone."""
        if start == "executing" and finish == "cancelled":
            self.bench.halt()


async def work(order: str, key: str) -> Mapping[str, str]:
    """Work on one candidate; this is the unit that a coordinator submits."""
    worker = get_worker()
    return {"worker": worker.address, **await bench_of(worker).work(order, key)}


async def measure(order: str, clip_id: str, path: str, sha256: str) -> Mapping[str, str]:
    """Measure one clip; this is the unit that `prepare` submits."""
    worker = get_worker()
    outcome = await bench_of(worker).measure(order, clip_id, path, sha256)
    return {"worker": worker.address, **outcome}


async def halt(lease: str, dask_worker: Any) -> None:  # noqa: ANN401 - Dask is not typed
    """Halt the run `lease` on a worker."""
    bench_of(dask_worker).halt(lease)


async def make_ready(dask_worker: Any) -> Mapping[str, str]:  # noqa: ANN401
    """End whatever an earlier coordinator left on a worker, and prove its logins; as `work`."""
    bench = bench_of(dask_worker)
    await bench.clear()
    try:
        await asyncio.to_thread(bench.prove_logins)
    except PsychemmeError as fault:
        return report(fault)
    return {}


def bench_of(worker: Any) -> Bench:  # noqa: ANN401
    """Return a worker's bench; raises RunError where it has none."""
    plugin = worker.plugins.get(BenchPlugin.name)
    if plugin is None:
        raise RunError(
            f"The worker {worker.address} was not started by psychemme.",
            "Start workers with `psychemme cluster worker`.",
        )
    bench: Bench = plugin.bench
    return bench
