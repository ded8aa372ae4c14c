"""Bring a database to the newest revision, and say where it stands."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect
from sqlmodel import SQLModel

from psychemme.errors import WorkspaceError
from state import grants
from state.address import ADMIN, Address, PostgresAddress
from state.engines import open_engine, open_owner
from state.roles import DbRole

_SCRIPTS = Path(__file__).parent / "migrations"
_HEAD = "head"
_INIT = "Run `psychemme init` on the workspace to upgrade it."
_UPGRADE = "Run `psychemme db upgrade` with the administrator's password."
_PROVIDERS = {"b": "builtin", "i": "icu"}
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('psychemme upgrade'))"


def upgrade(address: Address, revision: str = _HEAD) -> None:
    """Run every pending revision, and grant each role what the role table says.

    A SQLite file is created where it is missing. Raises WorkspaceError where a newer version made
    the database, or a PostgreSQL one does not exist or sorts otherwise than by code point.
    """
    engine = open_owner(address)
    with engine.begin() as connection:
        if isinstance(address, PostgresAddress):
            connection.exec_driver_sql(_ONE_AT_A_TIME)
        _refuse(address, connection)
        command.upgrade(_config(connection), revision)
        if isinstance(address, PostgresAddress) and revision == _HEAD:
            grants.apply(connection)
    engine.dispose()


def head() -> str:
    """Return the newest revision."""
    return str(_scripts().get_current_head())


def check(address: Address) -> None:
    """Raise WorkspaceError unless the database stands at the newest revision.

    On PostgreSQL any role's password will do; ConfigError where there is none.
    """
    engine = open_owner(address) if isinstance(address, Path) else _any_engine(address)
    with engine.execution_options(write=False).connect() as connection:
        current = _refuse(address, connection)
    engine.dispose()
    if current != head():
        raise WorkspaceError(
            f"{address} is at schema revision {current or 'none'}, this version needs {head()}.",
            _UPGRADE if isinstance(address, PostgresAddress) else _INIT,
        )


def refuse_unfit(address: PostgresAddress) -> None:
    """Raise WorkspaceError where no upgrade can make a Shared State of an existing database."""
    engine = open_owner(address)
    with engine.execution_options(write=False).connect() as connection:
        _refuse(address, connection)
    engine.dispose()


def drift(address: Address) -> list[object]:
    """Return the differences between the database and the models; empty when they agree."""
    engine = open_owner(address)
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), SQLModel.metadata)
    engine.dispose()
    return list(found)


def collation_faults(connection: Connection) -> list[str]:
    """Return why a PostgreSQL database does not keep text as SQLite does; empty where it does."""
    row = connection.exec_driver_sql(
        "SELECT pg_encoding_to_char(encoding), datcollate, datlocprovider "
        "FROM pg_database WHERE datname = current_database()"
    ).one()
    faults = []
    if row[0] != "UTF8":
        faults.append(f"its encoding is {row[0]}, not UTF8")
    kept = [] if row[1] == "C" else [f"is {row[1]}, not C"]
    if row[2] != "c":
        kept.append(f"has the provider {_PROVIDERS.get(row[2], row[2])}, not libc")
    if kept:
        faults.append(f"its collation {' and '.join(kept)}: text sorts otherwise")
    return faults


def _refuse(address: Address, connection: Connection) -> str | None:
    """Return the revision of a database, or raise WorkspaceError where it is of no use here."""
    faults = [] if isinstance(address, Path) else collation_faults(connection)
    if faults:
        raise WorkspaceError(
            f"{address} cannot hold a Shared State: {'; '.join(faults)}.",
            "Let `psychemme db init` create a database of another name.",
        )
    current = _revision(connection)
    known = (script.revision for script in _scripts().walk_revisions())
    if current is not None and current not in known:
        raise WorkspaceError(
            f"{address} was made by a newer psychemme ({current}; this one knows up to {head()}).",
            "Use that version.",
        )
    return current


def _any_engine(address: PostgresAddress) -> Engine:
    """Return the engine of whichever login has its password here; any may see the revision."""
    if ADMIN in address.passwords:
        return open_owner(address)
    known = (role for role in DbRole if role in address.passwords)
    # Where no password is known the engine says so.
    return open_engine(address, next(known, DbRole.CURATOR))


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_SCRIPTS))


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return MigrationContext.configure(connection).get_current_revision()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    return config
