"""kill -9 at any point, then --resume: the same candidates, and no finished call repeated."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import postgres
from tests.support.commands import command, environment, read, run
from tests.support.model_server import ModelServer

COUNT, CONCURRENCY = 12, 4
KEY = "sk-test-0123456789"


def generate(server: ModelServer, *words: str) -> tuple[str, ...]:
    options = ("--model", "served", "--base-url", server.url, "--concurrency", str(CONCURRENCY))
    return ("generate", *options, "--count", str(COUNT), *words)


def kill_when(running: subprocess.Popen[bytes], seen: int, server: ModelServer) -> None:
    deadline = time.monotonic() + 120
    while server.count() < seen and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()


def start(workspace: Path, words: tuple[str, ...], **extra: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(workspace, *words),
        env=environment(PSYCHEMME_API_KEY=KEY, **extra),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def uninterrupted(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    import shutil

    copy = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("whole") / "workspace"))
    with ModelServer() as server:
        run(copy, *generate(server), PSYCHEMME_API_KEY=KEY)
        assert server.count() == len({call.hash for call in server.calls})
    return run(copy, "candidates", "list", "--json").stdout


def on_server(workspace: Path, clips: Path) -> dict[str, str]:
    """Give `workspace` another Shared State, prepared alike, and return how to reach it."""
    (workspace / "state.db").unlink()
    reach = postgres.environment(postgres.fresh_database())
    run(workspace, "clips", "add", str(clips), "--source", "sample", **reach)
    run(workspace, "prepare", **reach)
    return reach


@pytest.mark.parametrize(
    ("engine", "seen"),
    [
        ("sqlite", 7),
        *(pytest.param("sqlite", n, marks=pytest.mark.slow) for n in (1, 15, 24, 31)),
        pytest.param("postgresql", 24, marks=pytest.mark.slow),
    ],
)
def test_kill_during_generate(
    workspace: Path, uninterrupted: str, sample_clips: Path, engine: str, seen: int
) -> None:
    reach = on_server(workspace, sample_clips) if engine == "postgresql" else {}
    with ModelServer(delay=0.05) as server:
        kill_when(start(workspace, generate(server), **reach), seen, server)
        at_kill = server.count()
        run(workspace, *generate(server, "--resume"), PSYCHEMME_API_KEY=KEY, **reach)
        calls = [call.hash for call in server.calls]
    assert run(workspace, "candidates", "list", "--json", **reach).stdout == uninterrupted
    assert len(calls) - len(set(calls)) <= CONCURRENCY
    assert at_kill < len(calls)
    totals = json.loads(run(workspace, "coverage", "--json", **reach).stdout)["totals"]
    assert (totals["started"], totals["pending"]) == (COUNT, 0)


@pytest.mark.slow
def test_ctrl_c_drains_and_resumes(workspace: Path, uninterrupted: str) -> None:
    with ModelServer(delay=0.05) as server:
        running = start(workspace, generate(server))
        while server.count() < 9:
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 3
        assert read(workspace, "coverage")["totals"]["pending"] > 0
        run(workspace, *generate(server, "--resume"), PSYCHEMME_API_KEY=KEY)
        calls = [call.hash for call in server.calls]
    assert len(calls) == len(set(calls))
    assert run(workspace, "candidates", "list", "--json").stdout == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("after", [3.0, 5.0, 8.0])
def test_kill_during_prepare(
    sample_clips: Path, prepared: Path, tmp_path: Path, after: float
) -> None:
    workspace = tmp_path / "workspace"
    run(workspace, "init", "--demo-key")
    run(workspace, "clips", "add", str(sample_clips), "--source", "sample")
    running = start(workspace, ("prepare",))
    time.sleep(after)
    running.send_signal(signal.SIGKILL)
    running.wait()
    cached = {path: path.stat().st_mtime_ns for path in workspace.glob("blobs/results/*/*.json")}
    run(workspace, "prepare")
    assert read(workspace, "episodes", "list") == read(prepared, "episodes", "list")
    assert all(path.stat().st_mtime_ns == made for path, made in cached.items())


def test_no_key_is_left_in_the_workspace(workspace: Path) -> None:
    with ModelServer() as server:
        run(workspace, *generate(server), PSYCHEMME_API_KEY=KEY)
    for file in workspace.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


LOGGED = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, filename=sys.argv.pop(1))
from psychemme.cli.main import main
main()
"""


@pytest.mark.parametrize("fault", [None, "unauthorized", "broken"])
def test_no_key_is_in_any_file_log_or_message_at_debug_level(
    workspace: Path, fault: str | None
) -> None:
    log = workspace / "debug.log"
    with ModelServer(fault=lambda call: fault if call.number == 5 else None) as server:
        words = [sys.executable, "-c", LOGGED, str(log), "--workspace", str(workspace)]
        done = subprocess.run(
            [*words, *generate(server)],
            env=environment(PSYCHEMME_API_KEY=KEY, OPENAI_LOG="debug"),
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == (1 if fault == "unauthorized" else 0), done.stderr
        assert all(call.authorization == f"Bearer {KEY}" for call in server.calls)
    assert log.stat().st_size > 0
    assert KEY.encode() not in done.stdout + done.stderr
    for file in workspace.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
