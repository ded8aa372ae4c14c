"""Refuse a reviewer's rows that nobody could read, and let the engine say when they were committed.

A row of a shape that the stores never write would stop everybody who reads all of them. Both rules
are for a reviewer's roles: the curator's imports and copies hold what was checked or committed
before.
"""

from alembic import op

from state.migrations.rules import is_sqlite, on_row

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = ("question_validity", "answer_correctness", "psychological_consistency")
_VERDICTS = ", ".join(f"'{name}'" for name in _COLUMNS)
_SKIPS = (
    "'conflict_of_interest', 'distress', 'cannot_play', 'cannot_follow_language', 'cannot_judge'"
)
_TIMES = "NEW.seconds NOT BETWEEN 0 AND 1000000 OR NEW.watched NOT BETWEEN 0 AND 1"
_VOTE = " OR ".join(
    (
        *(f"(NEW.kind = 'verdict') <> (NEW.{name} IS NOT NULL)" for name in _COLUMNS),
        f"NEW.skip_reason NOT IN ({_SKIPS})",
        "(NEW.kind = 'verdict' AND NEW.skip_reason IS NOT NULL)",
        "NEW.revision NOT BETWEEN 1 AND 1000000",
        _TIMES,
    )
)
# Octets: more than the review page ever sends.
_LONGEST = {
    "votes": {"comment": 16_000, "reasons_json": 16_000, "request_id": 64},
    "blind_answers": {"answer_json": 25_000, "request_id": 64},
}


def _too_long(table: str, size: str) -> str:
    most = _LONGEST[table].items()
    return " OR ".join(f"{size.format(f'NEW.{name}')} > {octets}" for name, octets in most)


_SQLITE_SIZE, _POSTGRES_SIZE = "length(CAST({} AS BLOB))", "octet_length({})"
# JSON may spell half a character, or a NUL, that no text holds; two backslashes spell one.
_SQLITE_PLAIN = r"replace(NEW.answer_json, '\\', '')"
_SQLITE_SPELT = rf"{_SQLITE_PLAIN} GLOB '*\u[dD]*' OR {_SQLITE_PLAIN} GLOB '*\u0000*'"
_POSTGRES_SPELT = r"replace(NEW.answer_json, E'\\\\', '') ~ E'\\\\u([dD]|0000)'"
_SQLITE = {
    "votes": (
        "votes: of no known shape",
        "typeof(NEW.comment) <> 'text' OR typeof(NEW.reasons_json) <> 'text' "
        "OR typeof(NEW.seconds) <> 'real' OR typeof(NEW.watched) <> 'real' "
        "OR typeof(NEW.revision) <> 'integer' "
        f"OR {_VOTE} OR {_too_long('votes', _SQLITE_SIZE)} "
        "OR json_type(NEW.reasons_json) <> 'object' "
        "OR EXISTS (SELECT 1 FROM json_tree(NEW.reasons_json) t WHERE t.parent IS NOT NULL "
        f"AND NOT (t.path = '$' AND t.type = 'array' AND t.key IN ({_VERDICTS})) "
        "AND NOT (t.path <> '$' AND t.type = 'text' AND t.value <> '' "
        "AND t.value NOT GLOB '*[^A-Za-z0-9_-]*'))",
    ),
    "blind_answers": (
        "blind_answers: no answer",
        "typeof(NEW.answer_json) <> 'text' "
        "OR typeof(NEW.seconds) <> 'real' OR typeof(NEW.watched) <> 'real' "
        f"OR {_TIMES} OR {_too_long('blind_answers', _SQLITE_SIZE)} OR {_SQLITE_SPELT} "
        "OR json_type(NEW.answer_json) NOT IN ('text', 'array') "
        "OR NOT EXISTS (SELECT 1 FROM json_each(NEW.answer_json)) "
        "OR EXISTS (SELECT 1 FROM json_each(NEW.answer_json) e WHERE e.type <> 'text')",
    ),
}
_NO_TEXT = "EXISTS (SELECT 1 FROM json_array_elements({}) e WHERE json_typeof(e) <> 'string')"
_NO_ID = "EXISTS (SELECT 1 FROM json_array_elements({}) e WHERE e::text !~ '^\"[A-Za-z0-9_-]+\"$')"
# Steps, and not one condition: a plan works out beforehand what it may, for other shapes as well.
_POSTGRES = {
    "votes": (
        "votes: of no known shape",
        f"IF {_VOTE} OR {_too_long('votes', _POSTGRES_SIZE)} "
        "OR strpos(NEW.reasons_json, chr(92)) > 0 OR NEW.reasons_json IS NOT JSON OBJECT "
        "THEN {raised}; END IF; "
        "IF EXISTS (SELECT 1 FROM json_each(NEW.reasons_json::json) r "
        f"WHERE r.key NOT IN ({_VERDICTS}) OR CASE json_typeof(r.value) "
        f"WHEN 'array' THEN {_NO_ID.format('r.value')} ELSE true END) THEN {{raised}}; END IF;",
    ),
    "blind_answers": (
        "blind_answers: no answer",
        f"IF {_TIMES} OR {_too_long('blind_answers', _POSTGRES_SIZE)} OR {_POSTGRES_SPELT} "
        "THEN {raised}; END IF; "
        "IF NEW.answer_json IS JSON ARRAY THEN "
        "IF json_array_length(NEW.answer_json::json) = 0 "
        f"OR {_NO_TEXT.format('NEW.answer_json::json')} THEN {{raised}}; END IF; "
        "ELSIF json_typeof(NEW.answer_json::json) <> 'string' THEN {raised}; END IF;",
    ),
}
_OWN = "current_reviewer() IS NOT NULL"
_SAME = " AND ".join(f"{{0}}.{n} = NEW.{n}" for n in ("candidate_key", "version", "reviewer_id"))
_ASSIGNED = f"(SELECT a.is_unblinded FROM assignments a WHERE {_SAME.format('a')})"
_NOW_SQLITE = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
_NOW_POSTGRES = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_APART = "{0} NOT BETWEEN {1} - 5000000 AND {1} + 5000000"
"""Microseconds: a store's own reading of the clock is kept where the engine's is as good as it."""


