"""A clip's file on this machine: where it lies, or a checked copy of what a URI names."""

import hashlib
import secrets
import shutil
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from psychemme.errors import MediaError
from psychemme.media.blobs import sha256_file, write_whole
from psychemme.media.remote import Remote, is_uri, open_uri, shown
from psychemme.media.sidecar import SUFFIXES


def clip_file(path: str, sha256: str, folder: Path) -> Path:
    """Return the clip at `path`; one at a URI is copied below `folder` once.

    A copy has the clip's SHA-256. Raises MediaError where the URI cannot be read or holds other
    bytes.
    """
    if not is_uri(path):
        return Path(path)
    target = folder / "clips" / sha256[:2] / sha256 / uri_name(path)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.parent / f".part-{secrets.token_hex(8)}"
        try:
            with open_uri(path) as source, part.open("xb") as file:
                shutil.copyfileobj(source, file)
            if sha256_file(part) != sha256:
                raise MediaError(
                    f"{shown(path)} has changed since it was added.", "Add it again as a new clip."
                )
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return target


def clip_file_with_sidecar(path: str, sha256: str, folder: Path) -> Path:
    """Return the clip as `clip_file` does, and what transcript lies beside it at a URI."""
    file = clip_file(path, sha256, folder)
    if is_uri(path):
        base, name = path.rsplit("/", 1)
        beside = Remote(base)
        for suffix in SUFFIXES:
            data = beside.get(str(PurePosixPath(name).with_suffix(suffix)))
            if data is None:
                file.with_suffix(suffix).unlink(missing_ok=True)
            else:
                write_whole(file.with_suffix(suffix), data)
    return file


def uri_name(uri: str) -> str:
    """Return the name of the file that `uri` names, for messages and for copies of it."""
    name = PurePosixPath(urlsplit(uri).path).name
    return name if name.strip(".") else "clip"


def uri_facts(uri: str) -> tuple[str, int]:
    """Return SHA-256 (hex) and size in bytes of what `uri` names, read in pieces."""
    digest, size = hashlib.sha256(), 0
    with open_uri(uri) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def uri_holds(uri: str, size: int) -> bool:
    """Return whether there is a file of `size` bytes at `uri`; the bytes are not read."""
    base, name = uri.rsplit("/", 1)
    return Remote(base).size(name) == size
