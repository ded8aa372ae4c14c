"""Runs to crash, on either engine: their workspace, their faults, and what they left behind."""

import itertools
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Engine, event, select
from sqlmodel import SQLModel

from state.address import Address
from state.clips import ClipStore
from state.engines import open_engine
from state.roles import DbRole
from state.values import EpisodeRecord
from tests.support.states import CLIP, EPISODE

COUNT, CONCURRENCY = 20, 4
KEY = "sk-test-0123456789"
CALLS = {"question_calls": "question", "answer_calls": "answer", "critic_calls": "critic"}
_LIVE = {"leases"}
"""Tables of who is at work, not of what was done."""

Row = dict[str, Any]
Contents = dict[str, list[Row]]


def fill(root: Path, database: Address) -> None:
    """Write a plan for `COUNT` candidates into a workspace, and the clips that it needs."""
    kinds = (("G", "single", 8), ("T", "multiple", 6), ("S", "open", 6))
    plan = {
        "total": COUNT,
        "targets": [dict(zip(("capability", "format", "count"), k, strict=True)) for k in kinds],
        "sampling": {"batch": 4, "lag": 2, "per_episode": COUNT, "close_after": COUNT},
    }
    (root / "plan.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    with ClipStore(database) as clips:
        for number in range(4):
            name = f"{number:016x}"
            clip = CLIP.model_copy(
                update={
                    "id": name, "sha256": name * 4, "source_video_id": name,
                    "recording_group": name,
                }
            )  # fmt: skip
            clips.put_clip(clip)
            whole = EpisodeRecord(
                id=f"{name}-0-20000", clip_id=name, preparation=1, start=0.0, end=20.0,
                content=EPISODE,
            )  # fmt: skip
            clips.save_preparation(clip, 1, "hash", "sidecar", {}, [whole])


def generate(root: Path, url: str, *words: str) -> tuple[str, ...]:
    """Return the words that start the run."""
    of_run = ("--plan", str(root / "plan.yaml"), "--concurrency", str(CONCURRENCY))
    return ("generate", "--model", "served", "--base-url", url, *of_run, *words)


def contents(database: Address) -> Contents:
    """Return every row of every table, in one order; without when, and how long it took."""
    engine = open_engine(database, DbRole.CURATOR)
    found = {}
    with engine.connect().execution_options(write=False) as connection:
        for table in SQLModel.metadata.sorted_tables:
            if table.name in _LIVE:
                continue
            kept = [c for c in table.c if not c.name.endswith("_at") and c.name != "latency"]
            rows = connection.execute(select(*kept)).mappings()
            found[table.name] = sorted(map(dict, rows), key=repr)
    engine.dispose()
    return found


def faults(held: Contents) -> list[str]:
    """Return what cannot be in a database that every transaction left whole."""
    steps = {(*_place(row), row["step"]) for row in held["steps"]}
    proposed = {_place(r) for r in held["steps"] if r["outcome"] == "proposed"}
    calls = {
        (*_place(row), role, row["attempt"]) for table, role in CALLS.items() for row in held[table]
    }
    results = {"propose": "question", "answer": "answer", "critique": "critic"}
    claims = {
        "candidates have outcomes": _keys(held, "candidates") == _keys(held, "outcomes"),
        "questions have steps": _places(held, "questions") == proposed,
        "questions have references": _places(held, "reference_answers") == proposed,
        "cues have questions": _places(held, "cues") <= proposed,
        "answers have steps": _places(held, "independent_answers") == _done(held, "answer"),
        "critiques have steps": _places(held, "critiques") == _done(held, "critique"),
        "calls have costs": len(held["ledger"]) == len(calls)
        and calls == {(*_place(r), r["role"], r["attempt"]) for r in held["ledger"]},
        "steps have calls": all(
            any((*place, results[step], n) in calls for n in range(3))
            for *place, step in steps
            if step in results
        ),
        "feedback has a route": {
            (key, at - 1, "route")
            for table in ("question_feedback", "answer_feedback")
            for key, at in _places(held, table)
        }
        <= steps,
    }
    return [claim for claim, holds in claims.items() if not holds]


def _place(row: Row) -> tuple[str, int]:
    return row["candidate_key"], row["round"]


def _places(held: Contents, table: str) -> set[tuple[str, int]]:
    return set(map(_place, held[table]))


def _done(held: Contents, step: str) -> set[tuple[str, int]]:
    return {_place(row) for row in held["steps"] if row["step"] == step}


def _keys(held: Contents, table: str) -> set[str]:
    column = "key" if table == "candidates" else "candidate_key"
    return {row[column] for row in held[table]}


def count_points(file: Path) -> None:
    """Write to `file`, one byte each, the points at which the process could be killed."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    _at_each_point(lambda: os.write(handle, b"."))


def kill_at(point: int) -> None:
    """Kill this process before the statement or commit of that number, counted from 0."""
    numbers = itertools.count()

    def count() -> None:
        if next(numbers) == point:
            os.kill(os.getpid(), signal.SIGKILL)

    _at_each_point(count)


def _at_each_point(act: Callable[[], object]) -> None:
    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, lambda *_, **__: act())


def fill_up(pages: int) -> None:
    """Give every SQLite database that this process opens `pages` pages, as on a full disk."""

    def connect(dialect: Any, _record: object, arguments: Any, options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = dialect.connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    event.listen(Engine, "do_connect", connect)


def read_only() -> None:
    """Open every SQLite database of this process as one that cannot be written."""

    def connect(dialect: Any, _record: object, arguments: Any, options: Any) -> sqlite3.Connection:
        where = f"{Path(arguments[0]).as_uri()}?mode=ro"
        connection: sqlite3.Connection = dialect.connect(where, **options | {"uri": True})
        return connection

    event.listen(Engine, "do_connect", connect)
