"""The database a workspace has is the database the models describe."""

from pathlib import Path

import pytest
from sqlalchemy import text

from psychemme.errors import WorkspaceError
from state import migrate
from state.engines import open_owner
from state.roles import APPEND_ONLY
from state.runs import RunStore
from tests.support.states import make_state, target

_FIRST_REVISION = (
    "INSERT INTO clips VALUES ('clip', 'sha', '/nowhere', 1, 1, 'prepared', NULL, NULL, NULL, "
    "NULL, 's', 's', 'v', 'v', 1, 0, NULL, NULL, NULL, NULL, '', 0)",
    "INSERT INTO preparations VALUES ('clip', 1, 'hash', 'sidecar', '{}')",
    "INSERT INTO episodes VALUES ('e', 1, 'clip', 0, 20, 20, '', '[]', '{}', '[]', '[]')",
    "INSERT INTO runs VALUES (1, 7, 1, 1, '{}', '{}', '{}', 0)",
    "INSERT INTO candidates VALUES ('1-c0', 'c0', 1, 0, 0, 'e', 1, 'G', 'single', '{}')",
    "INSERT INTO ledger VALUES ('1-c0', 0, 'answer', 0, 'm', 'answer', 'h', '{}', 100, 20, 0.5, "
    "1.5, 0)",
)


def test_models_equal_head(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    migrate.upgrade(database)
    assert migrate.drift(database) == []


def test_upgrading_again_keeps_the_data(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    make_state(database, target())
    migrate.upgrade(database)
    engine = open_owner(database)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT id FROM candidates")).scalars().all() == ["c0"]
    engine.dispose()


def test_every_append_only_table_has_its_trigger(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    migrate.upgrade(database)
    engine = open_owner(database)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT tbl_name FROM sqlite_master WHERE type='trigger'"))
        assert set(found.scalars()) == {*APPEND_ONLY, "review_drafts"}
    engine.dispose()


def test_an_unmigrated_database_is_refused(tmp_path: Path) -> None:
    engine = open_owner(tmp_path / "state.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE other (x)"))
    engine.dispose()
    with pytest.raises(WorkspaceError, match="psychemme init"):
        migrate.check(tmp_path / "state.db")


def test_a_workspace_of_the_first_revision_keeps_its_ledger_and_its_triggers(
    tmp_path: Path,
) -> None:
    database = tmp_path / "state.db"
    migrate.upgrade(database, "0001")
    engine = open_owner(database)
    with engine.begin() as connection:
        for row in _FIRST_REVISION:
            connection.execute(text(row))
    engine.dispose()
    with pytest.raises(WorkspaceError, match="0001"):
        migrate.check(database)
    migrate.upgrade(database)
    migrate.check(database)
    assert migrate.drift(database) == []
    with RunStore(database) as runs:
        (call,) = runs.ledger()
        assert (call.input_tokens, call.cost, call.cached) == (100, 0.5, False)
    engine = open_owner(database)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT tbl_name FROM sqlite_master WHERE type='trigger'"))
        assert set(found.scalars()) == {*APPEND_ONLY, "review_drafts"}
    engine.dispose()
