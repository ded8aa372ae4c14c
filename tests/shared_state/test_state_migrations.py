"""The database a workspace has is the database the models describe, on either engine."""

from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from psychemme.errors import WorkspaceError
from state import migrate
from state.address import Address
from state.engines import open_owner
from state.roles import APPEND_ONLY, ROLE_TABLE, DbRole
from state.runs import RunStore
from tests.support.postgres import fresh_database
from tests.support.states import make_state, target

_FIRST_REVISION = (
    "INSERT INTO clips VALUES ('clip', 'sha', '/nowhere', 1, 1, 'prepared', NULL, NULL, NULL, "
    "NULL, 's', 's', 'v', 'v', true, 0, NULL, NULL, NULL, NULL, '', 0)",
    "INSERT INTO preparations VALUES ('clip', 1, 'hash', 'sidecar', '{}')",
    "INSERT INTO episodes VALUES ('e', 1, 'clip', 0, 20, 20, '', '[]', '{}', '[]', '[]')",
    "INSERT INTO runs VALUES (1, 9007199254740993, 1, 1, '{}', '{}', '{}', 0)",
    "INSERT INTO candidates VALUES ('1-c0', 'c0', 1, 0, 0, 'e', 1, 'G', 'single', '{}')",
    "INSERT INTO ledger VALUES ('1-c0', 0, 'answer', 0, 'm', 'answer', 'h', '{}', 100, 20, 0.5, "
    "1.5, 0)",
)


@pytest.fixture(params=["sqlite", "postgres"])
def blank(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """A database without any table; on SQLite not even a file."""
    if request.param == "postgres":
        return fresh_database(migrated=False)
    return tmp_path / "state.db"


def test_models_equal_head(blank: Address) -> None:
    migrate.upgrade(blank)
    migrate.check(blank)
    assert migrate.drift(blank) == []


def test_upgrading_again_keeps_the_data(address: Address) -> None:
    make_state(address, target())
    migrate.upgrade(address)
    with RunStore(address) as runs:
        assert [one.target.id for one in runs.outcomes()] == ["c0"]


def guarded(database: Path) -> set[str]:
    """The tables that have a trigger."""
    engine = open_owner(database)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT tbl_name FROM sqlite_master WHERE type='trigger'"))
        tables = set(found.scalars())
    engine.dispose()
    return tables


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_every_append_only_table_has_its_trigger(address: Path) -> None:
    assert guarded(address) == {*APPEND_ONLY, "review_drafts"}


def test_nobody_may_change_what_is_append_only() -> None:
    """On PostgreSQL the missing right is the rule; there is no INSERT OR REPLACE."""
    for role in DbRole:
        grants = ROLE_TABLE[role]
        assert not (grants.update | grants.delete) & set(APPEND_ONLY)


def test_an_unmigrated_database_is_refused(blank: Address) -> None:
    engine = open_owner(blank)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE other (x INTEGER)"))
    engine.dispose()
    verb = "psychemme init" if isinstance(blank, Path) else "psychemme db upgrade"
    with pytest.raises(WorkspaceError, match=f"revision none.*{verb}"):
        migrate.check(blank)


def test_a_database_of_a_newer_version_is_left_alone(address: Address) -> None:
    engine = open_owner(address)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0099'"))
    engine.dispose()
    for use in (migrate.check, migrate.upgrade):
        with pytest.raises(
            WorkspaceError,
            match=rf"newer psychemme \(0099; .*up to {migrate.head()}\)\. Use that version\.$",
        ):
            use(address)


def test_a_workspace_of_the_first_revision_keeps_its_ledger_and_its_triggers(
    blank: Address,
) -> None:
    migrate.upgrade(blank, "0001")
    engine = open_owner(blank)
    with engine.begin() as connection:
        for row in _FIRST_REVISION:
            connection.execute(text(row))
        assert not inspect(connection).has_table("votes")
    engine.dispose()
    with pytest.raises(WorkspaceError, match="0001"):
        migrate.check(blank)
    migrate.upgrade(blank)
    migrate.check(blank)
    assert migrate.drift(blank) == []
    with RunStore(blank) as runs:
        (call,) = runs.ledger()
        assert (call.input_tokens, call.cost, call.cached) == (100, 0.5, False)
        assert runs.run(1).seed == 9007199254740993
    if isinstance(blank, Path):
        assert guarded(blank) == {*APPEND_ONLY, "review_drafts"}
