"""A cluster does what one process does: the same results, whatever happens to its machines."""

import asyncio
import json
import logging
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from construction.cluster import crew, orders, servers
from construction.cluster.bench import Bench, BenchPlugin, make_ready
from construction.cluster.crew import open_measuring
from construction.cluster.servers import serve_scheduler, serve_worker
from construction.coverage import Tally
from construction.endpoints import Spending
from construction.generate import Generation
from construction.ingest import Provenance, add_clips
from construction.plan import load_plan
from construction.prepare import Measure, prepare_workspace
from construction.runs import Job, generation
from construction.workspace import DEMO_KEY, Workspace, create_workspace, open_workspace
from psychemme.config import load_settings
from psychemme.errors import ConfigError, RunError, Stopped
from psychemme.media.blobs import BlobStore
from state.clips import ClipStore
from state.runs import RunStore
from state.values import ClipRecord, EpisodeRecord
from tests.support import postgres
from tests.support.clips import write_clip
from tests.support.commands import command, environment, run
from tests.support.model_server import ModelServer
from tests.support.states import CLIP, EPISODE

COUNT, CLIPS, WORKERS, CONCURRENCY = 16, 8, 3, 2
OF_A_WORKER = ("question", "answer", "critic", "curator")


class Process:
    """A process of the cluster, and the address where it says it listens."""

    def __init__(self, root: Path, *words: str, **extra: str) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as log:
            self.process = subprocess.Popen(
                command(root, "cluster", *words),
                env=environment(PSYCHEMME_API_KEY="sk-of-the-worker", **extra),
                stderr=log,
            )
        self.log = Path(log.name)

    def listens(self) -> str:
        deadline = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < deadline:
            if found := re.search(r"^Listening on (\S+)\.$", self.log.read_text(), re.MULTILINE):
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"it never listened: {self.log.read_text()}")

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        self.process.send_signal(how)
        return self.process.wait(60)


class Cluster:
    """A scheduler and its workers, each with the passwords of its own roles."""

    def __init__(self, root: Path, variables: dict[str, str]) -> None:
        self._root, self._variables = root, variables
        self.processes = [Process(root, "scheduler", "--port", "0")]
        self.address = self.processes[0].listens()
        for _ in range(WORKERS):
            self.hire()
        for worker in self.workers:
            worker.listens()

    def hire(self) -> Process:
        words = ("worker", self.address, "--concurrency", str(CONCURRENCY))
        self.processes.append(Process(self._root, *words, **self._variables))
        return self.processes[-1]

    @property
    def workers(self) -> list[Process]:
        return [one for one in self.processes[1:] if one.process.poll() is None]

    def end(self) -> None:
        for one in self.processes:
            one.end()
            one.log.unlink()


def fill(workspace: Workspace) -> None:
    with ClipStore(workspace.database) as clips:
        for number in range(CLIPS):
            name = f"{number:016x}"
            own = {"id": name, "sha256": name * 4, "source_video_id": name}
            clip: ClipRecord = CLIP.model_copy(update=own | {"recording_group": name})
            clips.put_clip(clip)
            episode = EpisodeRecord(
                id=f"{name}-0-20000", clip_id=name, preparation=1, start=0, end=20, content=EPISODE
            )
            clips.save_preparation(clip, 1, "hash", "sidecar", {}, [episode])


@pytest.fixture(scope="module")
def database() -> dict[str, str]:
    """Variables that lead to a PostgreSQL database, with every password."""
    return postgres.environment(postgres.fresh_database())


