"""`psychemme review serve`."""

from typing import Annotated

import typer

from psychemme.cli.app import WorkspaceOption, err, out, plain, workspace_root
from psychemme.cli.review import review


@review.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    behind_tls: Annotated[
        str | None,
        typer.Option(help="Where a TLS proxy offers the page.", metavar="https://HOST"),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="A proxy's own address; may be given again.  [default: this machine]"),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Serve the review page, with the curators' pages beside it, until Ctrl-C."""
    from construction.review.web import serve as web
    from construction.workspace import open_workspace

    def announce(address: str, link: str) -> None:
        out.print(f"review page: {plain(address)}", soft_wrap=True, highlight=False)
        out.print(f"curator's link: {plain(link)}", soft_wrap=True, highlight=False)
        err.print("Ctrl-C stops it; nothing that was acknowledged is lost.")

    proxies = {"proxies": proxy} if proxy else {}
    opened = open_workspace(workspace_root(workspace))
    web.serve(opened, host, port, behind_tls=behind_tls, announce=announce, **proxies)
