"""A curator's workspace: one folder with the Shared State, blobs and the shuffle key."""

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from psychemme.config import FILE_NAME, load_settings
from psychemme.errors import WorkspaceError
from state import migrate
from state.address import ADMIN, Address, address_of

_KEY_BYTES = 32
DEMO_KEY = "00" * _KEY_BYTES
"""A public shuffle key: never build a benchmark with it."""
_CONFIG_TEXT = """\
# Settings of this workspace; `psychemme doctor` lists all of them and where each comes from.
# model = "signal"
# base_url = "http://127.0.0.1:8000/v1"
# plan = "plan.yaml"
# database = "postgresql://127.0.0.1:5432/psychemme"
"""


@dataclass(frozen=True)
class Workspace:
    """Paths inside a workspace."""

    root: Path

    @cached_property
    def database(self) -> Address:
        """The Shared State; raises ConfigError where the settings do not name one."""
        return address_of(self.root, load_settings(self.root).settings)

    @property
    def blobs(self) -> Path:
        """Content-addressed frames and cached measurements."""
        return self.root / "blobs"

    @property
    def report(self) -> Path:
        """The candidates page."""
        return self.root / "report"

    @property
    def _key_file(self) -> Path:
        return self.root / "shuffle.key"

    @property
    def secret(self) -> bytes:
        """The shuffle key: never exported, never logged.

        Raises WorkspaceError where its file does not hold one.
        """
        try:
            key = bytes.fromhex(self._key_file.read_text(encoding="ascii"))
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise WorkspaceError(
                f"{self._key_file} does not hold {2 * _KEY_BYTES} hex digits.",
                "Restore it from a copy; runs made with another key cannot be resumed.",
            )
        return key


def create_workspace(root: Path, shuffle_key: str | None = None) -> Workspace:
    """Create a workspace at `root`, or upgrade the one that is there.

    A Shared State on PostgreSQL is upgraded where the administrator's password is known, and else
    only looked at. `shuffle_key` (64 hex digits) fixes the key for demonstrations; by default it is
    random. Raises WorkspaceError where `root` is a file or holds something else, or the Shared
    State cannot be used; one on a server is asked first, so that no folder is left behind.
    """
    workspace = Workspace(root)
    if root.exists() and not root.is_dir():
        raise WorkspaceError(f"{root} is a file.", "Name a folder with --workspace.")
    if not isinstance(workspace.database, Path):
        _upgrade(workspace.database)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    workspace.blobs.mkdir(exist_ok=True)
    if not (root / FILE_NAME).exists():
        (root / FILE_NAME).write_text(_CONFIG_TEXT, encoding="utf-8")
    _write_key(workspace._key_file, shuffle_key)
    if isinstance(workspace.database, Path):
        _upgrade(workspace.database)
    return workspace


def open_workspace(root: Path) -> Workspace:
    """Return the workspace at `root`.

    Raises WorkspaceError where there is none or its schema is of another version.
    """
    workspace = Workspace(root)
    database = workspace.database
    is_missing = isinstance(database, Path) and not database.exists()
    if is_missing or not workspace._key_file.exists():
        raise WorkspaceError(
            f"{root} is not a workspace.",
            f"Run `psychemme init --workspace {root}` first, or name another with --workspace.",
        )
    migrate.check(database)
    return workspace


def _upgrade(database: Address) -> None:
    if isinstance(database, Path) or ADMIN in database.passwords:
        migrate.upgrade(database)
    else:
        migrate.check(database)


def _write_key(path: Path, shuffle_key: str | None) -> None:
    if path.exists():
        return
    # Whole or not at all: an empty key would shuffle in a way anyone can repeat.
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(shuffle_key or secrets.token_hex(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