def upgrade() -> None:
    if is_sqlite():
        for table, (said, when) in _SQLITE.items():
            _widen_on_sqlite(table, said, f"{_OWN} AND ({when})")
            _stamp_on_sqlite(table)
    else:
        for table, (said, steps) in _POSTGRES.items():
            _widen_on_postgres(table, said, steps)
            _stamp_on_postgres(table)


def _widen_on_sqlite(table: str, said: str, when: str) -> None:
    """Let the rule that says `said` hold for `when` too; 0005 made all rules of a table one."""
    name, raised = f"{table}_rules", f" THEN RAISE(ABORT, '{said}')"
    query = f"SELECT sql FROM sqlite_master WHERE name = '{name}'"
    sql = str(op.get_bind().exec_driver_sql(query).scalar_one())
    op.execute(f"DROP TRIGGER {name}")
    op.get_bind().exec_driver_sql(sql.replace(raised, f" OR ({when}){raised}"))


def _stamp_on_sqlite(table: str) -> None:
    key, wrong = _SAME.format(table), _APART.format("NEW.committed_at", _NOW_SQLITE)
    stamped = f"committed_at = {_NOW_SQLITE}"
    if table == "votes":
        key += " AND votes.revision = NEW.revision"
    else:
        wrong += f" OR NEW.is_unblinded IS NOT {_ASSIGNED}"
        stamped += f", is_unblinded = {_ASSIGNED}"
    op.execute(
        f"CREATE TRIGGER {table}_stamp AFTER INSERT ON {table} WHEN {_OWN} AND ({wrong}) "
        f"BEGIN UPDATE {table} SET {stamped} WHERE {key}; END"
    )


def _widen_on_postgres(table: str, said: str, steps: str) -> None:
    find = (
        "SELECT t.tgname, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
        f"WHERE t.tgname ~ '^{table}_[0-9]+_shaped$'"
    )
    name, source = op.get_bind().exec_driver_sql(find).one()
    op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute(f"DROP FUNCTION {name}()")
    raised = f"RAISE EXCEPTION '{said}' USING ERRCODE = '23514'"
    before = source.strip().removeprefix("BEGIN").removesuffix("RETURN NEW; END").strip()
    on_row(table, name, f"{before} IF {_OWN} THEN {steps.format(raised=raised)} END IF;")


def _stamp_on_postgres(table: str) -> None:
    wrong = _APART.format("NEW.committed_at", _NOW_POSTGRES)
    stamped = f"IF {wrong} THEN NEW.committed_at := {_NOW_POSTGRES}; END IF;"
    if table == "blind_answers":
        stamped += f" NEW.is_unblinded := {_ASSIGNED};"
    on_row(table, f"{table}_stamp", f"IF {_OWN} THEN {stamped} END IF;")
