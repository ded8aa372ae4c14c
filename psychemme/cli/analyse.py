"""`psychemme analyse`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychemme.cli.app import JsonOption, WorkspaceOption, app, out, plain, print_json
from psychemme.cli.runs_given import (
    ClassifierOption,
    ErrorsOption,
    JudgementsOption,
    PeopleOption,
    ResponsesOption,
    error_files,
    read_given,
)
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption
from psychemme.cli.tables import new_table, print_table

if TYPE_CHECKING:
    from evaluation.analyses.values import Analysis
    from evaluation.report.formats import Table

LONGEST_PRINTED = 60
"""Rows."""


@app.command()
def analyse(
    name: Annotated[str | None, typer.Argument(help="The analysis; --list names them.")] = None,
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders.")] = None,
    release: ReleaseOption = None,
    responses: ResponsesOption = None,
    judgements: JudgementsOption = None,
    people: PeopleOption = None,
    errors: ErrorsOption = None,
    classifier: ClassifierOption = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for tables and drawings.")] = Path(
        "analyses"
    ),
    draws: Annotated[int, typer.Option(min=1, help="Draws of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 42,
    listed: Annotated[bool, typer.Option("--list", help="Name the analyses.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Run one of the paper's analyses over runs, or over responses made elsewhere."""
    from evaluation.analyses.registry import ANALYSES, find

    if listed or name is None:
        _print_list({key: entry.line for key, entry in ANALYSES.items()}, json)
        return
    analysed = find(name)
    from evaluation.report.analyses import make_study, runs_for, write_analysis

    found, read = read_given(runs, release, responses, judgements, workspace, judge, repeat)
    # Whoever names folders has chosen; a file holds whatever was asked.
    taken = read if runs else list(runs_for(name, read))
    sorted_by = (error_files(runs, errors), classifier)
    study = make_study(found, taken, people or (), *sorted_by, draws=draws, seed=seed)
    analysis = analysed(study)
    write_analysis(analysis, out_dir / f"{name}-tables", out_dir)
    if json:
        print_json(_as_json(analysis, [run.name for run in taken]))
        return
    for table in analysis.tables:
        _print(table)
    out.print(f"One observation is {plain(analysis.unit)}.", soft_wrap=True)
    out.print(f"Rates are over {plain(analysis.denominator)}.", soft_wrap=True)
    for note in analysis.notes:
        out.print(plain(note), soft_wrap=True)
    kept = {run.name for run in taken}
    if left_out := [run.name for run in read if run.name not in kept]:
        out.print(f"Not part of it: {plain(', '.join(left_out))}.", soft_wrap=True)
    out.print(f"Tables and drawings: {plain(str(out_dir))}", soft_wrap=True)


def _print_list(lines: dict[str, str], json: bool) -> None:
    if json:
        print_json({"analyses": lines})
        return
    table = new_table("analysis", "of")
    for name, line in lines.items():
        table.add_row(name, line)
    print_table(table)


def _print(table: "Table") -> None:
    from evaluation.report.formats import text

    if len(table.rows) > LONGEST_PRINTED:
        out.print(f"{plain(table.title)}: {len(table.rows)} rows, in its file", soft_wrap=True)
        return
    shown = new_table(*map(plain, table.columns), title=plain(table.title))
    for row in table.rows:
        shown.add_row(*(plain(text(cell)) for cell in row))
    print_table(shown)
    out.print(plain(table.note), soft_wrap=True)


def _as_json(analysis: "Analysis", runs: list[str]) -> dict[str, Any]:
    """Return the analysis without its drawings; figures are fractions."""
    return {"runs": runs} | analysis.model_dump(mode="json", exclude={"drawings"})
