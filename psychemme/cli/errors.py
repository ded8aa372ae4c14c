"""`psychemme errors`."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychemme.cli.app import app, out, plain
from psychemme.cli.costs import money
from psychemme.cli.running import AGAIN, label_runs, stop_on_signals, stopped
from psychemme.cli.runs_given import RunsArgument
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption

if TYPE_CHECKING:
    from evaluation.classifying import Classifying


@app.command()
def errors(
    run: RunsArgument,
    model: Annotated[str, typer.Option(help="Model that sorts the failures.")],
    scheme: Annotated[
        str | None, typer.Option(help="Scheme of categories.  [default: cue-to-norm]")
    ] = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    release: ReleaseOption = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight at once.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Stop at so many US dollars.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")
    ] = False,
) -> None:
    """Have a model sort the failures of runs by kind; what is sorted already is left alone."""
    flags = {"base_url": base_url, "concurrency": concurrency}
    how = {"release": release, "budget": budget, "judge": judge, "repeat": repeat}
    if left := asyncio.run(_sort(run, model, scheme, flags, how, dry_run)):
        raise stopped(f"{left} failures are not sorted.", AGAIN)


async def _sort(
    folders: list[Path],
    model: str,
    scheme: str | None,
    flags: dict[str, Any],
    how: dict[str, Any],
    is_dry: bool,
) -> int:
    from evaluation.classifying import classifying
    from evaluation.error_categories import scheme as find_scheme
    from psychemme.clients.budget import Price
    from psychemme.clients.cards import load_cards
    from psychemme.config import load_settings

    stop, kinds = stop_on_signals(), find_scheme(scheme)
    effective, cards = load_settings(Path(), flags), load_cards(Path())

    def opened(folder: Path, name: str) -> "AbstractAsyncContextManager[Classifying]":
        return classifying(folder, name, kinds, effective, cards, stop, **how)

    if is_dry:
        price = cards.card_for(model).price
        for folder in folders:
            async with opened(folder, model) as job:
                found = job.estimate(Price(price.input, price.output) if price else None)
            out.print(
                f"{plain(str(folder))}: failures {found.failures}  calls {found.calls}  "
                f"tokens in about {found.input_tokens}  cost at most {money(found.cost)}",
                soft_wrap=True,
            )
        return 0
    return await label_runs("errors", folders, [model], opened, lambda job: job.finish(), _tell)


def _tell(folder: Path, name: str, job: "Classifying") -> None:
    done = job.progress
    faults = ", ".join(f"{r} {n}" for r, n in sorted(done.failures.items())) or "none"
    out.print(
        f"{plain(str(folder))} by {plain(name)}: failures {done.planned}  sorted {done.settled}  "
        f"without a category: {plain(faults)}",
        soft_wrap=True,
    )
