"""The database, its owner and its logins on a PostgreSQL server, and whether they are sound."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import Connection

from psychemme.config import SECRETS_VARIABLE
from psychemme.errors import ConfigError, DatabaseAway, UserError, WorkspaceError
from state import definitions, grants, migrate
from state.address import Address, PostgresAddress
from state.engines import open_owner, prove_logins
from state.engines.postgres import KEY_TABLE, OWNER, Driver, connect_admin, create_database
from state.roles import DbRole

_MAINTENANCE = "postgres"
_TRUSTED = ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls")
_NOT_OWNED = """
SELECT datname FROM pg_database WHERE datname = current_database() AND datdba <> %(owner)s::regrole
UNION ALL
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname IN ('public', 'private') AND relowner <> %(owner)s::regrole
"""
_MEMBERS = """
SELECT m.rolname, g.rolname
FROM pg_auth_members JOIN pg_roles m ON m.oid = member JOIN pg_roles g ON g.oid = roleid
WHERE m.rolname = ANY(%(names)s) OR (g.rolname = ANY(%(names)s) AND m.rolname <> session_user)
"""
_ABOVE = """
SELECT rolname FROM pg_roles
WHERE rolsuper AND rolcanlogin AND rolname <> session_user AND oid <> 10
  AND rolname <> ALL(%(names)s)
ORDER BY 1
"""
"""Superusers but the administrator and the one that the server was made with."""
_SETTINGS = """
SELECT coalesce(rolname, CASE WHEN setdatabase = 0 THEN 'every role' ELSE 'the database' END), one
FROM pg_db_role_setting LEFT JOIN pg_roles r ON r.oid = setrole, unnest(setconfig) one
WHERE (setrole = 0 OR rolname = ANY(%(names)s))
  AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
