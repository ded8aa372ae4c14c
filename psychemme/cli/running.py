"""What the verbs that call models for a long time share: draining on Ctrl-C, and progress."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from psychemme.cli.app import STOPPED, err, plain
from psychemme.errors import Stopped

if TYPE_CHECKING:
    from evaluation.labelling import Labelling
    from evaluation.work import Progress as Done

AGAIN = "Run it again to go on; finished work is kept."

Job = TypeVar("Job", bound="Labelling[Any]")


def stop_on_signals() -> asyncio.Event:
    """Return an event that Ctrl-C and SIGTERM set; a second Ctrl-C ends at once."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _drain, stop)
    return stop


def progress_bar(verb: str) -> Progress:
    """Return a bar on standard error with rate, tokens and cost, and the time that is left."""
    return Progress(
        TextColumn(verb),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
    )


def shown_on(bar: Progress, name: str) -> "Callable[[Done], None]":
    """Return what shows a run's progress on `bar`."""
    task = bar.add_task("", total=None)
    began, before = time.monotonic(), -1

    def show(done: "Done") -> None:
        nonlocal before
        before = done.settled if before < 0 else before
        rate = 60 * (done.settled - before) / max(time.monotonic() - began, 1e-3)
        money = "unknown" if done.cost is None else f"${done.cost:.2f}"
        failed = sum(done.failures.values())
        text = f"{plain(name)}  failed {failed}  {rate:.0f}/min  {done.tokens} tokens  cost {money}"
        bar.update(task, total=done.planned, completed=done.settled, description=text)

    return show


async def label_runs(
    verb: str,
    folders: Sequence[Path],
    models: Sequence[str],
    opened: "Callable[[Path, str], AbstractAsyncContextManager[Job]]",
    work: "Callable[[Job], Awaitable[object]]",
    tell: "Callable[[Path, str, Job], None]",
) -> int:
    """Do `work` with every model on every run, `tell` how each ended, and return what is left."""
    left = 0
    with progress_bar(verb) as bar:
        for folder in folders:
            for name in models:
                async with opened(folder, name) as job:
                    job.report = shown_on(bar, f"{folder.name} by {name}")
                    try:
                        await work(job)
                    except Stopped as stop:
                        raise stopped(str(stop) or "Stopped with work left.", AGAIN) from None
                left += job.progress.planned - job.progress.settled
                tell(folder, name, job)
    return left


def stopped(problem: str, action: str) -> typer.Exit:
    """Print why work is left and what to do; return the exit to raise."""
    err.print(f"[bold red]stopped[/] {plain(problem)}", highlight=False, soft_wrap=True)
    err.print(plain(action), highlight=False, soft_wrap=True)
    return typer.Exit(STOPPED)


def _drain(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
    err.print("Stopping: calls in flight finish, no new one starts. Again to stop at once.")
    stop.set()
