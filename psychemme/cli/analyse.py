"""`psychemme analyse`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychemme.cli.app import JsonOption, WorkspaceOption, app, out, plain, print_json
from psychemme.cli.runs_given import (
    ClassifierOption,
    ErrorsOption,
    JudgementsOption,
    OptionalRunsArgument,
    PeopleOption,
    ResponsesOption,
    error_files,
    read_given,
)
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption
from psychemme.cli.tables import new_table, print_table

if TYPE_CHECKING:
    from evaluation.report.formats import Table

LONGEST_PRINTED = 60
"""Rows."""


@app.command()
def analyse(
    name: Annotated[str | None, typer.Argument(help="The analysis; --list names them.")] = None,
    runs: OptionalRunsArgument = None,
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
    find(name)
    from evaluation.report.analyses import analysed, make_study, runs_for, write_analysis

    found, read = read_given(runs, release, responses, judgements, workspace, judge, repeat)
    sorted_by = (error_files(runs, errors), classifier)
    study = make_study(found, read, people or (), *sorted_by, draws=draws, seed=seed)
    # Whoever names folders has chosen; a file holds whatever was asked.
    chosen = {run.name for run in read} if runs else set()
    chosen |= {run.name for run in runs_for(name, study.runs) if not runs or run.is_from_file}
    taken = tuple(run for run in study.runs if run.name in chosen)
    analysis = analysed(name, replace(study, runs=taken))
    write_analysis(analysis, out_dir / f"{name}-tables", out_dir)
    if json:
        print_json(analysis.model_dump(mode="json", exclude={"drawings"}))
        return
    for table in analysis.tables:
        _print(table)
    out.print(f"One observation is {plain(analysis.unit)}.", soft_wrap=True)
    out.print(f"Rates are over {plain(analysis.denominator)}.", soft_wrap=True)
    for note in analysis.notes:
        out.print(plain(note), soft_wrap=True)
    if left_out := [run.name for run in read if run.name not in analysis.runs]:
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
