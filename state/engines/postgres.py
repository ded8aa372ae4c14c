"""PostgreSQL: one login and one pool of connections per role; the server knows who may do what.

What SQLite gives by having one writer is asked for here by advisory locks, held to the end of a
transaction: a curator's write excludes every other one and the reviewers', a reviewer's excludes
the curators' and the same reviewer's. Agents need none: what they write is inserted once.

A reviewer's transaction carries the reviewer's id and a signature of it, made with a key that the
reviewer's own role cannot read; `current_reviewer()` believes no other.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import IsolationLevel
from sqlalchemy import Connection, Engine, create_engine, event

from psychemme.errors import ConfigError, DatabaseAway, UserError, WorkspaceError
from state.address import ADMIN, PostgresAddress, place_of
from state.engines.acting import actor
from state.engines.text import keep_storable, storable
from state.roles import ROLE_TABLE, DbRole

OWNER = "psychemme_owner"
"""The role that owns everything and cannot log in."""
KEY_TABLE = "private.reviewer_key"
_WRITERS = 0x70737963
"""The advisory lock of all writers; a reviewer's own adds a number that hides who."""
_CONNECT_TIMEOUT = 10
_IDLE_SECONDS = 60
"""A client that is suspended in a transaction holds its locks no longer."""
_POOL = {"pool_size": 4, "max_overflow": 12, "pool_pre_ping": True}

Driver = psycopg.Connection[Any]
Opening = Callable[[Driver, bool], None]
"""What a transaction does first, told whether it writes."""


def open_engine(address: PostgresAddress, role: DbRole) -> Engine:
    """Return an engine that logs in as `role`; raises ConfigError where a password is missing.

    A reviewer's role needs the curator's password as well, for the key that signs.
    """
    address.password(role)
    if not ROLE_TABLE[role].views:
        return _open(address, role, _lock_writers if role is DbRole.CURATOR else _nothing)
    engine = _open(address, role, _sign_as_actor(_reviewer_key(address)), pool_reset_on_return=None)

    @event.listens_for(engine, "connect")
    def _prepare_nothing(driver: Driver, _entry: object) -> None:
        driver.prepare_threshold = None

    @event.listens_for(engine, "reset")
    def _forget(driver: Driver, *_: object) -> None:
        # Nothing that one reviewer's statements left in the connection meets another's.
        driver.rollback()
        driver.autocommit = True
        driver.execute("DISCARD ALL")
        driver.autocommit = False

    return engine


def open_owner(address: PostgresAddress) -> Engine:
    """Return the engine of the role that owns everything."""
    return _open(address, ADMIN, lambda driver, _: _run(driver, f"SET LOCAL ROLE {OWNER}"))


def connect_admin(address: PostgresAddress, database: str) -> Driver:
    """Return a connection of the administrator to a database of the server; it commits at once."""
    return _connect(address, ADMIN, database, autocommit=True)


def prove_login(address: PostgresAddress, login: str) -> None:
    """Log in once; raises ConfigError where the password is missing or refused."""
    _connect(address, login, address.database).close()


def create_database(admin: Driver, name: str) -> None:
    """Create a database that keeps text as SQLite does, of the owner of all.

    Raises ConfigError where the administrator may not.
    """
    statement = (
        f'CREATE DATABASE "{name}" OWNER {OWNER} TEMPLATE template0 '
        "ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    try:
        admin.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"{admin.info.user} cannot create a database: {error.diag.message_primary}.",
            f'Run on the server `ALTER ROLE "{admin.info.user}" CREATEDB;`, or name another '
            "administrator in the setting `database_admin`.",
        ) from None


def drop_database(admin: Driver, name: str) -> None:
    """Drop a database where it is, whoever is connected."""
    admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())


def _open(address: PostgresAddress, login: str, opening: Opening, **options: Any) -> Engine:  # noqa: ANN401
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: _connect(address, login, address.database),
        use_native_hstore=False,
        hide_parameters=True,
        **_POOL | options,
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("write", True)
        driver = connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            raise TypeError(f"no PostgreSQL connection: {driver!r}")
        level = IsolationLevel.READ_COMMITTED if writes else IsolationLevel.REPEATABLE_READ
        if driver.isolation_level is not level:
            driver.isolation_level, driver.read_only = level, not writes
        opening(driver, writes)

    return keep_storable(engine)


