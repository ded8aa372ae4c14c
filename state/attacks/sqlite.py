"""Attacks on SQLite: blank files, running a statement, and all that a file holds."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from state import migrate
from state.attacks.outcome import Outcome

if TYPE_CHECKING:
    from state.attacks.catalogue import Attack
    from state.attacks.runner import Blank

_SHORT = 10_000
"""The longest text in bytes: a condition that makes a longer one fails, where it is asked."""


@contextmanager
def blanks() -> Iterator["Blank"]:
    """Give blank files in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="psychemme-attack-") as folder:
        empty, numbers = Path(folder) / "empty.db", count()
        migrate.upgrade(empty)
        yield lambda: Path(shutil.copy(empty, Path(folder) / f"{next(numbers)}.db"))


def run(connection: Connection, attack: "Attack") -> Outcome:
    """Run a statement in no transaction, as whoever holds the driver's connection could."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError(f"no SQLite connection: {driver!r}")
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SHORT)
    try:
        rows = driver.execute(attack.sql, attack.parameters).fetchall()
        return Outcome(is_refused=False, said=repr(rows))
    except sqlite3.Error as error:
        return Outcome(is_refused=True, said=str(error))
    finally:
        driver.rollback()


def everything(connection: Connection) -> list[object]:
    """Return the schema and every row of every table."""
    schema = connection.exec_driver_sql("SELECT name, type, sql FROM sqlite_master").all()
    tables = sorted(row.name for row in schema if row.type == "table")
    return [
        sorted(map(repr, schema)),
        *(sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {t}"))) for t in tables),  # noqa: S608
    ]
