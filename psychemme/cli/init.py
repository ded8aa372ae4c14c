"""`psychemme init`."""

from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, app, out, plain, workspace_root


@app.command()
def init(
    workspace: WorkspaceOption = None,
    demo_key: Annotated[
        bool, typer.Option(help="Use a public shuffle key, for demonstrations only.")
    ] = False,
) -> None:
    """Create a workspace, or upgrade the one that is there."""
    from construction.workspace import DEMO_KEY, create_workspace

    made = create_workspace(workspace_root(workspace), DEMO_KEY if demo_key else None)
    out.print(f"Workspace ready: {plain(str(made.root))}", soft_wrap=True)
    if demo_key:
        out.print("Its shuffle key is public: never build a benchmark in it.")
