"""`psychemme report`."""

from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import RunOption, WorkspaceOption, app, out, plain, workspace_root
from psychemme.cli.runs_given import (
    ClassifierOption,
    ErrorsOption,
    JudgementsOption,
    PeopleOption,
    ResponsesOption,
    each_once,
    error_files,
    read_given,
)
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption


@app.command()
def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run folders.  [default: the workspace's candidates]", callback=each_once
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    run: RunOption = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder to write.  [default: evaluation-report, or WORKSPACE/report]"
        ),
    ] = None,
    with_references: Annotated[
        bool,
        typer.Option(
            "--with-references", help="Show references, judge's words and item credit. Private."
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Add every analysis that applies to the runs.")
    ] = False,
    people: PeopleOption = None,
    errors: ErrorsOption = None,
    classifier: ClassifierOption = None,
    release: ReleaseOption = None,
    responses: ResponsesOption = None,
    judgements: JudgementsOption = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    allow_unscored: Annotated[
        bool,
        typer.Option("--allow-unscored", help="Show bounds where items could not be scored."),
    ] = False,
) -> None:
    """Write the evaluation report of runs, or without any the page of candidates (private)."""
    if not (runs or responses):
        _candidates(workspace, run, out_dir)
        return
    from evaluation.report.analyses import make_study, sections
    from evaluation.report.page import write_report
    from evaluation.score import FILL_FILES, FILL_RUN, refuse_unscored

    if (people or errors or classifier) and not full:
        raise typer.BadParameter("--people, --errors and --classifier are for --full")
    found, read = read_given(runs, release, responses, judgements, workspace, judge, repeat)
    if not allow_unscored:
        refuse_unscored([each.scored for each in read], FILL_RUN if runs else FILL_FILES)
    target = out_dir or Path("evaluation-report")
    sorted_by = (error_files(runs, errors), classifier)
    analysed = sections(make_study(found, read, people or (), *sorted_by)) if full else ()
    page = write_report(found, read, target, with_references=with_references, analysed=analysed)
    if absent := [one for one in analysed if one.left_out]:
        names = ", ".join(one.name for one in absent)
        reasons = plain(" ".join(dict.fromkeys(one.why for one in absent)))
        counts = f"{len(absent)} of {len(analysed)} analyses"
        out.print(f"Left out: {counts} ({names}). {reasons}", soft_wrap=True)
    out.print(f"Evaluation report: {plain(str(page))}", soft_wrap=True)


def _candidates(workspace: Path | None, run: int | None, out_dir: Path | None) -> None:
    from construction.overview import write_page
    from construction.workspace import open_workspace

    opened = open_workspace(workspace_root(workspace))
    page = write_page(opened, run, out_dir or opened.report)
    out.print(f"Candidates page: {plain(str(page))}", soft_wrap=True)
