"""`psychemme judge`."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from psychemme.cli.app import app, out, plain
from psychemme.cli.running import progress_bar, shown_on, stop_on_signals, stopped
from psychemme.errors import Stopped

_AGAIN = "Run it again to go on; finished work is kept."


@app.command()
def judge(
    run: Annotated[list[Path], typer.Argument(help="Run folders.")],
    model: Annotated[list[str], typer.Option(help="Judge; may be given again.")],
    repeats: Annotated[int, typer.Option(min=1, help="How often each response is judged.")] = 1,
    release: Annotated[
        Path | None, typer.Option(help="The release.  [default: where the run found it]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight at once.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Stop at so many US dollars.")] = None,
) -> None:
    """Have a judge label the responses of runs; what is labelled already is left alone."""
    flags = {"base_url": base_url, "concurrency": concurrency}
    asyncio.run(_judge(run, model, repeats, release, flags, budget))


async def _judge(
    folders: list[Path],
    judges: list[str],
    repeats: int,
    release: Path | None,
    flags: dict[str, Any],
    budget: float | None,
) -> None:
    from evaluation.judging import judging
    from psychemme.clients.cards import load_cards
    from psychemme.config import load_settings

    stop = stop_on_signals()
    effective, cards = load_settings(Path(), flags), load_cards(Path())
    left = 0
    with progress_bar("judge") as bar:
        for folder in folders:
            for name in judges:
                opened = judging(folder, name, repeats, effective, cards, stop, release, budget)
                async with opened as job:
                    job.report = shown_on(bar, f"{folder.name} by {name}")
                    try:
                        done = await job.finish()
                    except Stopped as stop_:
                        problem = str(stop_) or "Stopped with work left."
                        raise stopped(problem, _AGAIN) from None
                left += done.planned - done.settled
                failures = ", ".join(f"{r} {n}" for r, n in sorted(done.failures.items())) or "none"
                out.print(
                    f"{plain(str(folder))} by {plain(name)}: planned {done.planned}  "
                    f"judged {done.settled}  failures: {plain(failures)}",
                    soft_wrap=True,
                )
    if left:
        raise stopped(f"{left} responses are not judged.", _AGAIN)
