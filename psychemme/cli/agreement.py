"""`psychemme agreement`."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from psychemme.cli.app import (
    JsonOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)


@app.command()
def agreement(
    file: Annotated[
        Path | None,
        typer.Option(
            help="Ratings as JSON Lines: item, reviewer, dimension, capability, value, options, "
            "replaced.  [default: the workspace's]"
        ),
    ] = None,
    set_names: Annotated[
        list[str] | None,
        typer.Option("--set", help="Only this set; may be given again.  [default: all]"),
    ] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Show how far reviewers agree: raw, Krippendorff's alpha with interval, Gwet's AC1, MASI."""
    from construction.review import agreement_views as views
    from construction.review.agreement import agreement as compute
    from construction.review.ratings import read_ratings_file
    from construction.review.votes import read_ratings
    from construction.workspace import open_workspace

    if file is not None:
        ratings = read_ratings_file(file)
    else:
        ratings = read_ratings(open_workspace(workspace_root(workspace)).database, set_names or ())
    report = compute(ratings)
    if json:
        print_json(views.agreement_json(report))
        return
    for name, rows in groupby(views.agreement_table(report), key=itemgetter(0)):
        columns = zip(views.TABLE_COLUMNS, *rows, strict=True)
        out.print(_table(name, [column for column in columns if any(column[1:])][1:]))
    for reason, text in views.undefined_reasons(report).items():
        out.print(f"{reason}: {text}")
    out.print(
        "Fractions of 1. Items: rated by two reviewers or more. MASI: mean distance of two sets."
    )
    if report.n_replaced:
        out.print(
            f"{report.n_replaced} of {report.n_items} items rated are versions replaced by an edit."
        )
    out.print(f"95%: interval of alpha, items redrawn {report.draws} times.")


def _table(title: str, columns: Sequence[Sequence[str]]) -> Table:
    table = Table(
        *(header for header, *_ in columns),
        title=title,
        box=SIMPLE,
        pad_edge=False,
        collapse_padding=True,
    )
    for row in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*map(plain, row))
    return table
