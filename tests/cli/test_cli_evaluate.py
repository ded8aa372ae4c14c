"""evaluate, judge, score and compare as their users run them, and killed at any point."""

import json
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import SAMPLE, command, environment, run
from tests.support.model_server import ModelServer
from tests.support.releases import make_release

KEY = "sk-test-0123456789"
CONCURRENCY = 8
BASELINES = ("random", "majority-position", "most-frequent", "longest-option", "signal")


def cli(folder: Path, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    return run(folder, *words, expect=expect, PSYCHEMME_API_KEY=KEY)


def asked(release: Path, out: Path, server: ModelServer, *more: str) -> tuple[str, ...]:
    words = ("evaluate", str(release), "--model", "served", "--condition", "asr-only")
    options = ("--out", str(out), "--base-url", server.url, "--concurrency", str(CONCURRENCY))
    return (*words, *options, *more)


def folder_of(out: Path) -> Path:
    return out / "synthetic-served-asr-only"


def judged(out: Path, server: ModelServer) -> tuple[str, ...]:
    words = ("judge", str(folder_of(out)), "--model", "judge", "--base-url", server.url)
    return (*words, "--concurrency", str(CONCURRENCY))


def scores(folder: Path, out: Path) -> str:
    return cli(folder, "score", str(folder_of(out)), "--json", "--intervals").stdout


def kill_when(words: tuple[str, ...], folder: Path, seen: int, server: ModelServer) -> None:
    running = subprocess.Popen(
        command(folder, *words),
        env=environment(PSYCHEMME_API_KEY=KEY),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(server.calls) < seen and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()


def repeated(server: ModelServer) -> int:
    hashes = [call.hash for call in server.calls]
    return len(hashes) - len(set(hashes))


def test_baselines_are_evaluated_scored_and_compared(tmp_path: Path) -> None:
    release, out = make_release(tmp_path / "release", 24), tmp_path / "runs"
    models = [word for name in BASELINES for word in ("--model", name)]
    cli(tmp_path, "evaluate", str(release), *models, "--out", str(out))
    folders = sorted(str(path) for path in out.iterdir())
    assert len(folders) == len(BASELINES)
    printed = cli(tmp_path, "score", *folders, "--allow-unscored", "--json").stdout
    found: list[dict[str, Any]] = json.loads(printed)["runs"]
    assert {one["model"] for one in found} == set(BASELINES)
    for one in found:
        assert set(one) - {"unscored", "raw_bounds", "verified_bounds"} == {
            "model", "condition", "n", "raw", "verified", "capabilities", "failures",
        }  # fmt: skip
        assert one["n"] == sum(capability["n"] for capability in one["capabilities"].values())
    assert "Raw by capability" in cli(tmp_path, "score", *folders, "--allow-unscored").stdout
    shown = cli(tmp_path, "compare", *folders[:2], "--json").stdout
    assert json.loads(shown)["n"] == 24


def test_judge_and_score_a_run(tmp_path: Path) -> None:
    release, out = make_release(tmp_path / "release", 24), tmp_path / "runs"
    with ModelServer() as server:
        cli(tmp_path, *asked(release, out, server))
        held = cli(tmp_path, *asked(release, out, server), expect=1)
        assert "--resume" in held.stderr
        missing = cli(tmp_path, "score", str(folder_of(out)), expect=1)
        assert "unscored (not_judged" in missing.stderr
        cli(tmp_path, *judged(out, server))
    (one,) = json.loads(scores(tmp_path, out))["runs"]
    assert one["verified"] <= one["raw"]
    assert set(one["capabilities"]) == set("GWNTSAMR")
    elsewhere = cli(
        tmp_path, "score", "--json", "--intervals", "--release", str(release),
        "--responses", str(folder_of(out) / "responses.jsonl"),
        "--judgements", str(folder_of(out) / "judgements.jsonl"),
    ).stdout  # fmt: skip
    assert elsewhere == scores(tmp_path, out)
    for file in out.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("score", "nowhere"), "is not a run"),
        (("evaluate", "nowhere", "--model", "random"), "public"),
        (("evaluate", "release", "--model", "random", "--condition", "half"), "condition"),
        (("evaluate", "release", "--model", "random", "--history", "old"), "mismatched:SEED"),
        (("evaluate", "release", "--model", "nobody"), "episodes cannot be shown"),
        (
            ("evaluate", "release", "--model", "nobody", "--condition", "asr-only"),
            "PSYCHEMME_BASE_URL",
        ),
    ],
)
def test_bad_input_is_named_without_a_traceback(
    tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    make_release(tmp_path / "release", 4)
    named = [str(tmp_path / word) if word in ("release", "nowhere") else word for word in words]
    if named[0] == "evaluate":
        named += ["--out", str(tmp_path / "runs")]
    failed = cli(tmp_path, *named, expect=1)
    assert problem in failed.stderr
    assert "Traceback" not in failed.stderr


def test_frames_of_real_clips_are_sent(tmp_path: Path) -> None:
    import hashlib

    sha256 = hashlib.sha256((SAMPLE / "ladder.mp4").read_bytes()).hexdigest()
    release = make_release(tmp_path / "release", 3, clip="ladder.mp4", sha256=sha256)
    out = tmp_path / "runs"
    with ModelServer() as server:
        cli(
            tmp_path, "evaluate", str(release), "--model", "served", "--media", str(SAMPLE),
            "--frames", "4", "--out", str(out), "--base-url", server.url,
        )  # fmt: skip
        parts = server.calls[0].body["messages"][1]["content"]
    assert sum(part["type"] == "image_url" for part in parts) == 4
    lines = (out / "synthetic-served-full_frames-4" / "responses.jsonl").read_text().splitlines()
    media = json.loads(lines[0])["sent"]["media"]
    assert [round(part["time"]) for part in media] == [0, 5, 10, 15]


def test_ctrl_c_drains_and_resumes(tmp_path: Path) -> None:
    release, out = make_release(tmp_path / "release", 40), tmp_path / "runs"
    with ModelServer(delay=0.1) as server:
        running = subprocess.Popen(
            command(tmp_path, *asked(release, out, server)),
            env=environment(PSYCHEMME_API_KEY=KEY),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(server.calls) < 12:
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 3
        assert len(server.calls) < 40
        cli(tmp_path, *asked(release, out, server, "--resume"))
        assert repeated(server) == 0
        assert len(server.calls) == 40


@cache
def uninterrupted(count: int) -> str:
    """Return the scores of a run that nothing interrupted."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        folder = Path(name)
        release, out = make_release(folder / "release", count), folder / "runs"
        cli(folder, *asked(release, out, server))
        cli(folder, *judged(out, server))
        return scores(folder, out)


SLOW = [
    pytest.param(count, n, marks=pytest.mark.slow)
    for count, n in ((60, 25), (60, 80), *((500, n) for n in range(20, 980, 48)))
]


@pytest.mark.parametrize(("count", "seen"), SLOW)
def test_kill_and_resume(tmp_path: Path, count: int, seen: int) -> None:
    """Kill evaluation, or judging where `seen` calls lie past it; the scores do not change."""
    release, out = make_release(tmp_path / "release", count), tmp_path / "runs"
    with ModelServer(delay=0.01) as server:
        kill_when(asked(release, out, server), tmp_path, seen, server)
        if seen > count:
            kill_when(judged(out, server), tmp_path, seen, server)
        cli(tmp_path, *asked(release, out, server, "--resume"))
        cli(tmp_path, *judged(out, server))
        assert repeated(server) <= CONCURRENCY
    assert scores(tmp_path, out) == uninterrupted(count)
