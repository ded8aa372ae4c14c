"""A curator's workspace: one folder with the Shared State, blobs and the shuffle key."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the workspace for one `prepare` or `generate`; a kill releases it.

        Raises WorkspaceError naming the process that holds it.
        """
        with (self.root / "claim").open("a+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise WorkspaceError(
                    f"{self.root} is in use by process {file.read() or 'unknown'}.",
                    "Wait until it ends, or stop it.",
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


def create_workspace(root: Path, shuffle_key: str | None = None) -> Workspace:
    """Create a workspace at `root`, or upgrade the one that is there.

    `shuffle_key` (64 hex digits) fixes the key for demonstrations; by default it is random.
    Raises WorkspaceError where `root` is a file or holds something else.
    """
    workspace = Workspace(root)
    if root.exists() and not root.is_dir():
        raise WorkspaceError(f"{root} is a file.", "Name a folder with --workspace.")
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    # Whole or not at all: an empty key would shuffle in a way anyone can repeat.
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(shuffle_key or secrets.token_hex(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
