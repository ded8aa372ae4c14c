"""A content-addressed store: what is in it is whole, even after a kill at any moment.

A store may keep everything at a URI as well, where other machines find it; the folder is then this
machine's copy of what it used.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from psychemme.canonical import canonical_json
from psychemme.media.remote import Remote

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]+)?")


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of the file's bytes (hex), read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(target: Path, data: bytes) -> None:
    """Write `data` to `target` under a temporary name first, so that it is there whole or not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not by `tempfile`, which hides its files from other users whatever the umask says.
    part = target.parent / f".part-{secrets.token_hex(8)}"
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class BlobStore:
    """Bytes by their SHA-256, and JSON results by a key, below one folder.

    With a `uri` (anything fsspec opens) they are kept there too, and fetched from there.
    """

    def __init__(self, root: Path, uri: str | None = None) -> None:
        self.root = root
        self._remote = Remote(uri) if uri else None

    def put(self, data: bytes, suffix: str = "") -> str:
        """Store `data` and return its SHA-256 (hex); `suffix` such as `.jpg` helps programs."""
        if not _SUFFIX.fullmatch(suffix):
            raise ValueError(f"suffix {suffix!r} is not a dot and small letters or digits")
        sha256 = hashlib.sha256(data).hexdigest()
        name = f"{_shard('blobs', sha256)}/{sha256}{suffix}"
        if self._remote is not None and not self._remote.holds(name):
            self._remote.put(name, data)
        if not (self.root / name).exists():
            write_whole(self.root / name, data)
        return sha256

    def path(self, sha256: str) -> Path:
        """Return where the bytes with this SHA-256 are; raises KeyError where they are not."""
        if not _SHA256.fullmatch(sha256):
            raise KeyError(sha256)
        shard = _shard("blobs", sha256)
        if found := sorted((self.root / shard).glob(f"{sha256}*")):
            return found[0]
        if self._remote is not None:
            for name in self._remote.names(f"{shard}/{sha256}"):
                data = self._remote.get(name)
                if data is not None and hashlib.sha256(data).hexdigest() == sha256:
                    write_whole(self.root / name, data)
                    return self.root / name
        raise KeyError(sha256)

    def holds(self, sha256: str) -> bool:
        """Return whether the bytes with this SHA-256 are there."""
        try:
            self.path(sha256)
        except KeyError:
            return False
        return True

    def cached(self, key: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value stored under `key`, a SHA-256; `make` it where it is missing."""
        if not _SHA256.fullmatch(key):
            raise ValueError(f"cache key {key!r} is not a SHA-256 in hex")
        name = f"{_shard('results', key)}/{key}.json"
        try:
            return json.loads((self.root / name).read_bytes())
        except (FileNotFoundError, ValueError):
            data = self._result(name, make)
        write_whole(self.root / name, data)
        return json.loads(data)

    def _result(self, name: str, make: Callable[[], Any]) -> bytes:
        if self._remote is not None and (found := self._remote.get(name)) is not None:
            with suppress(ValueError):
                json.loads(found)
                return found
        data = canonical_json(make()).encode()
        if self._remote is not None:
            self._remote.put(name, data)
        return data


def _shard(kind: str, sha256: str) -> str:
    return f"{kind}/{sha256[:2]}"
