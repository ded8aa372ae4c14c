"""SQLite: write-ahead log, one engine per role, and an authorizer on every connection of a role.

The default-deny authorizer is derived from the role table. It runs when a statement is prepared,
and denies PRAGMA, ATTACH, schema changes and temporary objects. SQLite never asks it about columns
that USING or NATURAL joins on, and lets a common table expression borrow the name of a view that
may read more; so the connection itself refuses those three words.
"""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import SQLModel

from state.engines.acting import actor
from state.engines.text import keep_storable
from state.roles import ROLE_TABLE, DbRole, Grants

BUSY_TIMEOUT_MS = 30_000
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA foreign_keys=ON",
)
_FUNCTIONS = frozenset(
    {
        "acting_role",
        "coalesce",
        "count",
        "current_reviewer",
        "json_type",
        "json_valid",
        "julianday",
        "max",
        "min",
        "sum",
        "typeof",
    }
)
_RULES = frozenset({"votes_rules", "blind_answers_rules"})
_RULE_FUNCTIONS = frozenset({"glob", "length", "replace"})
_STAMPS = frozenset({"votes_stamp", "blind_answers_stamp"})
"""Triggers: what they ask of JSON, and what they correct, no statement may."""
_STAMPED = frozenset({"committed_at", "is_unblinded"})
_JSON_TABLES = frozenset({"json_each", "json_tree"})

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]
# Anywhere, not as words: SQLite ends a token where an expression sees no boundary (`?1WITH`).
_UNASKED = re.compile("USING|NATURAL|WITH", re.IGNORECASE)


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
        raise sqlite3.DatabaseError(f"not authorized: {found.group()}")


def open_engine(path: Path, role: DbRole) -> Engine:
    """Return an engine whose every connection can do what `role` may, and nothing else."""
    return keep_storable(_open(path, role))


def open_owner(path: Path) -> Engine:
    """Return the unrestricted engine that migrations use."""
    return _open(path, None)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def open_unchanging(path: Path) -> Engine:
    """Return an engine that reads a database nobody can write, as on a read-only disk."""
    url = f"sqlite:///file:{quote(str(path))}?mode=ro&immutable=1&uri=true"
    return create_engine(url, hide_parameters=True)


def authorizer(role: DbRole) -> Authorizer:
    """Return the SQLite authorizer callback of `role`."""
    grants = ROLE_TABLE[role]
    reads = _read_rule(grants)

    def decide(
        action: int,
        first: str | None,
        second: str | None,
        database: str | None,
        source: str | None,
    ) -> int:
        allowed = (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)
            or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
            or (
                action == sqlite3.SQLITE_FUNCTION and source in _RULES and second in _RULE_FUNCTIONS
            )
            or (action == sqlite3.SQLITE_UPDATE and source in _STAMPS and second in _STAMPED)
            or (action == sqlite3.SQLITE_READ and source in _RULES and first in _JSON_TABLES)
            or (
                # SQLite names no database where a trigger reads a table but none of its columns.
                (database == "main" or (database is None and second == ""))
                and first is not None
                and (
                    (action == sqlite3.SQLITE_READ and reads(first, second or "", source))
                    or (action == sqlite3.SQLITE_INSERT and first in grants.insert)
                    or (action == sqlite3.SQLITE_UPDATE and first in grants.update)
                    or (action == sqlite3.SQLITE_DELETE and first in grants.delete)
                )
            )
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return decide


def _read_rule(grants: Grants) -> Callable[[str, str, str | None], bool]:
    """Return whether a role may read a column (all: none of them), by the statement or `source`.

    `source` is the view or trigger that reads in the statement's stead. A view that is granted may
    read what it is made of, and a trigger what it checks.
    """
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

    def may_read(table: str, column: str, source: str | None) -> bool:
        if grants.views:
            is_trigger = source is not None and source.startswith(tuple(f"{n}_" for n in keys))
            shown = grants.views.get(table, frozenset())
            return source in grants.views or is_trigger or (bool(shown) and column in {"", *shown})
        if table in grants.read and (column == "" or column in grants.read[table]):
            return True
        if table in keys and (column == "" or column in keys[table]):
            return True
        return (table, column) in parents

    return may_read


def _open(path: Path, role: DbRole | None) -> Engine:
    authorize = authorizer(role) if role else None
    is_reviewer = role is not None and bool(ROLE_TABLE[role].views)
    arguments: dict[str, Any] = {"timeout": BUSY_TIMEOUT_MS / 1000}
    if authorize is not None:
        arguments["factory"] = _GuardedConnection
    engine = create_engine(f"sqlite:///{path}", connect_args=arguments, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        # What is no UTF-8, which a statement may write, must not end everybody's reading.
        connection.text_factory = _text
        # Never NULL for a reviewer's role, so that nobody is not mistaken for the curator.
        acts = actor if is_reviewer else (lambda: None)
        connection.create_function("current_reviewer", 0, acts)
        connection.create_function("acting_role", 0, lambda: role)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if authorize is not None:
            # Made once a connection, by statements that the authorizer would refuse.
            connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
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
