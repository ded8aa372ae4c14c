"""The line that `generate` shows while it works."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from psychemme.cli.app import err
from psychemme.cli.costs import money

_COSTS_EVERY_S = 2.0


@contextmanager
def run_progress(
    total: int | None, costs: Callable[[], tuple[int, float | None]]
) -> Iterator[Callable[[Any], None]]:
    """Yield what shows a tally: counts, rate, remaining time, tokens and cost so far.

    `costs` sums the whole ledger, and so is asked every two seconds at most.
    """
    began = time.monotonic()
    before: int | None = None
    last: Any = None
    spent, read_at = costs(), began
    columns = (
        TextColumn("generate"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("", total=total)

        def show(tally: Any) -> None:  # noqa: ANN401
            nonlocal before, last, spent, read_at
            last = tally
            now = time.monotonic()
            if now - read_at >= _COSTS_EVERY_S:
                spent, read_at = costs(), now
            done = tally.started - tally.pending
            before = done if before is None else before
            rate = 60 * (done - before) / max(now - began, 1e-3)
            progress.update(
                task,
                completed=done,
                description=f"accepted {tally.accepted} discarded {tally.discarded} "
                f"failed {tally.failed}  {rate:.0f}/min  {spent[0]} tokens  cost {money(spent[1])}",
            )

        try:
            yield show
        finally:
            read_at = float("-inf")
            if last is not None:
                show(last)