@pytest.fixture(scope="module")
def root(database: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace on PostgreSQL with a few episodes."""
    root = tmp_path_factory.mktemp("team") / "workspace"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in database.items():
            patch.setenv(name, value)
        fill(create_workspace(root, DEMO_KEY))
    (root / "psychemme.toml").write_text(f'media = "file://{root}-media"\n')
    return root


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What one process makes of the same on SQLite, and the calls that takes."""
    root = tmp_path_factory.mktemp("alone") / "workspace"
    fill(create_workspace(root, DEMO_KEY))
    with ModelServer() as server:
        asyncio.run(finish(root, server))
        return final(root), server.count()


@pytest.fixture(scope="module")
def shared_cluster(root: Path, database: dict[str, str]) -> Iterator[Cluster]:
    """A cluster for all tests of this file."""
    passwords = [f"PSYCHEMME_DATABASE_PASSWORD_{role.upper()}" for role in OF_A_WORKER]
    kept = {name: database[name] for name in ("PSYCHEMME_DATABASE", *passwords)}
    made = Cluster(root, kept)
    yield made
    made.end()


@pytest.fixture
def cluster(
    shared_cluster: Cluster, database: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Cluster:
    """The cluster with all its workers, and this process as a coordinator that may use it."""
    for name, value in database.items():
        monkeypatch.setenv(name, value)
    while len(shared_cluster.workers) < WORKERS:
        shared_cluster.hire().listens()
    return shared_cluster


@asynccontextmanager
async def started(
    root: Path, server: ModelServer, cluster: str | None = None, *, resume: bool = False,
    budget: float | None = None, **flags: object,
) -> AsyncIterator[Generation]:  # fmt: skip
    settings = load_settings(root, {"model": "served", "base_url": server.url, **flags})
    spending = Spending(budget=budget, cache=False)
    async with generation(
        open_workspace(root), settings, COUNT, resume, not resume, asyncio.Event(), spending,
        cluster=cluster,
    ) as job:  # fmt: skip
        yield job


async def finish(root: Path, *arguments: Any, **options: Any) -> Tally:
    async with started(root, *arguments, **options) as job:
        return await job.finish()


async def when(reached: Callable[[], bool], finishing: asyncio.Task[Tally] | None = None) -> None:
    while not reached():  # a thread of the server's counts
        await asyncio.sleep(0.01)
        if finishing is not None and finishing.done():
            raise AssertionError(f"it ended before: {finishing.exception()}")


def final(root: Path) -> dict[str, Any]:
    """Return everything that the newest run left behind, without times and the run's number."""
    with RunStore(open_workspace(root).database) as runs:
        number = len(runs.runs())
        outcomes = runs.outcomes(number)
        calls = [call.model_dump(exclude={"latency"}) for call in runs.ledger(number)]
        rounds = [
            [one.model_dump(mode="json") for one in runs.rounds(outcome.target.key)]
            for outcome in outcomes
        ]
    for call in calls:
        call["candidate_key"] = call["candidate_key"].partition("-")[2]
    return {
        "outcomes": [
            one.model_dump(mode="json", exclude={"target": {"key", "run"}}) for one in outcomes
        ],
        "rounds": rounds,
        "ledger": sorted(map(repr, calls)),
    }


def repeated(server: ModelServer) -> int:
    hashes = [call.hash for call in server.calls]
    return len(hashes) - len(set(hashes))


@pytest.mark.slow
async def test_a_killed_worker(cluster: Cluster, root: Path, alone: Any) -> None:
    expected, calls = alone
    with ModelServer(delay=0.2) as server:
        finishing = asyncio.create_task(finish(root, server, cluster.address))
        await when(lambda: server.count() >= 12, finishing)
        cluster.workers[0].end()
        await finishing
        assert final(root) == expected
        # Only what was in flight on the worker that died is asked again.
        assert repeated(server) <= CONCURRENCY
        assert server.count() - repeated(server) == calls
        assert {call.authorization for call in server.calls} == {"Bearer sk-of-the-worker"}


def test_only_the_given_addresses_are_bound(cluster: Cluster) -> None:
    for one in cluster.processes:
        if one.process.poll() is None:
            found = psutil.Process(one.process.pid).net_connections("inet")
            bound = [c.laddr for c in found if c.status == psutil.CONN_LISTEN or not c.raddr]
            assert [address.ip for address in bound] == ["127.0.0.1"]
    assert f":{bound_port(cluster.processes[0])}" in cluster.address


def bound_port(one: Process) -> int:
    found = psutil.Process(one.process.pid).net_connections("inet")
    return next(c.laddr.port for c in found if c.status == psutil.CONN_LISTEN)


@pytest.mark.slow
async def test_stop_drains_and_resumes(cluster: Cluster, root: Path, alone: Any) -> None:
    with ModelServer(delay=0.1) as server:
        async with started(root, server, cluster.address) as job:
            finishing = asyncio.create_task(job.finish())
            await when(lambda: server.count() >= 9, finishing)
            job.stop.set()
            with pytest.raises(Stopped):
                await finishing
            assert job.tally.pending > 0
        stopped_at = server.count()
        await asyncio.sleep(0.5)
        assert server.count() == stopped_at
        await finish(root, server, cluster.address, resume=True)
        assert final(root) == alone[0]
        assert repeated(server) == 0


@pytest.mark.slow
async def test_a_worker_that_is_asked_to_stop_loses_nothing(
    cluster: Cluster, root: Path, alone: Any
) -> None:
    with ModelServer(delay=0.2) as server:
        finishing = asyncio.create_task(finish(root, server, cluster.address))
        await when(lambda: server.count() >= 9, finishing)
        leaving = cluster.workers[0]
        assert await asyncio.to_thread(leaving.end, signal.SIGTERM) == 0
        assert "ERROR" not in leaving.log.read_text()
        await finishing
        assert final(root) == alone[0]
        assert repeated(server) == 0


@pytest.mark.slow
async def test_a_killed_coordinator(
    cluster: Cluster, root: Path, database: dict[str, str], alone: Any
) -> None:
    with ModelServer(delay=0.2) as server:
        options = ("--model", "served", "--base-url", server.url, "--no-cache", "--fresh")
        words = ("generate", *options, "--count", str(COUNT), "--cluster", cluster.address)
        coordinator = subprocess.Popen(  # noqa: ASYNC220
            command(root, *words), env=environment(**database), stderr=subprocess.DEVNULL
        )
        await when(lambda: server.count() >= 9)
        coordinator.kill()
        coordinator.wait()
        await finish(root, server, cluster.address, resume=True)
        assert final(root) == alone[0]
        assert repeated(server) == 0  # calls in flight end, are stored and found again


@pytest.mark.slow
async def test_limits_hold_for_the_whole_run(cluster: Cluster, root: Path) -> None:
    with ModelServer() as server:
        async with started(root, server, cluster.address, requests_per_minute=300.0) as job:
            finishing, began = asyncio.create_task(job.finish()), time.monotonic()
            await when(lambda: server.count() >= 40, finishing)
            took = time.monotonic() - began
            job.stop.set()
            with pytest.raises(Stopped):
                await finishing
    # Five a second, of which fifteen may come at once.
    assert took >= (40 - 15 - 1) / 5


async def test_a_budget_holds_for_the_whole_run(cluster: Cluster, root: Path) -> None:
    price = {"input_price": 1000.0, "output_price": 0.0}  # a call costs 0.1 dollars
    with ModelServer() as server:
        with pytest.raises(Stopped, match="budget"):
            await finish(root, server, cluster.address, budget=1.0, **price)
        assert 10 <= server.count() <= 10 + WORKERS * CONCURRENCY
        with pytest.raises(Stopped, match="budget"):
            await finish(root, server, cluster.address, resume=True, budget=1.0, **price)
        assert server.count() <= 10 + WORKERS * CONCURRENCY


async def test_a_worker_that_differs_refuses_by_name(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    workspace = create_workspace(root, DEMO_KEY)
    fill(workspace)
    with ModelServer() as server:
        async with started(root, server) as job:
            pins = dict(job.run.pins)
    settings = load_settings(root, {"model": "served", "base_url": "http://127.0.0.1:1/v1"})
    marker = BlobStore(workspace.blobs).put(b"seen")
    sent = Job(settings.settings, 1, pins, Spending(), "lease")
    order = json.loads(orders.written(sent, marker))

    async def refusal(at: Path, **changes: object) -> str:
        return (await Bench(at).work(json.dumps(order | changes), "1-c0"))["problem"]

    assert "package version is" in await refusal(root, version="0.0.0")
    assert "does not see the media" in await refusal(root, marker="0" * 64)
    assert "another Shared State" in await refusal(root, pins=pins | {"seed": "7"})
    # Without a Dask worker around it, a bench that agrees gets no further than its meter.
    with pytest.raises(ValueError, match=r"[Ww]orker"):
        await Bench(root).work(json.dumps(order), "1-c0")
    other = Path(shutil.copytree(root, tmp_path / "other"))
    (other / "shuffle.key").write_text("11" * 32)
    assert "shuffle key is" in await refusal(other)
    assert "sk-" not in json.dumps(order)
    assert "api_key" not in order["settings"]


def test_clips_are_prepared_by_workers(
    cluster: Cluster, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    for name in ("kitchen", "garden"):
        write_clip(far / f"{name}.mp4", 11 if name == "garden" else 10)
        (far / f"{name}.srt").write_text("1\n00:00:01,000 --> 00:00:09,000\nHold this, please.\n")
    (far / "broken.mp4").write_bytes(b"no video")
    paths = sorted(far.glob("*.mp4"))
    monkeypatch.delenv("PSYCHEMME_DATABASE")
    alone = create_workspace(tmp_path / "alone", DEMO_KEY)
    expected = prepared(alone, [str(path) for path in paths])

    database = postgres.fresh_database()
    for name, value in postgres.environment(database).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PSYCHEMME_MEDIA", f"file://{root}-media")
    team = create_workspace(tmp_path / "team", DEMO_KEY)
    settings, plan = load_settings(team.root, {"asr": "off"}).settings, load_plan(None)
    with open_measuring(cluster.address, team, settings, plan.episodes) as measure:
        assert prepared(team, [f"file://{path}" for path in paths], measure) == expected
    assert {clip["status"] for clip in expected["clips"]} == {"prepared", "refused"}
    # The coordinator cut and fetched nothing.
    assert not list(team.blobs.rglob("*.jpg")) + list(team.blobs.rglob("*.mp4"))


def prepared(
    workspace: Workspace, paths: list[str], measure: Measure | None = None
) -> dict[str, Any]:
    provenance = Provenance("lab", "lab", None, 0.0, None, None, None, None, "", None)
    settings = load_settings(workspace.root, {"asr": "off"}).settings
    with ClipStore(workspace.database) as store:
        list(add_clips(store, paths, provenance))
        prepare_workspace(workspace, settings, load_plan(None), measure=measure)
        kept = {"id", "status", "reason", "duration", "probe_json"}
        return {
            "clips": [clip.model_dump(mode="json", include=kept) for clip in store.clips()],
            "episodes": [one.model_dump(mode="json") for one in store.episodes()],
        }


def test_a_file_cannot_be_shared(tmp_path: Path) -> None:
    create_workspace(tmp_path, DEMO_KEY)
    words = ("--cluster", "tcp://127.0.0.1:1")
    for verb in (("prepare",), ("generate", "--model", "signal", "--count", "1")):
        done = run(tmp_path, *verb, *words, expect=1)
        assert "SQLite file" in done.stderr
        assert "db export" in done.stderr


@pytest.mark.parametrize(
    ("serve", "expected"),
    [
        (lambda stop: serve_scheduler("0.0.0.0", 0, False, stop), "--trusted-network"),
        (lambda stop: serve_scheduler("192.0.2.200", 0, True, stop), "cannot be had"),
        (lambda stop: worker("tcp://127.0.0.1:1", "0.0.0.0", stop), "--trusted-network"),
        (lambda stop: worker("tcp://10.0.0.1:8786", "127.0.0.1", stop), "--host"),
        (lambda stop: worker("10.0.0.1:8786", "127.0.0.1", stop), "tcp://HOST:PORT"),
        (lambda stop: worker("tcp://10.0.0.1", "127.0.0.1", stop), "tcp://HOST:PORT"),
    ],
)
async def test_addresses_that_are_refused(
    serve: Callable[[asyncio.Event], Awaitable[None]], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        await serve(asyncio.Event())


def worker(address: str, host: str, stop: asyncio.Event) -> Coroutine[Any, Any, None]:
    return serve_worker(address, Path(), host, 0, 1, False, stop)


async def test_a_start_without_its_logins_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in postgres.environment(postgres.fresh_database()).items():
        monkeypatch.setenv(name, value)
    workspace = create_workspace(tmp_path, DEMO_KEY)
    fill(workspace)
    monkeypatch.setenv("PSYCHEMME_DATABASE_PASSWORD_CRITIC", "another")
    with ModelServer() as server:
        with pytest.raises(ConfigError, match="refuses the password of psychemme_critic"):
            await finish(tmp_path, server)
        assert server.count() == 0
    with RunStore(workspace.database) as runs:
        assert not runs.runs()
    # Each worker says the same before the run is stored.
    worker = SimpleNamespace(plugins={BenchPlugin.name: BenchPlugin(Bench(tmp_path))})
    assert "psychemme_critic" in (await make_ready(worker))["problem"]


@pytest.mark.parametrize(
    ("fault", "is_told"),
    [(OSError("gone"), False), (asyncio.CancelledError(), False), (ValueError("wrong"), True)],
)
def test_a_lost_connection_is_not_in_the_log(fault: BaseException, is_told: bool) -> None:
    for name in ("client", "core", "worker"):
        log, seen = logging.getLogger(f"distributed.{name}"), list[logging.LogRecord]()
        (handler := logging.Handler()).emit = seen.append  # type: ignore[method-assign]
        log.addHandler(handler)
        log.error("a unit failed", exc_info=fault)
        log.removeHandler(handler)
        assert bool(seen) == is_told


@asynccontextmanager
async def silent_scheduler() -> AsyncIterator[str]:
    """The address of something that takes every connection and never says a word."""
    taken: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: taken.append(writer), "127.0.0.1", 0)
    yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for writer in taken:
        writer.close()
    server.close()


async def test_a_scheduler_that_never_speaks_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(create_workspace(tmp_path / "w", DEMO_KEY))
    opened, settings = open_workspace(tmp_path / "w"), load_settings(tmp_path, {"model": "signal"})

    async def start(address: str, stop: asyncio.Event) -> None:
        async with generation(opened, settings, 1, False, False, stop, cluster=address):
            raise AssertionError("it started")

    stop = asyncio.Event()
    async with silent_scheduler() as address, asyncio.timeout(60):
        waiting = [
            asyncio.create_task(start(address, stop)),
            asyncio.create_task(worker(address, "127.0.0.1", stop)),
        ]
        _, pending = await asyncio.wait(waiting, timeout=1)
        assert len(pending) == 2
        stop.set()
        for task in waiting:
            with pytest.raises(Stopped):
                await task
        monkeypatch.setattr(crew, "_CONNECT_S", 0.5)
        monkeypatch.setattr(servers, "_WAIT_S", 0.5)
        for begin in (
            start(address, asyncio.Event()),
            worker(address, "127.0.0.1", asyncio.Event()),
        ):
            with pytest.raises(RunError, match="No scheduler answers"):
                await begin


# The last one: it ends the cluster.
@pytest.mark.slow
async def test_a_lost_scheduler(cluster: Cluster, root: Path, alone: Any) -> None:
    with ModelServer(delay=0.2) as server:
        finishing = asyncio.create_task(finish(root, server, cluster.address))
        await when(lambda: server.count() >= 9, finishing)
        hired = cluster.workers
        cluster.processes[0].end()
        with pytest.raises(RunError, match=r"scheduler at .* is gone"):
            await finishing
        await finish(root, server, resume=True)
        assert final(root) == alone[0]
        assert repeated(server) <= WORKERS * CONCURRENCY
    with pytest.raises(RunError, match="No scheduler answers"):
        await finish(root, server, cluster.address, resume=True)
    for worker in hired:
        assert await asyncio.to_thread(worker.process.wait, 60) != 0
        said = worker.log.read_text()
        assert re.search(r"error The scheduler at .* is gone\.\n.*\n*\Z", said), said
        assert "Traceback" not in said
