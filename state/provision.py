"""The database, its owner and its logins on a PostgreSQL server, and whether they are sound."""

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import Connection

from psychemme.config import SECRETS_VARIABLE
from psychemme.errors import ConfigError
from state import grants, migrate
from state.address import Address, PostgresAddress
from state.engines import open_owner
from state.engines.postgres import OWNER, Driver, connect_admin
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
_MOST_SHOWN = 120
_PASSWORD_BYTES = 24


def create(address: PostgresAddress) -> None:
    """Create the owner, the logins and the database where they are missing.

    Passwords become those of `address`. Raises ConfigError where a login is to be created and has
    none.
    """
    with connect_admin(address, _MAINTENANCE) as admin:
        present = {row[0] for row in admin.execute("SELECT rolname FROM pg_roles")}
        _refuse_missing(address, present)
        if OWNER not in present:
            _run(admin, f"CREATE ROLE {OWNER} NOLOGIN")
        _run(admin, f'GRANT {OWNER} TO "{address.admin}"')
        for role in DbRole:
            name = grants.login(role)
            if name not in present:
                _run(admin, f"CREATE ROLE {name} LOGIN NOINHERIT")
            if role in address.passwords:
                _set_password(admin, name, address.password(role))
        there = "SELECT 1 FROM pg_database WHERE datname = %s"
        if admin.execute(there, (address.database,)).fetchone() is None:
            _run(
                admin,
                f'CREATE DATABASE "{address.database}" OWNER {OWNER} TEMPLATE template0 '
                "ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'",
            )


def write_passwords(address: PostgresAddress, path: Path) -> PostgresAddress:
    """Make the passwords of roles that `address` lacks, write all to a new file, return both.

    Raises ConfigError where `path` exists.
    """
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
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return complete


def faults(address: Address) -> list[str]:
    """Return what is wrong with the schema of a database, its logins and their rights.

    Raises WorkspaceError where it is of another revision, or sorts otherwise than by code point.
    """
    migrate.check(address)
    found = [f"schema: {one}"[:_MOST_SHOWN] for one in migrate.drift(address)]
    if isinstance(address, Path):
        return found
    engine = open_owner(address)
    with engine.execution_options(write=False).connect() as connection:
        found += [*_login_faults(connection), *_right_faults(connection, address.database)]
    engine.dispose()
    return found


def _login_faults(connection: Connection) -> list[str]:
    names = [OWNER, *map(grants.login, DbRole)]
    attributes = ", ".join(_TRUSTED)
    roles = connection.exec_driver_sql(
        f"SELECT rolname, rolcanlogin, {attributes} FROM pg_roles WHERE rolname = ANY(%s)",  # noqa: S608
        (names,),
    ).mappings()
    of = {row["rolname"]: row for row in roles}
    found = [f"the role {name} does not exist" for name in names if name not in of]
    for name, row in of.items():
        found += [f"{name} has the attribute {a}" for a in _TRUSTED if row[a]]
        if row["rolcanlogin"] != (name != OWNER):
            found.append(f"{name} {'can' if row['rolcanlogin'] else 'cannot'} log in")
    members = connection.exec_driver_sql(_MEMBERS, {"names": names})
    return found + [f"{member} is a member of {group}" for member, group in members]


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
