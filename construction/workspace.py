"""A curator's workspace: one folder with the Shared State, blobs and the shuffle key."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from psychemme.config import FILE_NAME
from psychemme.errors import WorkspaceError
from state import migrate

_KEY_BYTES = 32
DEMO_KEY = "00" * _KEY_BYTES
"""A public shuffle key: never build a benchmark with it."""
_CONFIG_TEXT = """\
# Settings of this workspace; `psychemme doctor` lists all of them and where each comes from.
# model = "signal"
# base_url = "http://127.0.0.1:8000/v1"
# plan = "plan.yaml"
"""


@dataclass(frozen=True)
class Workspace:
    """Paths inside a workspace."""

    root: Path

    @property
    def database(self) -> Path:
        """The Shared State."""
        return self.root / "state.db"

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
        """The shuffle key: never exported, never logged."""
        return bytes.fromhex(self._key_file.read_text(encoding="ascii"))


def create_workspace(root: Path, shuffle_key: str | None = None) -> Workspace:
    """Create a workspace at `root`, or upgrade the one that is there.

    `shuffle_key` (64 hex digits) fixes the key for demonstrations; by default it is random.
    Raises WorkspaceError where `root` is a file or holds something else.
    """
    workspace = Workspace(root)
    if root.exists() and not root.is_dir():
        raise WorkspaceError(f"{root} is a file.", "Name a folder with --workspace.")
    root.mkdir(parents=True, exist_ok=True)
    workspace.blobs.mkdir(exist_ok=True)
    if not (root / FILE_NAME).exists():
        (root / FILE_NAME).write_text(_CONFIG_TEXT, encoding="utf-8")
    _write_key(workspace._key_file, shuffle_key)
    migrate.upgrade(workspace.database)
    return workspace


def open_workspace(root: Path) -> Workspace:
    """Return the workspace at `root`.

    Raises WorkspaceError where there is none or its schema is of another version.
    """
    workspace = Workspace(root)
    if not workspace.database.exists() or not workspace._key_file.exists():
        raise WorkspaceError(
            f"{root} is not a workspace.",
            f"Run `psychemme init --workspace {root}` first, or name another with --workspace.",
        )
    migrate.check(workspace.database)
    return workspace


def _write_key(path: Path, shuffle_key: str | None) -> None:
    if path.exists():
        return
    key = shuffle_key or secrets.token_hex(_KEY_BYTES)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key)
