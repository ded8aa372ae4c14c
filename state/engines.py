"""The only place that opens the database.

SQLite here: write-ahead log, one engine per role, and on every connection of an agent role a
default-deny authorizer derived from the role table. The authorizer runs when a statement is
prepared, ignores the name of the view a read comes from (a common table expression can borrow
one), and denies PRAGMA, ATTACH, schema changes and temporary objects. SQLite never asks it about
columns that USING or NATURAL joins on, so the connection itself refuses those two words.
"""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import SQLModel

from state.roles import ROLE_TABLE, DbRole

BUSY_TIMEOUT_MS = 30_000
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA foreign_keys=ON",
)
_FUNCTIONS = frozenset({"count", "max", "min", "sum", "coalesce"})

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]
_UNASKED = re.compile(r"\b(USING|NATURAL)\b", re.IGNORECASE)


class _GuardedCursor(sqlite3.Cursor):
    """Refuses, before SQLite sees it, what the authorizer is not asked about."""

    def execute(self, sql: str, *parameters: Any) -> Self:  # noqa: ANN401
        _refuse_unasked(sql)
        super().execute(sql, *parameters)
        return self

    def executemany(self, sql: str, *parameters: Any) -> Self:  # noqa: ANN401
        _refuse_unasked(sql)
        super().executemany(sql, *parameters)
        return self

    def executescript(self, sql_script: str) -> Self:
        _refuse_unasked(sql_script)
        super().executescript(sql_script)
        return self


class _GuardedConnection(sqlite3.Connection):
    """A connection whose every cursor is guarded."""

    def cursor(self, *_: object) -> _GuardedCursor:  # type: ignore[override]
        return super().cursor(_GuardedCursor)

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:  # noqa: ANN401
        return self.cursor().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:  # noqa: ANN401
        return self.cursor().executemany(sql, *parameters)

    def executescript(self, sql_script: str) -> sqlite3.Cursor:
        return self.cursor().executescript(sql_script)


def _refuse_unasked(sql: str) -> None:
    if found := _UNASKED.search(sql):
        raise sqlite3.DatabaseError(f"not authorized: {found.group()} joins")


def open_engine(path: Path, role: DbRole) -> Engine:
    """Return an engine whose every connection can do what `role` may, and nothing else."""
    return _open(path, authorizer(role))


def open_owner(path: Path) -> Engine:
    """Return the unrestricted engine that migrations use."""
    return _open(path, None)


def authorizer(role: DbRole) -> Authorizer:
    """Return the SQLite authorizer callback of `role`."""
    grants = ROLE_TABLE[role]
    keys = {
        name: frozenset(column.name for column in SQLModel.metadata.tables[name].primary_key)
        for name in grants.insert
    }
    # A foreign key check reads the parent's key, whoever inserts.
    parents = {
        (key.column.table.name, key.column.name)
        for name in grants.insert
        for key in SQLModel.metadata.tables[name].foreign_keys
    }

    def may_read(table: str, column: str) -> bool:
        if table in grants.read and (column == "" or column in grants.read[table]):
            return True
        if table in keys and (column == "" or column in keys[table]):
            return True
        return (table, column) in parents

    def decide(
        action: int, first: str | None, second: str | None, database: str | None, _: str | None
    ) -> int:
        allowed = (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)
            or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
            or (
                # SQLite names no database where a trigger reads a table but none of its columns.
                (database == "main" or (database is None and second == ""))
                and first is not None
                and (
                    (action == sqlite3.SQLITE_READ and may_read(first, second or ""))
                    or (action == sqlite3.SQLITE_INSERT and first in grants.insert)
                    or (action == sqlite3.SQLITE_UPDATE and first in grants.update)
                    or (action == sqlite3.SQLITE_DELETE and first in grants.delete)
                )
            )
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return decide


def _open(path: Path, authorize: Authorizer | None) -> Engine:
    arguments: dict[str, Any] = {"timeout": BUSY_TIMEOUT_MS / 1000}
    if authorize is not None:
        arguments["factory"] = _GuardedConnection
    engine = create_engine(f"sqlite:///{path}", connect_args=arguments)

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if authorize is not None:
            connection.set_authorizer(authorize)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write", True)
        # Straight to the driver: through SQLAlchemy this costs as much as the query after it.
        driver = connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError(f"no SQLite connection: {driver!r}")
        driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
