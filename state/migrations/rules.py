"""Rules that the engine keeps: a trigger refuses a row, in the words of either database."""

from alembic import op


def is_sqlite() -> bool:
    """Return whether the revision runs on SQLite."""
    return op.get_bind().dialect.name == "sqlite"


def refuse(table: str, rule: str, when: str, message: str) -> None:
    """Refuse every new row of `table` for which the condition `when` holds, with `message`.

    PostgreSQL asks the rules of a table in alphabetical order, with the rights of their owner.
    """
    name = f"{table}_{rule}"
    if is_sqlite():
        op.execute(
            f"CREATE TRIGGER {name} BEFORE INSERT ON {table} WHEN {when} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )
        return
    # 23514 is a violated check: the driver's IntegrityError, as on SQLite.
    raised = f"RAISE EXCEPTION '{message}' USING ERRCODE = '23514'"
    on_row(table, name, f"IF ({when}) THEN {raised}; END IF;")


def on_row(table: str, name: str, body: str) -> None:
    """Run `body` (PL/pgSQL) before every new row of `table`; PostgreSQL only."""
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
        f"SET search_path = pg_catalog, public, pg_temp AS $$ BEGIN {body} RETURN NEW; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {name} BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"
    )
