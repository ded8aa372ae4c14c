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

_HEADERS = {
    "capability": "cap.",
    "format": "format",
    "source_group": "source",
    "duration_band": "band",
    "target": "target",
    "attempts": "tried",
    "accepted": "acc.",
    "discarded": "disc.",
    "failed": "fail.",
    "yield": "yield",
    "deficit": "deficit",
}


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
    """Return the cells of a coverage report as a table; empty cells and columns are left out."""
    cells = [
        cell for cell in shown["cells"] if cell["target"] or cell["attempts"] or cell["failed"]
    ]
    headers = dict(_HEADERS)
    for place in ("source_group", "duration_band"):
        if all(cell[place] == "*" for cell in cells):
            del headers[place]
    table = Table(*headers.values(), title="Coverage")
    for cell in cells:
        table.add_row(*(_text(cell[name]) for name in headers))
    return table


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "" if value is None else plain(str(value))
