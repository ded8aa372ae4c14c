"""`psychemme freeze`."""

from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, app, err, out, plain, workspace_root

_NO_LICENCE = (
    "The release states no licence of its own, so that nobody may use it. "
    "Freeze it again with --licence."
)
_FEW = "{} approving reviewers were asked for each item, not five as the paper's rule has it."


@app.command()
def freeze(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The release folder to write.")],
    name: Annotated[str, typer.Option(help="The release's name.")],
    version: Annotated[str, typer.Option(help="The release's version, such as 1.0.")],
    licence: Annotated[str, typer.Option(help="The release's own licence (SPDX id).")] = "",
    language: Annotated[
        list[str] | None, typer.Option(help="Language tag; may be given again.  [default: en]")
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date of publication, YYYY-MM-DD.")] = None,
    citation: Annotated[str, typer.Option(help="How to cite the release.")] = "",
    previous: Annotated[
        Path | None, typer.Option(help="The release that this one follows.")
    ] = None,
    errata: Annotated[
        Path | None, typer.Option(help="YAML or JSONL: what was wrong with the previous one.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="A demonstration: scores on it measure nothing.")
    ] = False,
    leave_open: Annotated[
        bool, typer.Option("--leave-open", help="Leave out items whose review has not ended.")
    ] = False,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Id or candidate of an item to leave out; may be given again."),
    ] = None,
    leakage_not_run: Annotated[
        bool,
        typer.Option(
            "--leakage-not-run",
            help="Freeze items that the leakage filter was not run on; the manifest says so.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Freeze what reviewers approved unanimously into a checksummed release."""
    from construction.exports.croissant import release_files
    from construction.profiles import DEFAULT
    from construction.review.freeze import RULE, Order
    from construction.review.freeze import freeze as write
    from construction.workspace import open_workspace
    from psychemme.errors import ReleaseError
    from psychemme.release.errata import read_errata
    from psychemme.release.faults import ReleaseRefused, counted

    order = Order(
        name=name,
        version=version,
        profile=DEFAULT,
        example=example,
        leave_open=leave_open,
        leave_out=frozenset(leave_out or ()),
        unfiltered=leakage_not_run,
        licence=licence,
        languages=tuple(language or ["en"]),
        date=date,
        citation=citation,
        errata=tuple(read_errata(errata)) if errata else (),
        previous=previous,
    )
    opened = open_workspace(workspace_root(workspace))
    try:
        frozen = write(opened, folder, order, release_files)
    except ReleaseRefused as refused:
        for fault in refused.faults:
            err.print(plain(str(fault)), highlight=False, soft_wrap=True)
        problem = f"Nothing was frozen: {counted(len(refused.faults), 'fault')}, see above."
        raise ReleaseError(problem, refused.action) from None
    if not licence and not example:
        err.print(_NO_LICENCE, soft_wrap=True)
    if frozen.reviewers_per_item < RULE and not example:
        err.print(_FEW.format(frozen.reviewers_per_item), soft_wrap=True)
    out.print(f"{counted(frozen.items, 'item')} frozen: {plain(str(folder))}", soft_wrap=True)
