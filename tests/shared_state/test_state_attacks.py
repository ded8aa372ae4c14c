"""No role gains anything by any statement of the catalogue, on either engine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import SQLModel

from psychemme.errors import ConfigError
from state import migrate, roles, tables
from state.attacks import attack, postgres, sqlite
from state.attacks.catalogue import attacks
from state.attacks.classification import FILE, classification, load
from state.attacks.page import recorded
from state.attacks.report import probe
from state.attacks.runner import Blank, Tally, run_all
from state.attacks.scene import rows_of, scene
from state.engines import open_owner
from state.roles import ROLE_TABLE, DbRole
from tests.support.postgres import fresh_database

FEWEST = 60
# No table has a row id, and the views do not show whose row it is: rules, not faults.
_FAULT = re.compile("syntax error|no such column: (?!(oid|rowid|reviewer_id)$)")
ROLES = tuple(DbRole)


@pytest.fixture(scope="module")
def files() -> Iterator[Blank]:
    with sqlite.blanks() as blank:
        yield blank


@pytest.fixture(scope="module")
def databases() -> Iterator[Blank]:
    with postgres.blanks(fresh_database()) as blank:
        yield blank


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_role_tries_enough(engine, role) -> None:
    assert len(attacks(engine, role)) >= FEWEST


def check(tally: Tally, engine: str) -> None:
    """Nothing leaked, and `docs/isolation.md` says how many were tried and refused."""
    assert tally.leaks == ()
    counts = [tally.tried, tally.refused, tally.answered, 0]
    assert recorded()[engine][tally.role] == counts, "correct state/attacks/recorded.yaml"


@pytest.mark.parametrize("role", ROLES)
def test_nothing_leaks_on_sqlite(files: Blank, role: DbRole) -> None:
    check(run_all("sqlite", files, role), "sqlite")


@pytest.mark.parametrize(
    "role",
    [
        role if role is DbRole.ANSWER else pytest.param(role, marks=pytest.mark.slow)
        for role in ROLES
    ],
)
def test_nothing_leaks_on_postgres(databases: Blank, role: DbRole) -> None:
    check(run_all("postgres", databases, role), "postgres")


def test_a_leaking_grant_is_found_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "state.db"
    migrate.upgrade(database)
    honest = ROLE_TABLE[DbRole.ANSWER]
    leaky = roles.Grants(honest.read | dict([roles.columns(tables.ReferenceRow)]), honest.insert)
    monkeypatch.setitem(ROLE_TABLE, DbRole.ANSWER, leaky)
    report = attack(database, [DbRole.ANSWER])
    lines = report.lines()
    assert lines[0].startswith("sqlite answer: ")
    assert lines[0].endswith(f"{len(report.tallies[0].leaks)} leaked")
    probed = [leak.sql for leak in report.unlocked]
    assert 'SELECT "rationale" FROM reference_answers LIMIT 1' in probed
    assert 'SELECT "rationale" FROM reference_answers' in str(report.tallies[0].leaks)
    assert any(line.startswith("LEAK answer, direct read: ") for line in lines)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_database_itself_is_only_knocked_at(engine: str, tmp_path: Path) -> None:
    if engine == "postgres":
        address = fresh_database()
    else:
        address = tmp_path / "state.db"
        migrate.upgrade(address)
    for role in DbRole:
        tried, opened = probe(address, role)
        assert opened == []
        assert tried > FEWEST or role is DbRole.CURATOR
    owner = open_owner(address)
    with owner.execution_options(write=False).connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            assert connection.execute(table.select()).all() == []
    owner.dispose()


def test_the_role_table_grants_nothing_that_is_classified_secret() -> None:
    for role in (DbRole.QUESTION, DbRole.ANSWER, DbRole.CRITIC):
        for table, columns in ROLE_TABLE[role].read.items():
            assert not columns & classification()[table].secret(role), (role, table)
    for role, grants in ROLE_TABLE.items():
        for table in grants.insert:
            assert classification()[table].may_insert(role), (role, table)
        for table in grants.update | grants.delete:
            assert classification()[table].may_replace(role), (role, table)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("    rationale: question critic\n", "", "reference_answers.rationale is not classified"),
        ("    code: answer\n", "    code: answer\n    kode: answer\n", "kode does not exist"),
        ("    code: answer\n", "    code: anser\n", "anser is no role"),
        ("leases:", "lease:", "leases.token is not classified"),
    ],
)
def test_a_column_that_is_not_classified_fails(old: str, new: str, fault: str) -> None:
    text = FILE.read_text()
    assert old in text
    with pytest.raises(ConfigError, match=fault):
        load(text.replace(old, new, 1), SQLModel.metadata)


@pytest.mark.parametrize("role", [role for role in DbRole if role is not DbRole.CURATOR])
def test_the_two_databases_differ_in_every_secret_column_and_in_nothing_else(role: DbRole) -> None:
    for table, given in scene().items():
        first, second = (list(rows_of(table, given, role, variant)) for variant in ("a", "b"))
        secret = classification()[table].secret(role)
        for column in classification()[table].columns:
            differs = [row[column] for row in first] != [row[column] for row in second]
            assert differs <= (column in secret), (table, column)
            if column in secret and len(secret) == len(classification()[table].columns):
                assert differs, (table, column)


def test_every_statement_is_one_that_the_owner_could_make(files: Blank) -> None:
    """A statement that is refused for its own faults would prove nothing."""
    address = files()
    owner = open_owner(address)
    faults = []
    with owner.connect() as connection:
        driver = connection.connection.driver_connection
        for role in DbRole:
            for one in attacks("sqlite", role):
                try:
                    driver.execute("BEGIN")
                    driver.execute(one.sql, one.parameters).fetchall()
                except Exception as error:  # noqa: BLE001
                    if _FAULT.search(str(error)):
                        faults.append(f"{role} {one.sql}: {error}")
                finally:
                    driver.rollback()
    owner.dispose()
    assert faults == []
