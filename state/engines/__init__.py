"""The only place that opens the database: one engine per role, on SQLite and on PostgreSQL."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from state.address import Address
from state.engines import sqlite
from state.engines.acting import acting
from state.engines.sqlite import open_unchanging
from state.outages import Patience
from state.roles import DbRole

__all__ = ["acting", "open_engine", "open_owner", "open_unchanging", "prove_logins"]


def open_engine(address: Address, role: DbRole) -> Engine:
    """Return an engine whose every connection can do what `role` may, and nothing else.

    Raises ConfigError where the password of a PostgreSQL role is missing.
    """
    if isinstance(address, Path):
        return sqlite.open_engine(address, role)
    from state.engines import postgres  # Its driver is not loaded for a file.

    return postgres.open_engine(address, role)


def prove_logins(address: Address, logins: Iterable[str]) -> None:
    """Log in to PostgreSQL as each of the `logins`; a file asks for no password.

    Raises ConfigError naming the first whose password is missing or refused.
    """
    if isinstance(address, Path):
        return
    from state.engines import postgres

    for login in logins:
        attempt = partial(postgres.prove_login, address, login)
        Patience().outlast(attempt, lambda: True)


def open_owner(address: Address) -> Engine:
    """Return the unrestricted engine that migrations use."""
    if isinstance(address, Path):
        return sqlite.open_owner(address)
    from state.engines import postgres

    return postgres.open_owner(address)
