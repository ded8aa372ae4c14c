"""Runs as verbs take them: folders, or a release with files made elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychemme.cli.app import workspace_root

if TYPE_CHECKING:
    from evaluation.report.runs import ReportRun
    from psychemme.release.read import Release


def each_once(folders: list[Path] | None) -> list[Path] | None:
    """Return `folders`; refuse one that is named twice, which would count as two runs."""
    seen = set()
    for folder in folders or ():
        if (place := folder.resolve()) in seen:
            raise typer.BadParameter(f"{folder} is named twice")
        seen.add(place)
    return folders


RunsArgument = Annotated[list[Path], typer.Argument(help="Run folders.", callback=each_once)]
OptionalRunsArgument = Annotated[
    list[Path] | None, typer.Argument(help="Run folders.", callback=each_once)
]
ResponsesOption = Annotated[
    Path | None, typer.Option(help="Responses made elsewhere, as JSON Lines; needs --release.")
]
JudgementsOption = Annotated[
    Path | None, typer.Option(help="Judgements made elsewhere, as JSON Lines.")
]
PeopleOption = Annotated[
    list[Path] | None, typer.Option(help="What people said, as `people export` writes it.")
]
ErrorsOption = Annotated[
    list[Path] | None,
    typer.Option(help="Categories of failures.  [default: the runs' errors.jsonl]"),
]
ClassifierOption = Annotated[
    str | None, typer.Option(help="Whose categories to use.  [default: the only classifier's]")
]


def error_files(runs: list[Path] | None, given: list[Path] | None) -> list[Path]:
    """Return the files of categories that are given, or those that `psychemme errors` left."""
    return given or [path for run in runs or () if (path := run / "errors.jsonl").exists()]


def read_given(
    runs: list[Path] | None,
    release: Path | None,
    responses: Path | None,
    judgements: Path | None,
    workspace: Path | None,
    judge: str | None,
    repeat: int,
) -> "tuple[Release, list[ReportRun]]":
    """Return the release and the runs that a command line names."""
    from evaluation.report.runs import read_files, read_runs
    from psychemme.clients.cards import load_cards

    if runs and (responses or judgements):
        raise typer.BadParameter("name run folders, or --responses, not both")
    cards = load_cards(workspace_root(workspace))
    if runs:
        return read_runs(runs, cards, release, judge, repeat)
    if responses and release:
        return read_files(release, responses, judgements, cards, judge, repeat)
    raise typer.BadParameter("name run folders, or --release with --responses")
