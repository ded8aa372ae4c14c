"""`psychemme import items`."""

from pathlib import Path
from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, app, out, plain, workspace_root

import_ = typer.Typer(help="Bring in items that people wrote elsewhere.", no_args_is_help=True)
app.add_typer(import_, name="import")


# A group with one command would run it without its name.
@import_.callback()
def _group() -> None:
    """Bring in items that people wrote elsewhere."""


@import_.command("items")
def items(
    file: Annotated[Path, typer.Argument(help="JSON Lines: one item a line.")],
    name: Annotated[str | None, typer.Option(help="What to call them.  [default: FILE's]")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Store human-written items beside the candidates, to be audited; they are never reviewed."""
    from construction.audits.importing import import_items
    from construction.workspace import open_workspace
    from psychemme.release.faults import counted

    opened = open_workspace(workspace_root(workspace))
    target, count = import_items(file, opened.root / "items", name)
    out.print(f"{counted(count, 'item')} -> {plain(str(target))}", soft_wrap=True)
    out.print(f"Audit them: psychemme audit --items {plain(str(target))}", soft_wrap=True)
