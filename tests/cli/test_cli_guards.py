"""What a curator must not be let into: empty runs, borrowed footage, two runs at once."""

import os
import shutil
from pathlib import Path
from socket import gethostname

import pytest

from tests.support.commands import read, run
from tests.support.holders import holder


def plan(folder: Path, text: str) -> str:
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_a_start_that_fails_leaves_no_run_behind(workspace: Path) -> None:
    run(workspace, "generate", "--model", "nobody", "--count", "2", expect=1)
    run(workspace, "generate", "--model", "signal", "--count", "2")
    assert read(workspace, "coverage")["totals"]["started"] == 2


def test_zero_output_is_an_error_with_its_cause(workspace: Path, tmp_path: Path) -> None:
    nowhere = plan(
        tmp_path,
        "targets: [{capability: G, format: single, source_group: nowhere, count: 3}]\ntotal: 3\n",
    )
    words = ("generate", "--model", "signal", "--plan", nowhere)
    failed = run(workspace, *words, "--until-covered", expect=1)
    assert "G single nowhere: infeasible (no_episode)" in failed.stderr
    run(workspace, "generate", "--model", "signal", "--count", "2", "--fresh")


def test_a_run_that_comes_up_short_says_which_cells_and_why(
    workspace: Path, tmp_path: Path
) -> None:
    short = plan(
        tmp_path,
        "targets: [{capability: W, format: open, count: 3}]\ntotal: 3\n"
        "sampling: {batch: 2, close_after: 4}\n",
    )
    done = run(workspace, "generate", "--model", "signal", "--plan", short, "--until-covered")
    assert "Not met: W open: infeasible (no_acceptance)." in done.stdout


@pytest.mark.parametrize("verb", [("prepare",), ("generate", "--model", "signal", "--count", "1")])
def test_one_process_at_a_time_and_the_second_names_the_holder(
    workspace: Path, verb: tuple[str, ...]
) -> None:
    with holder(workspace / "state.db", "prepare") as other:
        refused = run(workspace, *verb, expect=1)
        held = f"in use by `psychemme prepare`, process {other.pid} on host {gethostname()}, since "
        assert held in refused.stderr
        other.kill()
        other.join()
        run(workspace, *verb)


@pytest.mark.slow
def test_a_clip_that_changed_is_neither_asked_about_nor_shown(
    sample_clips: Path, tmp_path: Path
) -> None:
    workspace, own = tmp_path / "workspace", tmp_path / "own"
    own.mkdir()
    for name in ("desk", "ladder"):
        for suffix in (".mp4", ".srt"):
            shutil.copy(sample_clips / f"{name}{suffix}", own)
    run(workspace, "init", "--demo-key")
    run(workspace, "clips", "add", str(own))
    run(workspace, "prepare")
    run(workspace, "generate", "--model", "signal", "--count", "12")
    shutil.copy(own / "ladder.mp4", own / "desk.mp4")
    page = run(workspace, "report", "--out", str(tmp_path / "page")).stdout
    assert "index.html" in page
    assert len(list((tmp_path / "page" / "media").glob("*.mp4"))) == 1
    run(workspace, "prepare")
    changed = next(c for c in read(workspace, "clips", "list") if c["path"].endswith("desk.mp4"))
    assert changed["status"] == "refused"
    run(workspace, "generate", "--model", "signal", "--count", "12", "--fresh")
    asked = read(workspace, "candidates", "list", "--run", "2")
    assert asked
    assert not any(c["episode_id"].startswith(changed["id"]) for c in asked)


def test_a_key_that_is_none_is_refused(workspace: Path) -> None:
    for text in ("", "zz", "00" * 8):
        (workspace / "shuffle.key").write_text(text)
        failed = run(workspace, "generate", "--model", "signal", "--count", "1", expect=1)
        assert "64 hex digits" in failed.stderr


def test_one_bad_file_stops_no_other(sample_clips: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    os.mkfifo(own / "a pipe.mp4")
    (own / "b gone.mp4").symlink_to(tmp_path / "nothing")
    Path(os.fsdecode(os.fsencode(own) + b"/c \xff.mp4")).write_bytes(b"x")
    shutil.copy(sample_clips / "desk.mp4", own / "d.mp4")
    workspace = tmp_path / "workspace"
    run(workspace, "init")
    done = run(workspace, "clips", "add", str(own), expect=1)
    assert done.stdout.count("refused") == 3
    assert "every other clip was added" in done.stderr
    assert [Path(c["path"]).name for c in read(workspace, "clips", "list")] == ["d.mp4"]


def test_a_database_that_cannot_be_used_is_named(workspace: Path) -> None:
    (workspace / "state.db").write_bytes(b"not a database" * 1000)
    failed = run(workspace, "clips", "list", expect=1)
    assert "database cannot be used" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_show_takes_the_start_of_an_id(workspace: Path) -> None:
    run(workspace, "generate", "--model", "signal", "--count", "3")
    one = read(workspace, "candidates", "list")[0]
    assert read(workspace, "candidates", "show", one["id"][:10])["outcome"]["state"] == one["state"]
    run(workspace, "candidates", "list", "--state", "acepted", expect=2)
