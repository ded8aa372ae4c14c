"""Attacks on PostgreSQL: blank databases, running a statement, and all that a database holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from state.address import PostgresAddress
from state.attacks.outcome import Outcome

if TYPE_CHECKING:
    import psycopg

    from state.attacks.catalogue import Attack
    from state.attacks.runner import Blank

_MAINTENANCE = "postgres"
_SCHEMA = """
SELECT relname::text, relkind::text, relacl::text, reloptions::text FROM pg_class
  WHERE relnamespace NOT IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
UNION ALL SELECT proname, prosrc, proacl::text, prosecdef::text FROM pg_proc
  WHERE pronamespace <> 'pg_catalog'::regnamespace
UNION ALL SELECT tgname, tgenabled::text, tgrelid::text, NULL FROM pg_trigger
UNION ALL SELECT polname, polrelid::text, pg_get_expr(polqual, polrelid), NULL FROM pg_policy
UNION ALL SELECT nspname, nspacl::text, NULL, NULL FROM pg_namespace
UNION ALL SELECT datname, datacl::text, NULL, NULL FROM pg_database
  WHERE datname = current_database()
UNION ALL SELECT rolname, to_jsonb(r)::text, NULL, NULL FROM pg_roles r
  WHERE rolname LIKE 'psychemme%%'
UNION ALL SELECT roleid::text, member::text, NULL, NULL FROM pg_auth_members
UNION ALL SELECT oid::text, NULL, NULL, NULL FROM pg_largeobject_metadata
UNION ALL SELECT defaclrole::text, defaclobjtype::text, defaclacl::text, NULL FROM pg_default_acl
UNION ALL SELECT setrole::text, setdatabase::text, setconfig::text, NULL FROM pg_db_role_setting
ORDER BY 1, 2, 3, 4
"""
_SAID = (
    "severity_nonlocalized",
    "sqlstate",
    "message_primary",
    "message_detail",
    "message_hint",
    "statement_position",
    "context",
    "schema_name",
    "table_name",
    "column_name",
    "datatype_name",
    "constraint_name",
)
_TABLES = """
SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user
ORDER BY 1
"""


@contextmanager
def blanks(address: PostgresAddress) -> Iterator["Blank"]:
    """Give blank databases on the server of `address`; they are dropped at the end."""
    from state import grants, migrate
    from state.engines.postgres import OWNER, connect_admin, drop_database
    from state.scratch import scratch_database

    made, numbers = list[PostgresAddress](), count()

    def blank() -> PostgresAddress:
        made.append(replace(first, database=f"{first.database}_{next(numbers)}"))
        copy = f"CREATE DATABASE {made[-1].database} TEMPLATE {first.database} OWNER {OWNER}"
        for statement in (copy, *grants.of_database(made[-1].database)):
            admin.execute(statement.encode())
        return made[-1]

    with scratch_database(address) as first, connect_admin(address, _MAINTENANCE) as admin:
        migrate.upgrade(first)
        try:
            yield blank
        finally:
            for one in made:
                drop_database(admin, one.database)


def run(connection: Connection, attack: "Attack") -> Outcome:
    """Run a statement with the driver, which takes several at once, and commit what it did."""
    import psycopg

    transaction = connection.begin()
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"no PostgreSQL connection: {driver!r}")
    name, notices = driver.info.dbname, list[str]()

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        # What a notice says is gone once the statement's result is.
        notices.append(_all_of(notice))

    driver.add_notice_handler(hear)
    is_undone = False
    try:
        rows = _alone(driver, attack.sql) if attack.alone else _rows(driver, attack.sql)
        driver.commit()
        said: object = rows
        is_refused = False
    except psycopg.Error as error:
        said, is_refused = (_all_of(error.diag), str(error)), True
        is_undone = ";" not in attack.sql and not attack.alone
    finally:
        driver.remove_notice_handler(hear)
        transaction.rollback()
        if not is_undone:
            # What a statement left in the session does not meet the next one.
            connection.invalidate()
    # The names of the two databases differ, and are no secret.
    told = repr((said, notices))
    return Outcome(is_refused, told.replace(name, "this"))


def everything(connection: Connection) -> list[object]:
    """Return the schema, the rights, and every row of every table."""
    tables = [str(name) for (name,) in connection.exec_driver_sql(_TABLES)]
    rows = " UNION ALL ".join(f"SELECT '{t}', {t}::text FROM {t}" for t in tables)  # noqa: S608
    return [
        connection.exec_driver_sql(_SCHEMA).all(),
        connection.exec_driver_sql(f"{rows} ORDER BY 1, 2").all(),
    ]


def _rows(driver: "psycopg.Connection[Any]", sql: str) -> list[object]:
    with driver.cursor() as cursor:
        if sql.startswith("COPY") and "STDOUT" in sql:
            with cursor.copy(sql.encode()) as copied:
                return [bytes(block) for block in copied]
        if sql.startswith("COPY") and "STDIN" in sql:
            with cursor.copy(sql.encode()) as copied:
                copied.write("x\n")
                return []
        cursor.execute(sql.encode())
        found: list[object] = []
        while True:
            found.append(cursor.fetchall() if cursor.description else cursor.rowcount)
            if not cursor.nextset():
                return found


def _alone(driver: "psycopg.Connection[Any]", sql: str) -> list[object]:
    driver.rollback()
    driver.autocommit = True
    return _rows(driver, sql)


def _all_of(said: "psycopg.errors.Diagnostic") -> str:
    """Return everything that the server says with an error or a notice."""
    return repr([getattr(said, name) for name in _SAID])
