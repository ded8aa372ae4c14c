"""What each PostgreSQL role may do, derived from the role table; nothing is granted by hand.

The rights of SQLite's authorizer, in the words of GRANT. Whatever else is held by anybody but the
owner, PUBLIC included, is a fault.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from state.roles import ROLE_TABLE, DbRole, Grants

PUBLIC = "PUBLIC"
_EXPOSED = ("public", "private")
_GRANTABLE = " WITH GRANT OPTION"
_NO_LARGE_OBJECTS = "REVOKE ALL ON FUNCTION " + (
    "lo_creat(int), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC"
)
_VERSION = "TABLE public.alembic_version"


def login(role: DbRole) -> str:
    """Return the name of a role's login."""
    return f"psychemme_{role}"


@dataclass(frozen=True, order=True)
class Right:
    """`role` may do `privilege` on `object`, on its `column` where one is named."""

    role: str
    object: str
    privilege: str
    column: str = ""

    def __str__(self) -> str:
        column = f" ({self.column})" if self.column else ""
        return f"{self.role}: {self.privilege}{column} on {self.object}"


def wanted(database: str) -> frozenset[Right]:
    """Return every right that the role table gives in `database`."""
    return frozenset(
        right for role, grants in ROLE_TABLE.items() for right in _rights(role, grants, database)
    )


def held(connection: Connection) -> frozenset[Right]:
    """Return every right that anybody but its owner holds in the database."""
    rows = connection.exec_driver_sql(_HELD, {"schemas": list(_EXPOSED)})
    return frozenset(Right(*row) for row in rows)


def apply(connection: Connection) -> None:
    """Take every right away from everybody, and grant what the role table says."""
    owner, database = connection.exec_driver_sql("SELECT current_user, current_database()").one()
    # What the server brings along is the administrator's to take away, not the owner's.
    taken = ["RESET ROLE", _NO_LARGE_OBJECTS, f'SET LOCAL ROLE "{owner}"']
    statements = [*taken, *_revocations(connection, database), *_granting(wanted(database))]
    connection.exec_driver_sql("; ".join(statements))


def of_database(database: str) -> list[str]:
    """Return the statements for the database itself, which a copy of it does not inherit."""
    rights = {right for right in wanted(database) if right.object.startswith("DATABASE")}
    return [f'REVOKE ALL ON DATABASE "{database}" FROM {_everybody()}', *_granting(rights)]


def _granting(rights: Iterable[Right]) -> list[str]:
    together: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for right in sorted(rights):
        together[right.role, right.object, right.privilege].append(right.column)
    return [
        f"GRANT {privilege}{_listed(columns)} ON {place} TO {role}"
        for (role, place, privilege), columns in together.items()
    ]


def _everybody() -> str:
    return ", ".join((PUBLIC, *map(login, DbRole)))


def _rights(role: DbRole, grants: Grants, database: str) -> set[Right]:
    name = login(role)
    rights = {
        Right(name, f'DATABASE "{database}"', "CONNECT"),
        Right(name, "SCHEMA public", "USAGE"),
        Right(name, _VERSION, "SELECT"),
    }
    for table, columns in (grants.read | grants.views).items():
        rights |= {Right(name, _table(table), "SELECT", column) for column in columns}
    for privilege, tables in (
        ("INSERT", grants.insert),
        ("UPDATE", grants.update),
        ("DELETE", grants.delete),
    ):
        rights |= {Right(name, _table(table), privilege) for table in tables}
    if grants.views:
        rights.add(Right(name, "FUNCTION public.current_reviewer()", "EXECUTE"))
        rights |= {
            Right(name, f"FUNCTION private.{view}_rows()", "EXECUTE") for view in grants.views
        }
    if role is DbRole.CURATOR:
        rights.add(Right(name, "SCHEMA private", "USAGE"))
        rights.add(Right(name, "TABLE private.reviewer_key", "SELECT"))
    return rights


def _revocations(connection: Connection, database: str) -> list[str]:
    everybody = _everybody()
    schemas = ", ".join(_EXPOSED)
    revoked = [
        f"REVOKE ALL ON {kind} IN SCHEMA {schemas} FROM {everybody} CASCADE"
        for kind in ("ALL TABLES", "ALL SEQUENCES", "ALL ROUTINES")
    ]
    revoked.append(f"REVOKE ALL ON SCHEMA {schemas} FROM {everybody}")
    revoked.append(f'REVOKE ALL ON DATABASE "{database}" FROM {everybody}')
    # What a role that is none of ours was given.
    strangers = {
        right for right in held(connection) if right.role not in (PUBLIC, *map(login, DbRole))
    }
    revoked += [
        f"REVOKE {right.privilege.removesuffix(_GRANTABLE)}{_listed([right.column])} "
        f'ON {right.object} FROM "{right.role}" CASCADE'
        for right in sorted(strangers)
    ]
    return revoked


def _listed(columns: list[str]) -> str:
    quoted = ", ".join(f'"{column}"' for column in columns if column)
    return f" ({quoted})" if quoted else ""


def _table(name: str) -> str:
    return f"TABLE public.{name}"


_HELD = """
WITH acls(kind, name, column_name, owner, acl) AS (
  SELECT 'DATABASE', '"' || datname || '"', '', datdba, coalesce(datacl, acldefault('d', datdba))
  FROM pg_database WHERE datname = current_database()
  UNION ALL
  SELECT 'SCHEMA', nspname, '', nspowner, coalesce(nspacl, acldefault('n', nspowner))
  FROM pg_namespace WHERE nspname = ANY(%(schemas)s)
  UNION ALL
  SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, nspname || '.' || relname, '',
    relowner, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char",
    relowner))
  FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = ANY(%(schemas)s) AND relkind IN ('r', 'v', 'm', 'p', 'f', 'S')
  UNION ALL
  SELECT 'TABLE', nspname || '.' || relname, attname, relowner, attacl
  FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname = ANY(%(schemas)s) AND attacl IS NOT NULL AND NOT attisdropped
  UNION ALL
  SELECT 'FUNCTION', nspname || '.' || proname || '(' || pg_get_function_identity_arguments(p.oid)
    || ')', '', proowner, coalesce(proacl, acldefault('f', proowner))
  FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = ANY(%(schemas)s)
)
SELECT coalesce(rolname, 'PUBLIC'), kind || ' ' || name,
  privilege_type || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END, column_name
FROM acls, aclexplode(acl) LEFT JOIN pg_roles r ON r.oid = grantee
WHERE grantee <> owner
"""
