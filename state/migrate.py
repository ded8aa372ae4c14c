"""Bring a database to the newest revision, and say where it stands."""

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlmodel import SQLModel

from psychemme.errors import WorkspaceError
from state.engines import open_owner

_SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(path: Path, revision: str = "head") -> None:
    """Create the database at `path` if needed and run every pending revision."""
    engine = open_owner(path)
    with engine.begin() as connection:
        command.upgrade(_config(connection), revision)
    engine.dispose()


def check(path: Path) -> None:
    """Raise WorkspaceError unless the database stands at the newest revision."""
    head = ScriptDirectory(str(_SCRIPTS)).get_current_head()
    engine = open_owner(path)
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    engine.dispose()
    if current != head:
        raise WorkspaceError(
            f"{path} is at schema revision {current or 'none'}, this version needs {head}.",
            "Run `psychemme init` on the workspace to upgrade it.",
        )


def drift(path: Path) -> list[object]:
    """Return the differences between the database and the models; empty when they agree."""
    engine = open_owner(path)
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), SQLModel.metadata)
    engine.dispose()
    return list(found)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    return config
