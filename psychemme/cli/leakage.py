"""`psychemme leakage`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychemme.cli.app import (
    JsonOption,
    RunOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)
from psychemme.cli.costs import budget_note, money
from psychemme.cli.running import progress_bar, stop_on_signals, stopped
from psychemme.cli.tables import new_table, print_table
from psychemme.errors import Stopped

if TYPE_CHECKING:
    from rich.table import Table

    from construction.leakage.filtering import Done
    from construction.leakage.models import Wanted
    from construction.leakage.report import LeakageReport, ProbeRow

_AGAIN = "Run it again to go on; every reply is kept."


@app.command()
def leakage(
    workspace: WorkspaceOption = None,
    models: Annotated[
        str | None,
        typer.Option(help="Two models, A,B, that filter.  [default: show the newest filter]"),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="Model that judges open answers; without it they are not run."),
    ] = None,
    hold_out: Annotated[
        str | None,
        typer.Option(help="Model that never filtered: measures what the filter achieved."),
    ] = None,
    probes: Annotated[
        bool,
        typer.Option("--probes", help="Ask both by options alone and by the transcript as well."),
    ] = False,
    cues: Annotated[
        str | None,
        typer.Option(help="Model to answer with frames: whole, cues masked, and cues only."),
    ] = None,
    run: RunOption = None,
    plan: Annotated[
        Path | None, typer.Option(help="Plan file whose gates hold.  [default: each run's own]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Items in hand at once.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="US dollars that all filters here may spend; it can resume."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Answer equal requests from disk.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Filter items that two models answer without the footage; what is asked is kept."""
    from construction.endpoints import Spending
    from construction.leakage.models import Wanted
    from construction.leakage.report import read_report
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    if models is None and (dry_run or judge or hold_out or probes or cues):
        raise typer.BadParameter("say --models A,B")
    root = workspace_root(workspace)
    flags = {"base_url": base_url, "concurrency": concurrency, "plan": plan}
    opened, effective = open_workspace(root), load_settings(root, flags)
    wanted = None
    if models is not None:
        named = tuple(name.strip() for name in models.split(",") if name.strip())
        wanted = Wanted(named, judge, hold_out, probes, cues, run)
        if dry_run:
            _estimate(opened, effective, wanted, budget, json)
            return
        spending = Spending(budget=budget, cache=cache)
        asyncio.run(_filter(opened, effective, wanted, spending))
    report = read_report(opened, effective, wanted)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    _print(report)


def _estimate(
    opened: Any,  # noqa: ANN401
    effective: Any,  # noqa: ANN401
    wanted: "Wanted",
    budget: float | None,
    as_json: bool,
) -> None:
    from construction.leakage.estimate import estimate_leakage

    found = estimate_leakage(opened, effective, wanted)
    if as_json:
        rows = [vars(one) | {"expected": float(one.expected)} for one in found.models]
        totals = {"items": found.items, "calls": found.calls, "expected": found.expected}
        print_json(totals | {"models": rows})
        return
    table = new_table(
        "model", "calls at most", "if guessed", "tokens in", "at most", "if guessed",
        title="Estimate",
    )  # fmt: skip
    for one in found.models:
        costs = (money(one.cost), money(one.expected_cost))
        calls = (str(one.calls), f"{float(one.expected):.1f}", str(one.input_tokens))
        table.add_row(plain(one.model), *calls, *costs)
    print_table(table)
    out.print(f"items {found.items}  calls at most {found.calls}  if guessed {found.expected:.1f}")
    if budget is not None:
        note = budget_note(budget, found.spent, found.expected_cost, found.cost)
        out.print(note, soft_wrap=True)


async def _filter(opened: Any, effective: Any, wanted: "Wanted", spending: Any) -> None:  # noqa: ANN401
    from construction.leakage.filtering import filtering

    stop = stop_on_signals()
    with progress_bar("leakage") as bar:
        task = bar.add_task("", total=None)

        def show(done: "Done") -> None:
            text = f"cost {money(done.cost)}"
            bar.update(task, total=done.planned, completed=done.settled, description=text)

        async with filtering(opened, effective, wanted, stop, spending) as job:
            job.report = show
            try:
                await job.finish()
            except Stopped as why:
                raise stopped(str(why) or "Stopped with work left.", _AGAIN) from None


def _print(report: "LeakageReport") -> None:
    table = new_table(
        "cap.", "format", "before", "leaking", "after", "by guessing", "undecided", "not run",
        title="Composition",
    )  # fmt: skip
    for row in report.composition:
        expected = "-" if row.expected is None else f"{row.expected:.2f}"
        counts = map(str, (row.before, row.leaking, row.after))
        rest = map(str, (row.undecided, row.not_run))
        table.add_row(row.capability, row.format, *counts, expected, *rest)
    print_table(table)
    if report.probes:
        print_table(_accuracies(report.probes))
    out.print(
        f"models {plain(', '.join(report.models))}  items {report.items}  leaking {report.leaking} "
        f"(by guessing {report.expected:.2f})  passing {report.passing}  undecided "
        f"{report.undecided}  not run {report.not_run}  unreadable trials {report.failed}",
        soft_wrap=True,
    )
    for note in report.notes:
        out.print(plain(note), soft_wrap=True)


def _accuracies(rows: "tuple[ProbeRow, ...]") -> "Table":
    table = new_table(
        "probe", "model", "group", "right", "share", "95% interval", "by guessing", "unreadable",
        title="Right without the footage",
    )  # fmt: skip
    for row in rows:
        one = row.share
        low, high = one.low or 0.0, one.high or 0.0
        table.add_row(
            row.probe,
            plain(row.model),
            row.group,
            f"{one.count} of {one.of}",
            f"{one.rate or 0:.2f}",
            f"{low:.2f}-{high:.2f}",
            "-" if one.expected is None else f"{one.expected:.2f}",
            str(row.failed),
        )
    return table
