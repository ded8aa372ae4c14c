"""What a database consists of, compared with a freshly migrated one on the same server.

Tables, views, functions and triggers say who sees what and which rows are refused. Any may be
dropped, switched off or replaced by whoever owns the database, and the rows look the same.
"""

from pathlib import Path

from sqlalchemy import Connection

from state.address import Address
from state.engines import open_owner
from state.scratch import scratch

Name = tuple[str, str, str]
"""Kind of an object, its name, and the table it belongs to ('' for none)."""
_SQLITE = "SELECT type, name, CASE WHEN name <> tbl_name THEN tbl_name ELSE '' END, sql FROM {} "
_SQLITE += "WHERE name NOT LIKE 'sqlite_stat%'"


def faults(address: Address) -> list[str]:
    """Return every object that is missing, altered, or there beside what the revisions make."""
    with scratch(address) as fresh:
        wanted = _read(fresh)
    found = _read(address)
    missing, more = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    altered = {name for name in wanted.keys() & found.keys() if wanted[name] != found[name]}
    whole = {name for _, name, table in missing | more if not table}
    return [
        f"{said}: {_shown(name)}"
        for said, names in (
            ("missing", missing),
            ("altered", altered),
            ("beside the schema", more),
        )
        for name in sorted(names)
        # A table that is missing lacks all that it had.
        if name[2] not in whole
    ]


def _shown(name: Name) -> str:
    kind, own, table = name
    return f"{kind} {own} on {table}" if table else f"{kind} {own}"


def _read(address: Address) -> dict[Name, str]:
    engine = open_owner(address)
    with engine.execution_options(write=False).connect() as connection:
        statement = _SQLITE.format("sqlite_master") if isinstance(address, Path) else _POSTGRES
        found = _rows(connection, statement)
    engine.dispose()
    return found


def _rows(connection: Connection, statement: str) -> dict[Name, str]:
    return {
        (kind, name, table): " ".join(str(definition).split())
        for kind, name, table, definition in connection.exec_driver_sql(statement)
    }


_RARE = (
    "pg_am",
    "pg_cast",
    "pg_collation",
    "pg_conversion",
    "pg_default_acl",
    "pg_event_trigger",
    "pg_extension",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_language",
    "pg_opclass",
    "pg_operator",
    "pg_opfamily",
    "pg_policy",
    "pg_publication",
    "pg_statistic_ext",
    "pg_transform",
    "pg_ts_config",
    "pg_ts_dict",
)
"""Kinds of objects of which the Shared State has none: that there is one says enough."""
# What a database is born with has a number below 16384. Rights in our own schemas are compared with
# the role table.
_OBJECTS = """
WITH schemas AS (
  SELECT oid, nspname, nspowner, nspacl, nspname IN ('public', 'private') AS ours
  FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp_)'
), relations AS (
  SELECT c.*, nspname || '.' || relname AS name, ours,
    CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index'
    WHEN 'S' THEN 'sequence' WHEN 'm' THEN 'materialized view' ELSE 'relation' END AS kind
  FROM pg_class c JOIN schemas s ON s.oid = relnamespace
)
SELECT 'schema', nspname::text, '',
    jsonb_build_array(nspowner::regrole, CASE WHEN NOT ours THEN nspacl END)::text
  FROM schemas
UNION ALL SELECT kind, name, '', jsonb_build_array(relkind, relpersistence, reloptions,
    relrowsecurity, relforcerowsecurity, CASE WHEN NOT ours THEN relacl END,
    CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END,
    CASE WHEN relkind = 'i' THEN pg_get_indexdef(oid) END)::text
  FROM relations
UNION ALL SELECT 'column', attname, name, jsonb_build_array(format_type(atttypid, atttypmod),
    attnotnull, attcollation::regcollation, attidentity, attgenerated, pg_get_expr(adbin, adrelid),
    CASE WHEN NOT ours THEN attacl END)::text
  FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid
  LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
  WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'f')
UNION ALL SELECT 'constraint', conname, coalesce(name, ''),
    jsonb_build_array(pg_get_constraintdef(c.oid), convalidated)::text
  FROM pg_constraint c LEFT JOIN relations r ON r.oid = conrelid WHERE c.oid >= 16384
UNION ALL SELECT 'trigger', CASE WHEN tgisinternal
      THEN conrelid::regclass || ' ' || conname || ' ' || tgfoid::regproc ELSE tgname END, name,
    jsonb_build_array(tgenabled,
      CASE WHEN NOT tgisinternal THEN pg_get_triggerdef(t.oid) END)::text
  FROM pg_trigger t JOIN relations r ON r.oid = tgrelid
  LEFT JOIN pg_constraint c ON c.oid = tgconstraint
UNION ALL SELECT 'rule', rulename, name,
    jsonb_build_array(ev_enabled, pg_get_ruledef(w.oid))::text
  FROM pg_rewrite w JOIN relations r ON r.oid = ev_class WHERE rulename <> '_RETURN'
UNION ALL SELECT 'function',
    nspname || '.' || proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', '',
    jsonb_build_array(prokind, prosrc, probin, pg_get_function_sqlbody(p.oid), prosecdef,
      proleakproof, proisstrict, provolatile, proconfig, proowner::regrole, lanname,
      pg_get_function_result(p.oid), CASE WHEN NOT ours THEN proacl END)::text
  FROM pg_proc p JOIN schemas s ON s.oid = pronamespace JOIN pg_language l ON l.oid = prolang
UNION ALL SELECT 'type', nspname || '.' || typname, '', typtype::text
  FROM pg_type t JOIN schemas s ON s.oid = typnamespace
  WHERE t.oid >= 16384 AND typrelid = 0 AND typelem = 0
UNION ALL SELECT 'rights to language', lanname, '', jsonb_build_array(lanacl, lanpltrusted)::text
  FROM pg_language WHERE oid < 16384
UNION ALL SELECT 'large object', oid || ' of ' || lomowner::regrole, '', ''
  FROM pg_largeobject_metadata
UNION ALL SELECT 'subscription', subname, '', '' FROM pg_subscription
  WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_OF_A_KIND = [
    f"UNION ALL SELECT (o).type, (o).identity, '', '' FROM "  # noqa: S608
    f"(SELECT pg_identify_object(tableoid, oid, 0) o FROM {catalogue} WHERE oid >= 16384) x\n"
    for catalogue in _RARE
]
_POSTGRES = "".join((_OBJECTS, *_OF_A_KIND))
