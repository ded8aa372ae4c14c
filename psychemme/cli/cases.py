"""`psychemme cases`."""

from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, app, err, out, plain
from psychemme.cli.runs_given import (
    JudgementsOption,
    OptionalRunsArgument,
    ResponsesOption,
    read_given,
)
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption


@app.command()
def cases(
    runs: OptionalRunsArgument = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            help="Item to show; may be given again.  [default: where the runs' Verified credit "
            "varies most, else their answer credit]"
        ),
    ] = None,
    media: Annotated[
        list[Path] | None, typer.Option(help="Folder with the clips; may be given again.")
    ] = None,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("cases"),
    with_references: Annotated[
        bool,
        typer.Option(
            "--with-references", help="Show references, judge's words and item credit. Private."
        ),
    ] = False,
    release: ReleaseOption = None,
    responses: ResponsesOption = None,
    judgements: JudgementsOption = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a page that shows single items across runs: clip, cues, answers, rationales, labels."""
    from evaluation.report.cases import write_cases
    from psychemme.media.cut import cut_window

    found, read = read_given(runs, release, responses, judgements, workspace, judge, repeat)
    page, problems = write_cases(
        found, read, out_dir, item or (), media or (), cut_window, with_references=with_references
    )
    if media:
        for episode, problem in problems.items():
            err.print(f"no clip of {plain(episode)}: {plain(problem)}", soft_wrap=True)
    out.print(f"Cases page: {plain(str(page))}", soft_wrap=True)
