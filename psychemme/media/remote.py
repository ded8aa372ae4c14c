"""Files at a URI, through fsspec: an extra, loaded when the first URI is used."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from psychemme.errors import ConfigError, MediaError

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://.+")


def is_uri(text: str) -> bool:
    """Return whether `text` is a URI and no path."""
    return _URI.fullmatch(text) is not None


def shown(uri: str) -> str:
    """Return `uri` for messages: without user, password or query, which may hold a key."""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


class Remote:
    """The folder at `uri`. It travels between processes as its URI alone.

    Raises ConfigError where the URI cannot be opened, MediaError where the storage fails later.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._base, self._files = _opened(uri)

    def __reduce__(self) -> tuple[type["Remote"], tuple[str]]:
        return Remote, (self.uri,)

    def get(self, name: str) -> bytes | None:
        """Return the bytes of the file `name`, None where there is none."""
        with _faults(self.uri):
            try:
                return bytes(self._files.cat_file(f"{self._base}/{name}"))
            except FileNotFoundError:
                return None

    def holds(self, name: str) -> bool:
        """Return whether the file `name` is there."""
        with _faults(self.uri):
            return bool(self._files.exists(f"{self._base}/{name}"))

    def size(self, name: str) -> int | None:
        """Return the size of the file `name` in bytes, None where there is none."""
        with _faults(self.uri):
            try:
                return int(self._files.size(f"{self._base}/{name}"))
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes) -> None:
        """Store `data` as `name`, whole or not at all."""
        target = f"{self._base}/{name}"
        with _faults(self.uri):
            folder = str(PurePosixPath(target).parent)
            self._files.makedirs(folder, exist_ok=True)
            part = f"{folder}/.part-{secrets.token_hex(8)}"
            self._files.pipe_file(part, data)
            self._files.mv(part, target)

    def names(self, start: str) -> list[str]:
        """Return the names of the files whose name begins with `start`, sorted."""
        with _faults(self.uri):
            found = sorted(map(str, self._files.glob(f"{self._base}/{start}*")))
        return [f"{PurePosixPath(start).parent}/{PurePosixPath(path).name}" for path in found]


@contextmanager
def open_uri(uri: str) -> Iterator[IO[bytes]]:
    """Yield the file at `uri` for reading; raises ConfigError and MediaError as `Remote`."""
    path, files = _opened(uri)
    with _faults(uri), files.open(path, "rb") as file:
        yield file


def _opened(uri: str) -> tuple[str, Any]:
    if find_spec("fsspec") is None:
        raise ConfigError(
            f"Media at {shown(uri)} needs fsspec, which is not installed.",
            "Run `pip install 'psychemme[cluster]'`.",
        )
    import fsspec  # type: ignore[import-untyped]

    try:
        files, path = fsspec.core.url_to_fs(uri)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"Media at {shown(uri)} cannot be opened: {error}.",
            "Name a URI that fsspec knows, and install what it asks for.",
        ) from error
    return str(path).rstrip("/"), files


@contextmanager
def _faults(uri: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MediaError(
            f"The storage at {shown(uri)} fails: {type(error).__name__}.",
            "See that it can be reached and written, then run the same again.",
        ) from error