ORDER BY 1, 2
"""
_KEY_DIGITS = 66
"""Of a key of 32 bytes as PostgreSQL writes it."""
_PASSWORD_BYTES = 24


def create(address: PostgresAddress) -> None:
    """Create the owner, the logins and the database where they are missing.

    Passwords become those of `address`. Raises ConfigError where a login is to be created and has
    none, WorkspaceError where the database is there and cannot be used; no login is changed then.
    """
    with connect_admin(address, _MAINTENANCE) as admin:
        present = {row[0] for row in admin.execute("SELECT rolname FROM pg_roles")}
        _refuse_missing(address, present)
        if OWNER not in present:
            _run(admin, f"CREATE ROLE {OWNER} NOLOGIN")
        _run(admin, f'GRANT {OWNER} TO "{address.admin}"')
        is_there = _is_there(admin, address)
        for role in DbRole:
            name = grants.login(role)
            if name not in present:
                _run(admin, f"CREATE ROLE {name} LOGIN NOINHERIT")
            if role in address.passwords:
                _set_password(admin, name, address.password(role))
        if not is_there:
            create_database(admin, address.database)


@contextmanager
def write_passwords(address: PostgresAddress, path: Path) -> Iterator[PostgresAddress]:
    """Make the passwords of roles that `address` lacks, write all to a new file, yield both.

    The file is removed where what is done with them fails. Raises ConfigError where `path` exists
    or has no folder, or the administrator's password is refused; nothing is written then.
    """
    connect_admin(address, _MAINTENANCE).close()
    made = {role: SecretStr(secrets.token_urlsafe(_PASSWORD_BYTES)) for role in DbRole}
    complete = replace(address, passwords=made | dict(address.passwords))
    # A TOML string is written as JSON's is.
    lines = [
        f"{role} = {json.dumps(complete.password(role), ensure_ascii=False)}\n" for role in DbRole
    ]
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(
            f"{path} exists.", f"Name a new file, or use it: set {SECRETS_VARIABLE}={path}."
        ) from None
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(
            f"{path.parent} is no folder.", "Make it, or name a file in another one."
        ) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(lines)
        yield complete
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def faults(address: Address) -> list[str]:
    """Return what is wrong with the objects of a database, its logins and their rights.

    Raises WorkspaceError where it is of another revision, or sorts otherwise than by code point.
    """
    migrate.check(address)
    if isinstance(address, Path):
        return definitions.faults(address)
    found = _password_faults(address)
    engine = open_owner(address)
    with engine.execution_options(write=False).connect() as connection:
        missing = _missing_roles(connection)
        found += [*missing, *_login_faults(connection), *_server_faults(connection)]
        found += [*_right_faults(connection, address.database), *_key_faults(connection)]
    engine.dispose()
    # Without every role there is no database to compare with.
    return found if missing else definitions.faults(address) + found


def _is_there(admin: Driver, address: PostgresAddress) -> bool:
    """Return whether the database exists; raises WorkspaceError where it cannot be used."""
    asked = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s"
    row = admin.execute(asked, (address.database,)).fetchone()
    if row is None:
        return False
    if row[0] != OWNER:
        raise WorkspaceError(
            f"{address} exists and belongs to {row[0]}, not to {OWNER}.",
            "Name another database; or, if this one is meant, run on the server "
            f'`ALTER DATABASE "{address.database}" OWNER TO {OWNER};` and then the same again.',
        )
    migrate.refuse_unfit(address)
    return True


def _password_faults(address: PostgresAddress) -> list[str]:
    """Return which of the passwords that are known here the server refuses."""
    found = []
    for login in address.passwords:
        try:
            prove_logins(address, [login])
        except DatabaseAway:
            raise
        except UserError as fault:
            found.append(str(fault))
    return found


def _role_names() -> list[str]:
    return [OWNER, *map(grants.login, DbRole)]


def _missing_roles(connection: Connection) -> list[str]:
    present = set(connection.exec_driver_sql("SELECT rolname FROM pg_roles").scalars())
    return [f"the role {name} does not exist" for name in _role_names() if name not in present]


def _login_faults(connection: Connection) -> list[str]:
    names = _role_names()
    attributes = ", ".join(_TRUSTED)
    roles = connection.exec_driver_sql(
        f"SELECT rolname, rolcanlogin, {attributes} FROM pg_roles WHERE rolname = ANY(%s)",  # noqa: S608
        (names,),
    ).mappings()
    found = list[str]()
    for row in roles:
        name = row["rolname"]
        found += [f"{name} has the attribute {a}" for a in _TRUSTED if row[a]]
        if row["rolcanlogin"] != (name != OWNER):
            found.append(f"{name} {'can' if row['rolcanlogin'] else 'cannot'} log in")
    members = connection.exec_driver_sql(_MEMBERS, {"names": names})
    return found + [f"{member} is a member of {group}" for member, group in members]


def _server_faults(connection: Connection) -> list[str]:
    """Return who is above every right, and what is set for our logins beside what they ask for."""
    names = _role_names()
    logins = connection.exec_driver_sql(_ABOVE, {"names": names}).scalars()
    settings = connection.exec_driver_sql(_SETTINGS, {"names": names})
    return [
        *(f"{name} is a superuser who can log in" for name in logins),
        *(f"{who} has a setting of its own: {setting}" for who, setting in settings),
    ]


def _key_faults(connection: Connection) -> list[str]:
    there = connection.exec_driver_sql(f"SELECT to_regclass('{KEY_TABLE}')").scalar_one()
    if there is None:
        return []
    query = f"SELECT to_jsonb(k) ->> 'key' FROM {KEY_TABLE} k"  # noqa: S608
    keys = connection.exec_driver_sql(query).scalars()
    whole = [key for key in keys if len(key or "") >= _KEY_DIGITS]
    return [] if len(whole) == 1 else [f"{KEY_TABLE} holds {len(whole)} keys, not one"]


def _right_faults(connection: Connection, database: str) -> list[str]:
    owners = connection.exec_driver_sql(_NOT_OWNED, {"owner": OWNER}).scalars()
    wanted, held = grants.wanted(database), grants.held(connection)
    return [
        *(f"not owned by {OWNER}: {name}" for name in owners),
        *(f"not granted: {right}" for right in sorted(wanted - held)),
        *(f"granted beside the role table: {right}" for right in sorted(held - wanted)),
    ]


def _refuse_missing(address: PostgresAddress, present: set[str]) -> None:
    unknown = [
        role
        for role in DbRole
        if role not in address.passwords and grants.login(role) not in present
    ]
    if unknown:
        raise ConfigError(
            f"No password is given for the roles to create: {', '.join(unknown)}.",
            "Set them as `psychemme db init --help` says, or add --write-secrets FILE.",
        )


def _set_password(admin: Driver, user: str, password: str) -> None:
    # Only what proves the password leaves this process: servers log statements.
    verifier = admin.pgconn.encrypt_password(password.encode(), user.encode(), b"scram-sha-256")
    _run(admin, f"ALTER ROLE {user} PASSWORD '{verifier.decode()}'")


def _run(admin: Driver, statement: str) -> None:
    admin.execute(statement.encode())
