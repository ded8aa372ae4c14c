"""Work that crashes, hangs or fails costs its own task only."""

import os
import time

import pytest

from psychemme.media.isolation import Task, run_isolated

WORK = """
import ctypes, os, time

def work(kind, extend):
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "exit":
        os._exit(3)
    if kind == "fail":
        raise ValueError("no such thing")
    if kind == "unpicklable":
        return lambda: None
    if kind == "patient":
        extend(30)
        time.sleep(3.5)
    if kind.startswith("hang"):
        with open(kind[5:] or os.devnull, "w") as file:
            file.write(str(os.getpid()))
        time.sleep(1000)
    return kind.upper()
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "isolated_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    import isolated_work

    yield isolated_work.work
    monkeypatch.delitem(__import__("sys").modules, "isolated_work")


def test_each_task_has_its_own_outcome(work):
    kinds = ["crash", "good", "exit", "fail", "unpicklable", "hang", "patient"]
    tasks = [Task(kind, (kind,), limit=2.5) for kind in kinds]
    outcomes = {o.key: o for o in run_isolated(work, tasks, workers=2)}
    assert set(outcomes) == set(kinds)
    assert outcomes["good"].result == "GOOD"
    assert outcomes["patient"].result == "PATIENT"
    assert "exit code -11" in outcomes["crash"].fault
    assert "exit code 3" in outcomes["exit"].fault
    assert outcomes["fail"].fault == "ValueError: no such thing"
    assert "longer" in outcomes["hang"].fault
    assert outcomes["unpicklable"].fault


def test_closing_kills_what_runs(work, tmp_path):
    note = tmp_path / "pid"
    tasks = [Task("hang", (f"hang-{note}",), 60), Task("good", ("good",), 60)]
    outcomes = run_isolated(work, tasks, workers=2)
    assert next(outcomes).key == "good"
    deadline = time.monotonic() + 20
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    outcomes.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_no_tasks_no_outcomes(work):
    assert list(run_isolated(work, [], workers=4)) == []
