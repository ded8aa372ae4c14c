"""A content-addressed store: what is in it is whole, even after a kill at any moment."""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psychemme.canonical import canonical_json

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
    """Bytes by their SHA-256, and JSON results by a key, below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes, suffix: str = "") -> str:
        """Store `data` and return its SHA-256 (hex); `suffix` such as `.jpg` helps programs."""
        if not _SUFFIX.fullmatch(suffix):
            raise ValueError(f"suffix {suffix!r} is not a dot and small letters or digits")
        sha256 = hashlib.sha256(data).hexdigest()
        target = self._shard("blobs", sha256) / f"{sha256}{suffix}"
        if not target.exists():
            write_whole(target, data)
        return sha256

    def path(self, sha256: str) -> Path:
        """Return where the bytes with this SHA-256 are; raises KeyError where they are not."""
        if not _SHA256.fullmatch(sha256):
            raise KeyError(sha256)
        found = sorted(self._shard("blobs", sha256).glob(f"{sha256}*"))
        if not found:
            raise KeyError(sha256)
        return found[0]

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
        target = self._shard("results", key) / f"{key}.json"
        try:
            return json.loads(target.read_bytes())
        except (FileNotFoundError, ValueError):
            value = make()
        write_whole(target, canonical_json(value).encode())
        return value

    def _shard(self, kind: str, sha256: str) -> Path:
        return self.root / kind / sha256[:2]
