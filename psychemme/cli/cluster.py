"""`psychemme cluster scheduler|worker`."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from psychemme.cli.app import WorkspaceOption, app, err, plain, workspace_root
from psychemme.cli.running import stop_on_signals

if TYPE_CHECKING:
    from construction.workspace import Workspace

cluster = typer.Typer(help="Processes that work for `--cluster`.", no_args_is_help=True)
app.add_typer(cluster, name="cluster")

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="Let the workers of this scheduler do the work; needs PostgreSQL.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trusted-network",
        help="Listen beyond this machine without TLS: who reaches the port can run code here.",
    ),
]


@cluster.command("scheduler")
def scheduler(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8786,
    trusted_network: TrustOption = False,
) -> None:
    """Hand out units of work until stopped. Coordinators and workers connect to it."""
    from construction.cluster.needs import require_extra

    require_extra()
    from construction.cluster.servers import serve_scheduler

    async def serve() -> None:
        await serve_scheduler(host, port, trusted_network, stop_on_signals(), _say)

    asyncio.run(serve())


@cluster.command("worker")
def worker(
    address: Annotated[str, typer.Argument(help="The scheduler, as tcp://HOST:PORT.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=512, help="Units in hand at once.")] = 4,
    trusted_network: TrustOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Work on candidates and clips until stopped, with this machine's own passwords and keys."""
    from construction.cluster.needs import require_extra

    require_extra()
    from construction.cluster.servers import serve_worker
    from construction.workspace import open_workspace

    root = open_workspace(workspace_root(workspace)).root

    async def serve() -> None:
        stop = stop_on_signals()
        await serve_worker(address, root, host, port, concurrency, trusted_network, stop, _say)

    asyncio.run(serve())


def cluster_of(address: str | None, workspace: "Workspace") -> str | None:
    """Return the address given with `--cluster`.

    Raises ConfigError where it is none, Dask is missing or machines cannot share the database.
    """
    if address is not None:
        from construction.cluster import needs

        needs.require_extra()
        needs.require_address(address)
        needs.require_team_database(workspace.database)
    return address


def _say(address: str) -> None:
    err.print(f"Listening on {plain(address)}.", highlight=False, soft_wrap=True)
