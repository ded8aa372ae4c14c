"""`psychemme db export` and `psychemme db import`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, out, plain, workspace_root
from psychemme.cli.db import db_app


@db_app.command("export")
def export_(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Write the whole Shared State, references too, as checksummed files of no engine."""
    from construction.workspace import open_workspace
    from state.portability import export_state

    opened = open_workspace(workspace_root(workspace))
    with _progress("export") as report:
        moved = export_state(opened.database, folder, report)
    out.print(
        f"{moved.rows} rows of {len(moved.tables)} tables -> {plain(str(folder))}", soft_wrap=True
    )
    out.print(f"SHA-256 of its manifest: {moved.sha256}", soft_wrap=True)
    out.print(
        "It holds references, votes and reviewers' names: keep it as private as the workspace."
    )
    out.print(
        "Blobs, footage and the shuffle key are not in it: copy the workspace folder for those."
    )


@db_app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="IN", help="A folder that export made.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Fill an empty Shared State with an export, on whichever engine; all of it, or nothing."""
    from construction.workspace import open_workspace
    from state.portability import import_state

    opened = open_workspace(workspace_root(workspace))
    with _progress("import") as report:
        moved = import_state(opened.database, folder, report)
    out.print(
        f"{moved.rows} rows of {len(moved.tables)} tables <- {plain(str(folder))}", soft_wrap=True
    )
    out.print(f"SHA-256 of its manifest: {moved.sha256}", soft_wrap=True)


@contextmanager
def _progress(verb: str) -> Iterator[Callable[[int, int], None]]:
    from psychemme.cli.running import progress_bar

    with progress_bar(verb) as bar:
        task = bar.add_task("tables", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
