"""Ask the rules of review in an order, and hide from a reviewer's plans what others did.

A reviewer who is refused a row learns why, and may not learn of others by it: whether a row is the
reviewer's own is asked first. SQLite fires the triggers of a table in no order that it promises.
PostgreSQL counts in a plan the rows that a view hides, estimates from what they hold, and tries on
them what it takes to leak nothing, a comparison of texts; a function's rows it only counts.
"""

import re

from alembic import op

from state.migrations.rules import is_sqlite

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ORDER = ("own", "assigned", "open", "append_only", "once", "shaped", "answered")
_RULE = re.compile(r"WHEN (.*) BEGIN SELECT RAISE\(ABORT, '(.*)'\); END", re.DOTALL)
BEHIND_FUNCTIONS = (
    "own_items",
    "own_episodes",
    "own_answers",
    "own_votes",
    "own_drafts",
    "revealed_references",
    "revealed_cues",
)


def upgrade() -> None:
    if is_sqlite():
        for table in ("blind_answers", "votes", "review_drafts"):
            _put_in_order(table)
        return
    # Each once, and their long texts never compared.
    op.execute(
        "CREATE OR REPLACE VIEW own_episodes WITH (security_barrier) AS "
        "SELECT e.id, e.preparation, e.duration, e.public_context, e.transcript_json, "
        "e.history_json FROM episodes e WHERE (e.id, e.preparation) IN "
        "(SELECT i.episode_id, i.preparation FROM assignments a JOIN review_items i "
        "ON i.candidate_key = a.candidate_key AND i.version = a.version "
        "WHERE a.reviewer_id = (SELECT current_reviewer()))"
    )
    for view in BEHIND_FUNCTIONS:
        _hide_plan(view)


def _put_in_order(table: str) -> None:
    """Make one trigger of the table's many; the first condition that holds is what is said."""
    found = op.get_bind().exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)
    )
    triggers = {name: sql for name, sql in found}  # noqa: C416
    cases = ""
    for rule in _ORDER:
        if (sql := triggers.get(f"{table}_{rule}")) and (rule_of := _RULE.search(sql)):
            cases += f" WHEN {rule_of.group(1)} THEN RAISE(ABORT, '{rule_of.group(2)}')"
            op.execute(f"DROP TRIGGER {table}_{rule}")
    op.execute(
        f"CREATE TRIGGER {table}_rules BEFORE INSERT ON {table} BEGIN SELECT CASE{cases} END; END"
    )


def _hide_plan(view: str) -> None:
    rows = f"private.{view}_rows"
    op.execute(f"ALTER VIEW {view} SET SCHEMA private")
    op.execute(
        f"CREATE FUNCTION {rows}() RETURNS SETOF private.{view} LANGUAGE sql STABLE "
        "SECURITY DEFINER SET search_path = pg_catalog, pg_temp "
        f"AS $$ SELECT * FROM private.{view} $$"
    )
    op.execute(f"CREATE VIEW {view} WITH (security_barrier) AS SELECT * FROM {rows}()")
