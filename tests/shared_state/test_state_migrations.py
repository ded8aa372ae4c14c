"""The database a workspace has is the database the models describe."""

from pathlib import Path

import pytest
from sqlalchemy import text

from psychemme.errors import WorkspaceError
from state import migrate
from state.engines import open_owner
from state.roles import APPEND_ONLY
from tests.support.states import make_state, target


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
        assert set(found.scalars()) == set(APPEND_ONLY)
    engine.dispose()


def test_an_unmigrated_database_is_refused(tmp_path: Path) -> None:
    engine = open_owner(tmp_path / "state.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE other (x)"))
    engine.dispose()
    with pytest.raises(WorkspaceError, match="psychemme init"):
        migrate.check(tmp_path / "state.db")
