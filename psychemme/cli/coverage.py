"""`psychemme coverage`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

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


@app.command()
def coverage(
    workspace: WorkspaceOption = None,
    run: RunOption = None,
    plan: Annotated[
        Path | None, typer.Option(help="Plan to count against.  [default: the run's own]")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show targets, attempts, accepted, discarded, failed, yield and deficit of every cell."""
    from construction.overview import read_coverage
    from construction.workspace import open_workspace

    report = read_coverage(open_workspace(workspace_root(workspace)).database, run, plan)
    shown = report.to_json()
    if json:
        print_json(shown)
        return
    out.print(coverage_table(shown))
    out.print("  ".join(f"{name} {count}" for name, count in shown["totals"].items()))
    if report.reasons:
        reasons = sorted(report.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        out.print("discarded by reason: " + ", ".join(f"{plain(r)} {n}" for r, n in reasons))


def coverage_table(shown: dict[str, list[dict[str, object]]]) -> Table:
    """Return the cells of a coverage report as a table."""
    names = ("capability", "format", "source_group", "duration_band", "target", "attempts")
    columns = (*names, "accepted", "discarded", "failed", "yield", "deficit")
    table = Table(*(name.replace("_", " ") for name in columns), title="Coverage")
    for cell in shown["cells"]:
        table.add_row(*(_text(cell[name]) for name in columns))
    return table


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "" if value is None else plain(str(value))
