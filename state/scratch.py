"""Freshly migrated Shared States to compare with or to try things on, gone at the end."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from psychemme.errors import WorkspaceError
from state import migrate
from state.address import Address, PostgresAddress
from state.grants import login
from state.roles import DbRole

if TYPE_CHECKING:
    from state.engines.postgres import Driver

_MAINTENANCE = "postgres"


@contextmanager
def scratch(address: Address) -> Iterator[Address]:
    """Give an empty Shared State of the newest revision: a file, or one on `address`'s server.

    Raises ConfigError without the administrator's password, WorkspaceError where a role is missing.
    """
    if isinstance(address, PostgresAddress):
        with scratch_database(address) as made:
            migrate.upgrade(made)
            yield made
        return
    with tempfile.TemporaryDirectory(prefix="psychemme-scratch-") as folder:
        path = Path(folder) / "state.db"
        migrate.upgrade(path)
        yield path


@contextmanager
def scratch_database(address: PostgresAddress) -> Iterator[PostgresAddress]:
    """Give an empty database on the server of `address`, without any table.

    Raises WorkspaceError where the server lacks a role.
    """
    from state.engines.postgres import connect_admin, create_database, drop_database

    made = replace(address, database=f"psychemme_scratch_{token_hex(4)}")
    with connect_admin(address, _MAINTENANCE) as admin:
        _refuse_missing(admin)
        try:
            create_database(admin, made.database)
            yield made
        finally:
            drop_database(admin, made.database)


def _refuse_missing(admin: "Driver") -> None:
    from state.engines.postgres import OWNER

    present = {row[0] for row in admin.execute("SELECT rolname FROM pg_roles")}
    missing = [name for name in (OWNER, *map(login, DbRole)) if name not in present]
    if missing:
        raise WorkspaceError(
            f"The server lacks the role {', '.join(missing)}.",
            "Run `psychemme db init` to create it.",
        )