def _nothing(_driver: Driver, _writes: bool) -> None:
    pass


def _lock_writers(driver: Driver, writes: bool) -> None:
    if writes:
        _run(driver, "SELECT pg_advisory_xact_lock(%s)", _WRITERS)


def _sign_as_actor(key: bytes) -> Opening:
    def sign(driver: Driver, writes: bool) -> None:
        reviewer = storable(actor())
        signed = signature(key, driver.info.backend_pid, reviewer) + reviewer
        _run(driver, "SELECT set_config('psychemme.reviewer', %s, true)", signed)
        if writes:
            _run(
                driver,
                "SELECT pg_advisory_xact_lock_shared(%s), pg_advisory_xact_lock(%s, %s)",
                _WRITERS,
                _WRITERS,
                lock_number(key, reviewer),
            )

    return sign


def signature(key: bytes, backend: int, reviewer: str) -> str:
    """Return what says that `reviewer` acts in the server process `backend` (hex SHA-256)."""
    inner = hashlib.sha256(key + f"{backend}|{reviewer}".encode()).digest()
    return hashlib.sha256(key + inner).hexdigest()


def lock_number(key: bytes, reviewer: str) -> int:
    """Return the lock of a reviewer's writes (32 bits), of which logins see that it is held.

    Only who has the key can tell whose it is.
    """
    digest = hmac.digest(key, f"lock|{reviewer}".encode(), hashlib.sha256)
    return int.from_bytes(digest[:4], signed=True)


def _reviewer_key(address: PostgresAddress) -> bytes:
    with _connect(address, DbRole.CURATOR, address.database) as driver:
        row = driver.execute(f"SELECT key FROM {KEY_TABLE}").fetchone()  # noqa: S608
    if row is None:
        raise WorkspaceError(f"{address} has no key of reviewers.", "Run `psychemme db upgrade`.")
    return bytes(row[0])


def _run(driver: Driver, statement: str, *parameters: object) -> None:
    driver.execute(statement.encode(), parameters or None)


def _connect(
    address: PostgresAddress, login: str, database: str, *, autocommit: bool = False
) -> Driver:
    password = address.password(login)
    try:
        return psycopg.connect(
            host=address.host,
            port=address.port,
            dbname=database,
            user=address.user(login),
            password=password,
            application_name=f"psychemme:{login}",
            connect_timeout=_CONNECT_TIMEOUT,
            options="-c search_path=public -c timezone=UTC -c client_encoding=UTF8 "
            f"-c idle_in_transaction_session_timeout={_IDLE_SECONDS}s",
            autocommit=autocommit,
        )
    except psycopg.OperationalError as error:
        raise _explained(address, login, str(error)) from None


def _explained(address: PostgresAddress, login: str, said: str) -> UserError:
    """Return why the server let `login` not in, from what the driver `said`."""
    user = address.user(login)
    if "password authentication failed" in said or "no password" in said:
        again = "" if login == ADMIN else "; or set it on the server again with `psychemme db init`"
        return ConfigError(
            f"{address} refuses the password of {user}.", f"Correct {place_of(login)}{again}."
        )
    if "does not exist" in said and "role" not in said:
        return WorkspaceError(
            f"{address} does not exist on its server.", "Run `psychemme db init` to create it."
        )
    if "does not exist" in said or "permission denied" in said or "not permitted" in said:
        return WorkspaceError(
            f"{address} does not let {user} in.", "Run `psychemme db init` to create its roles."
        )
    reason = said.strip().rpartition("\n")[2].strip().rstrip(".?!:") or "no reason given"
    return DatabaseAway(
        f"{address} cannot be reached: {reason}.",
        "Check the setting `database`, and that the server runs and takes connections; then run "
        "the command again (`generate` with --resume). What was committed is kept.",
    )
