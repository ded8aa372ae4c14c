"""`psychemme report`."""

from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import RunOption, WorkspaceOption, app, out, plain, workspace_root


@app.command()
def report(
    workspace: WorkspaceOption = None,
    run: RunOption = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder to write.  [default: WORKSPACE/report]")
    ] = None,
) -> None:
    """Write the page of candidates, with each episode's window to play. For curators: private."""
    from construction.overview import write_page
    from construction.workspace import open_workspace

    opened = open_workspace(workspace_root(workspace))
    page = write_page(opened, run, out_dir or opened.report)
    out.print(f"Candidates page: {plain(str(page))}", soft_wrap=True)
