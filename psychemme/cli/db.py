"""`psychemme db init|upgrade|check`."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychemme.cli.app import USER_ERROR, WorkspaceOption, app, out, plain, workspace_root
from psychemme.errors import WorkspaceError

if TYPE_CHECKING:
    from state.address import Address

db_app = typer.Typer(help="The database of a workspace, and who may do what.", no_args_is_help=True)
app.add_typer(db_app, name="db")


@db_app.command("init")
def init(
    workspace: WorkspaceOption = None,
    write_secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Make the passwords that are not given, and keep all in this file."
        ),
    ] = None,
) -> None:
    """Create the PostgreSQL database, its owner and its roles, or bring them up to date.

    The setting `database` names it. PSYCHEMME_DATABASE_PASSWORD_ADMIN is the administrator's
    password; each role's is PSYCHEMME_DATABASE_PASSWORD_<ROLE>, or stands in the file that
    PSYCHEMME_DATABASE_SECRETS names. Passwords on the server become those given.
    """
    from state import migrate, provision

    address = _address(workspace)
    if isinstance(address, Path):
        raise WorkspaceError(
            f"The Shared State of this workspace is the file {address}.",
            'Set `database` to "postgresql://host:port/name" for one on a server.',
        )
    written = provision.write_passwords(address, write_secrets) if write_secrets else None
    with written or nullcontext(address) as complete:
        provision.create(complete)
        migrate.upgrade(complete)
    if write_secrets:
        out.print(f"Passwords of the roles: {plain(str(write_secrets))}", soft_wrap=True)
    out.print(f"Database ready: {plain(str(address))}", soft_wrap=True)


@db_app.command("upgrade")
def upgrade(workspace: WorkspaceOption = None) -> None:
    """Bring the database to the newest revision, and grant anew what each role may do."""
    from state import migrate

    address = _existing(workspace)
    migrate.upgrade(address)
    out.print(f"At the newest revision: {plain(str(address))}", soft_wrap=True)


@db_app.command("check")
def check(
    workspace: WorkspaceOption = None,
    attack: Annotated[
        bool,
        typer.Option(
            "--attack",
            help="Attack databases made afresh beside it as every role as well, and read each "
            "secret column of this one.",
        ),
    ] = False,
) -> None:
    """Look at revision, sorting, roles and rights, and compare every rule with a new database's.

    Names every fault and exits 1.
    """
    from psychemme.release.faults import counted
    from state import provision

    address = _existing(workspace)
    faults = provision.faults(address)
    found = counted(len(faults), "fault") if faults else "no faults"
    for fault in faults:
        out.print(plain(fault), soft_wrap=True)
    out.print(f"{plain(str(address))}: {found}.", soft_wrap=True)
    leaked = _attack(address) if attack else False
    if faults or leaked:
        raise typer.Exit(USER_ERROR)


def _attack(address: "Address") -> bool:
    """Print what attacks on `address` came to; return whether one got through."""
    from state.attacks import attack

    report = attack(address)
    for line in report.lines():
        out.print(plain(line), soft_wrap=True)
    return bool(report.leaks)


def _address(workspace: Path | None) -> "Address":
    from construction.workspace import Workspace

    return Workspace(workspace_root(workspace)).database


def _existing(workspace: Path | None) -> "Address":
    address = _address(workspace)
    if isinstance(address, Path) and not address.exists():
        raise WorkspaceError(f"There is no {address}.", "Run `psychemme init` first.")
    return address
