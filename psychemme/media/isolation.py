"""Run work on untrusted files in processes of its own, each with a time limit.

A decoder that hangs or crashes on one file then costs that file only.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Extend = Callable[[float], None]
"""Called by the work with the seconds it may take from now on."""

_GRACE_S = 5
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Task(Generic[Key]):
    """Arguments for one call and the seconds it may take unless it asks for more."""

    key: Key
    arguments: tuple[Any, ...]
    limit: float


@dataclass(frozen=True)
class Outcome(Generic[Key]):
    """What became of a task: its result, or the fault that ended its process."""

    key: Key
    result: Any = None
    fault: str | None = None


@dataclass
class _Running(Generic[Key]):
    task: Task[Key]
    process: SpawnProcess
    inbox: Connection
    deadline: float


def run_isolated(
    work: Callable[..., Any], tasks: Iterable[Task[Key]], workers: int
) -> Iterator[Outcome[Key]]:
    """Yield outcomes as they come from `work(*arguments, extend)`, `workers` at a time.

    `work` is a module-level function; arguments and result are pickled. Closing the iterator kills
    what runs, and the processes end with this one.
    """
    waiting = iter(tasks)
    running: list[_Running[Key]] = []
    try:
        while True:
            while len(running) < max(1, workers) and (task := next(waiting, None)) is not None:
                running.append(_start(work, task))
            if not running:
                return
            remaining = min(one.deadline for one in running) - time.monotonic()
            wait([one.inbox for one in running], timeout=max(0.0, remaining))
            for one in list(running):
                if outcome := _look(one):
                    running.remove(one)
                    yield outcome
    finally:
        for one in running:
            _end(one)


def _start(work: Callable[..., Any], task: Task[Key]) -> _Running[Key]:
    inbox, outbox = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_child, args=(work, task.arguments, outbox), daemon=True)
    process.start()
    outbox.close()
    return _Running(task, process, inbox, time.monotonic() + task.limit)


def _look(one: _Running[Key]) -> Outcome[Key] | None:
    """Return how the task ended, or None while it runs."""
    if one.inbox.poll():
        try:
            kind, value = one.inbox.recv()
        except (EOFError, OSError):  # ended without a word, or in the middle of one
            one.process.join(timeout=_GRACE_S)
            fault = f"its process ended with exit code {one.process.exitcode}"
            _end(one)
            return Outcome(one.task.key, fault=fault)
        if kind == "limit":
            one.deadline = time.monotonic() + value
            return None
        one.process.join(timeout=_GRACE_S)  # killed at once, it would leave its semaphores behind
        _end(one)
        is_result = kind == "result"
        return Outcome(one.task.key, value if is_result else None, None if is_result else value)
    if time.monotonic() < one.deadline:
        return None
    _end(one)
    return Outcome(one.task.key, fault="it took longer than its length allows")


def _end(one: _Running[Key]) -> None:
    one.process.kill()
    one.process.join()
    one.inbox.close()


def _child(work: Callable[..., Any], arguments: tuple[Any, ...], outbox: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        result = work(*arguments, lambda seconds: outbox.send(("limit", seconds)))
    except Exception as error:  # noqa: BLE001 - any fault is this task's outcome, not the run's
        outbox.send(("fault", f"{type(error).__name__}: {error}"))
    else:
        outbox.send(("result", result))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
