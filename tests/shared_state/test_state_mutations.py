"""Each rule of isolation, taken away alone, lets an attack through, or another rule covers it."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from state.attacks import postgres, sqlite
from state.attacks.catalogue import Attack, attacks
from state.attacks.classification import REVIEWERS, secrets
from state.attacks.database import Planted
from state.attacks.rules import Rule, rules
from state.attacks.runner import Blank, pair, results
from state.engines import sqlite as engine_sqlite
from state.roles import APPEND_ONLY, ROLE_TABLE, DbRole
from tests.support.postgres import fresh_database

VIEWS = (
    "own_items",
    "own_episodes",
    "own_answers",
    "own_votes",
    "own_drafts",
    "revealed_references",
    "revealed_cues",
)

SPIES = tuple(role for role in DbRole if role is not DbRole.CURATOR)


@pytest.fixture(scope="module")
def files() -> Iterator[Blank]:
    with sqlite.blanks() as blank:
        yield blank


@pytest.fixture(scope="module")
def databases() -> Iterator[Blank]:
    with postgres.blanks(fresh_database()) as blank:
        yield blank


def granted(role: DbRole, table: str, column: str) -> dict[DbRole, object]:
    grants = ROLE_TABLE[role]
    kind = "views" if role in REVIEWERS else "read"
    held = getattr(grants, kind)
    wider = held | {table: held.get(table, frozenset()) | {column}}
    return {role: replace(grants, **{kind: wider})}


@pytest.mark.parametrize(
    "role",
    [
        role if role is DbRole.ANSWER else pytest.param(role, marks=pytest.mark.slow)
        for role in SPIES
    ],
)
def test_each_secret_column_leaks_once_it_is_granted_on_sqlite(
    files: Blank, role: DbRole, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    with pair(files, role) as two:
        for table, column in secrets(role):
            with monkeypatch.context() as patch:
                patch.setitem(ROLE_TABLE, role, granted(role, table, column)[role])
                for one in two:
                    one.reopen()
                if not is_told_apart(two, table, column):
                    kept.append(f"{table}.{column}")
    assert kept == []


@pytest.mark.slow
@pytest.mark.parametrize("role", SPIES)
def test_each_secret_column_leaks_once_it_is_granted_on_postgres(
    databases: Blank, role: DbRole
) -> None:
    kept = []
    with pair(databases, role) as two:
        for table, column in secrets(role):
            right = f'SELECT ("{column}") ON {table}'
            change(two, f"GRANT {right} TO psychemme_{role}")
            if not is_told_apart(two, table, column):
                kept.append(f"{table}.{column}")
            change(two, f"REVOKE {right} FROM psychemme_{role}")
    assert kept == []


def is_told_apart(two: list[Planted], table: str, column: str) -> bool:
    first, second = (one.run(Attack("", f'SELECT "{column}" FROM {table}')) for one in two)
    return first != second


def gains(two: list[Planted], statements: list[Attack]) -> Iterator[str]:
    for _, _, gain in results(two, statements):
        if gain:
            yield gain


def change(two: list[Planted], statement: str) -> None:
    for one in two:
        one.change(statement)


# Rules of SQLite's authorizer: what is let through where the rule is missing.
def _let(*actions: str) -> Callable[..., bool]:
    codes = {getattr(sqlite3, f"SQLITE_{action}") for action in actions}
    return lambda action, *_: action in codes


CREATE = ("CREATE_TABLE", "CREATE_INDEX", "CREATE_TRIGGER", "CREATE_VIEW")
TEMP = ("CREATE_TEMP_TABLE", "CREATE_TEMP_INDEX", "CREATE_TEMP_TRIGGER", "CREATE_TEMP_VIEW")
DROP = tuple(name.replace("CREATE", "DROP") for name in (*CREATE, *TEMP))
READ, INSERT = sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT
UPDATE, DELETE = sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE
CLAUSES: dict[str, Callable[..., bool]] = {
    "PRAGMA is denied": _let("PRAGMA"),
    "ATTACH is denied": _let("ATTACH"),
    "DETACH is denied": _let("DETACH"),
    "creating is denied": _let(*CREATE, "CREATE_VTABLE"),
    "creating temporary objects is denied": _let(*TEMP),
    "dropping is denied": _let(*DROP, "DROP_VTABLE"),
    "ALTER is denied": _let("ALTER_TABLE"),
    "REINDEX is denied": _let("REINDEX"),
    "ANALYZE is denied": _let("ANALYZE"),
    "SAVEPOINT is denied": _let("SAVEPOINT"),
    "recursion is denied": _let("RECURSIVE"),
    "functions are listed": _let("FUNCTION"),
    "columns are listed": lambda action, *_: action == READ,
    "a table is read by no column only where one is granted": (
        lambda action, table, column, *_: action == READ and column == ""
    ),
    "the schema is not read": (
        lambda action, table, *_: action == READ and table.startswith("sqlite_")
    ),
    "inserts are listed": lambda action, *_: action == INSERT,
    "updates are listed": lambda action, *_: action == UPDATE,
    "deletes are listed": lambda action, *_: action == DELETE,
    "only the database main is used": (
        lambda action, table, column, database, _: (
            action in (READ, INSERT, UPDATE, DELETE) and database == "temp"
        )
    ),
    "what reads in a statement's stead is not believed": (
        lambda action, table, column, database, source: action == READ and source is not None
    ),
}
WORDS = ("USING", "NATURAL", "WITH")


# Statements of the owner that take a rule of the schema away.
TakeAway = Callable[[Planted, DbRole], list[str]]


def _sql(one: Planted, name: str) -> str:
    (row,) = one.ask(f"SELECT sql FROM sqlite_master WHERE name = '{name}'")
    return str(row[0])


def _drop_trigger(name: str) -> TakeAway:
    return lambda *_: [f"DROP TRIGGER {name}"]


def _without_case(table: str, said: str) -> TakeAway:
    def take(one: Planted, _: DbRole) -> list[str]:
        cases = _sql(one, f"{table}_rules")
        rest = re.sub(rf" WHEN (?:(?! WHEN ).)*RAISE\(ABORT, '{said}'\)", "", cases)
        assert rest != cases
        return [f"DROP TRIGGER {table}_rules", rest]

    return take


def _replace_view(name: str, old: str, new: str) -> TakeAway:
    def take(one: Planted, _: DbRole) -> list[str]:
        query = _sql(one, name)
        assert old in query
        return [f"DROP VIEW {name}", query.replace(old, new)]

    return take


def _with_rowid(one: Planted, _: DbRole) -> list[str]:
    table, own, once = (_sql(one, name) for name in ("steps", "steps_own", "steps_append_only"))
    assert "WITHOUT ROWID" in table
    kept = "ALTER TABLE steps RENAME TO kept"
    back = "INSERT INTO steps SELECT * FROM kept"
    rebuilt = [kept, table.replace("WITHOUT ROWID", ""), back, "DROP TABLE kept"]
    return [*rebuilt, own, once]


MINE = "reviewer_id = current_reviewer()"
REVIEW_RULES = {
    "votes": (
        "not your own",
        "not assigned",
        "closed",
        "sent twice",
        "of no known shape",
        "answer first",
    ),
    "blind_answers": ("not your own", "not assigned", "closed", "no answer"),
    "review_drafts": ("not your own", "not assigned", "closed"),
}
SCHEMA: dict[str, TakeAway] = {
    **{
        f"trigger {table}_append_only": _drop_trigger(f"{table}_append_only")
        for table in sorted(set(APPEND_ONLY) - set(REVIEW_RULES))
    },
    "trigger steps_own": _drop_trigger("steps_own"),
    "trigger ledger_own": _drop_trigger("ledger_own"),
    **{
        f"{table}: {said}": _without_case(table, f"{table}: {said}")
        for table, messages in REVIEW_RULES.items()
        for said in messages
    },
    **{
        f"{table} is append-only": _without_case(table, f"{table} is append-only")
        for table in ("votes", "blind_answers")
    },
    "tables have no row id": _with_rowid,
    **{
        f"view {view}: the reviewer's own rows": _replace_view(
            view, MINE, MINE.split()[0] + " > ''"
        )
        for view in VIEWS
    },
    **{
        f"view {view}: fence": _replace_view(view, " LIMIT -1", "")
        for view in VIEWS
        if view != "own_episodes"
    },
}


def _grant(right: str) -> TakeAway:
    return lambda _, role: [f"GRANT {right} TO psychemme_{role}"]


def _grant_database(right: str) -> TakeAway:
    return lambda one, role: [f'GRANT {right} ON DATABASE "{one.name}" TO psychemme_{role}']


def _drop_postgres(table: str, rule: str) -> TakeAway:
    def take(one: Planted, _: DbRole) -> list[str]:
        (row,) = one.ask(
            f"SELECT tgname FROM pg_trigger WHERE tgname ~ '^{table}_([0-9]+_)?{rule}$'"
        )
        return [f"DROP TRIGGER {row[0]} ON {table}"]

    return take


def _definition(one: Planted, name: str) -> str:
    (row,) = one.ask(f"SELECT pg_get_viewdef('{name}'::regclass)")
    return str(row[0]).rstrip(";")


def _all_rows(view: str) -> TakeAway:
    def take(one: Planted, _: DbRole) -> list[str]:
        query = _definition(one, f"private.{view}")
        mine = r"\(\([\w.]*reviewer_id\)::text = \( SELECT current_reviewer\(\)[^)]*\)\)"
        wider = re.sub(mine, "true", query)
        assert wider != query
        return [f"CREATE OR REPLACE VIEW private.{view} AS {wider}"]

    return take


def _unsigned(_: Planted, __: DbRole) -> list[str]:
    said = "coalesce(substr(current_setting('psychemme.reviewer', true), 65), '')"
    return [
        "CREATE OR REPLACE FUNCTION current_reviewer() RETURNS text LANGUAGE sql STABLE "
        f"SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT {said} $$"
    ]


POSTGRES_RULES = {
    "votes": ("own", "assigned", "open", "once", "shaped", "answered"),
    "blind_answers": ("own", "assigned", "open", "shaped"),
    "review_drafts": ("own", "assigned", "open"),
}
POSTGRES: dict[str, TakeAway] = {
    **{
        f"trigger {table}: {rule}": _drop_postgres(table, rule)
        for table, names in POSTGRES_RULES.items()
        for rule in names
    },
    "trigger steps: own": _drop_postgres("steps", "own"),
    "trigger ledger: own": _drop_postgres("ledger", "own"),
    "no right to create temporary objects": _grant_database("TEMPORARY"),
    "no right to create schemas": _grant_database("CREATE"),
    "no right to create in schema public": _grant("CREATE ON SCHEMA public"),
    "no right to read the key": lambda _, role: [
        f"GRANT USAGE ON SCHEMA private TO psychemme_{role}",
        f"GRANT SELECT ON private.reviewer_key TO psychemme_{role}",
    ],
    "no right to read tables": _grant("SELECT ON ALL TABLES IN SCHEMA public"),
    "inserts are listed": _grant("INSERT ON ALL TABLES IN SCHEMA public"),
    "updates are listed": _grant("UPDATE ON ALL TABLES IN SCHEMA public"),
    "deletes are listed": _grant("DELETE ON ALL TABLES IN SCHEMA public"),
    "no right to truncate": _grant("TRUNCATE ON ALL TABLES IN SCHEMA public"),
    "no right to trigger": _grant("TRIGGER ON ALL TABLES IN SCHEMA public"),
    "no right to make large objects": lambda _, role: [
        f"RESET ROLE; GRANT EXECUTE ON FUNCTION lo_create(oid) TO psychemme_{role}"
    ],
    "the reviewer is signed for": _unsigned,
    **{f"view {view}: the reviewer's own rows": _all_rows(view) for view in VIEWS},
    **{
        f"view {view}: behind a function": lambda *_, v=view: [
            f"CREATE OR REPLACE VIEW {v} WITH (security_barrier) AS SELECT * FROM private.{v}",
        ]
        for view in VIEWS
    },
    **{
        f"view {view}: security barrier": lambda *_, v=view: [
            f"ALTER VIEW {v} RESET (security_barrier)",
            f"ALTER VIEW private.{v} RESET (security_barrier)",
        ]
        for view in VIEWS
    },
}


def test_every_rule_is_in_the_table() -> None:
    named = {rule.name for rule in rules("sqlite")}
    assert named == {*CLAUSES, *(f"the word {word} is refused" for word in WORDS), *SCHEMA}
    assert {rule.name for rule in rules("postgres")} == set(POSTGRES)


@pytest.mark.parametrize("rule", [r for r in rules("sqlite") if r.name in CLAUSES], ids=str)
def test_a_clause_of_the_authorizer(
    files: Blank, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, let = engine_sqlite.authorizer, CLAUSES[rule.name]

    def widened(role: DbRole) -> engine_sqlite.Authorizer:
        decide = honest(role)
        return lambda *asked: sqlite3.SQLITE_OK if let(*asked) else decide(*asked)

    monkeypatch.setattr(engine_sqlite, "authorizer", widened)
    assert_missed(files, rule)


@pytest.mark.parametrize("word", WORDS)
def test_a_guarded_word(files: Blank, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = re.compile("|".join(one for one in WORDS if one != word), re.IGNORECASE)
    monkeypatch.setattr(engine_sqlite, "_UNASKED", rest)
    (rule,) = (one for one in rules("sqlite") if one.name == f"the word {word} is refused")
    assert_missed(files, rule)


@pytest.mark.parametrize("rule", [r for r in rules("sqlite") if r.name in SCHEMA], ids=str)
def test_a_rule_of_the_sqlite_schema(files: Blank, rule: Rule) -> None:
    assert_missed(files, rule, SCHEMA[rule.name])


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules("postgres"), ids=str)
def test_a_rule_of_postgres(databases: Blank, rule: Rule) -> None:
    assert_missed(databases, rule, POSTGRES[rule.name])


def test_what_a_notice_says_is_compared(databases: Blank) -> None:
    block = (
        "DO $$ DECLARE r record; BEGIN FOR r IN SELECT outcome FROM steps LOOP "
        "RAISE NOTICE '%', r; END LOOP; END $$"
    )
    with pair(databases, DbRole.ANSWER) as two:
        change(two, "GRANT SELECT (outcome) ON steps TO psychemme_answer")
        for one in two:
            one.reopen()
        assert "zq7a steps.outcome" in two[0].run(Attack("", block)).said
        assert list(gains(two, [Attack("", block)])) == ["its answer depends on a secret"]


def assert_missed(blank: Blank, rule: Rule, take_away: TakeAway = lambda _, __: []) -> None:
    """A rule that is taken away is missed where the table says so, and nowhere else."""
    tried = attacks(rule.engine, rule.role)
    if rule.kind:
        tried = tuple(one for one in tried if one.kind == rule.kind)
    with pair(blank, rule.role) as two:
        for one in two:
            one.change(*take_away(one, rule.role))
            one.reopen()
        gained = next(gains(two, list(tried)), None)
    assert (gained is None) == bool(rule.covered_by), (rule.name, gained)
