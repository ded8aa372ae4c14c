"""Read a release and verify it: checksums, versions, and that everything refers to something."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from psychemme.canonical import digest
from psychemme.errors import ReleaseError
from psychemme.release.checks import links, reference_faults
from psychemme.release.faults import ROW_FILES, Fault, listed
from psychemme.release.parse import parse_manifest, parse_rows
from psychemme.release.rows import (
    EpisodeRow,
    ErratumRow,
    Manifest,
    QuestionRow,
    ReferenceRow,
    Row,
)

_FETCH = "Fetch the release again, or ask its publisher; see docs/release-format.md."
_UPGRADE = "Use a version of psychemme that reads it."
R = TypeVar("R", bound=Row)
Identified = TypeVar("Identified", EpisodeRow, QuestionRow, ReferenceRow)


@dataclass(frozen=True)
class Release:
    """A verified release. Questions and episodes are by id, in ascending order of id."""

    root: Path
    manifest: Manifest
    questions: Mapping[str, QuestionRow]
    episodes: Mapping[str, EpisodeRow]

    @property
    def checksum(self) -> str:
        """The SHA-256 (hex) that stands for all that a model sees; a run is pinned to it.

        Cards and figures are left out: a better drawing is no other benchmark.
        """
        files = self.manifest.files
        return digest({name: files[name] for name in ROW_FILES["public"]})

    def references(self) -> Mapping[str, ReferenceRow]:
        """Return the private references by question id, verified; for scoring and judging only.

        Raises ReleaseError where the private part is missing, altered or does not fit.
        """
        folder = self.root / "private"
        _manifest(folder, "private")
        rows = _by_id(folder / "references.jsonl", ReferenceRow)
        faults = reference_faults(self.questions.values(), self.episodes, rows.values())
        _refuse(folder / "references.jsonl", list(faults))
        return rows

    def errata(self) -> tuple[ErratumRow, ...]:
        """Return the errata of this release and of those before it, in the file's order."""
        path = self.root / "public" / "errata.jsonl"
        return tuple(_rows(path, ErratumRow)) if path.name in self.manifest.files else ()


def read_release(root: Path) -> Release:
    """Return the release at `root` after verifying its public part.

    Raises ReleaseError naming the file, the fault and the next action.
    """
    folder = root / "public"
    if not folder.is_dir():
        raise ReleaseError(f"{root} holds no folder `public`.", "Name a release folder.")
    manifest = _manifest(folder, "public")
    episodes = _by_id(folder / "episodes.jsonl", EpisodeRow)
    questions = _by_id(folder / "questions.jsonl", QuestionRow)
    _refuse(folder / "questions.jsonl", list(links(questions.values(), episodes)))
    undeclared = [q for q in questions.values() if q.capability not in manifest.capabilities]
    if undeclared:
        named = [f"{q.id} has capability {q.capability}" for q in undeclared]
        problem = f"{folder / 'manifest.json'} does not declare every capability"
        raise ReleaseError(f"{problem}: {listed(named)}.", _FETCH)
    return Release(root, manifest, questions, episodes)


def _manifest(folder: Path, part: str) -> Manifest:
    path = folder / "manifest.json"
    manifest = parse_manifest(path.name, _bytes(path))
    if isinstance(manifest, Fault):
        action = _UPGRADE if "format version" in manifest.problem else _FETCH
        raise ReleaseError(f"{path} {manifest.problem}.", action)
    if manifest.part != part:
        raise ReleaseError(f"{path} says it is the {manifest.part} part.", _FETCH)
    for name, sha256 in manifest.files.items():
        _verify(folder, name, sha256)
    for name in ROW_FILES[part]:
        if name not in manifest.files:
            raise ReleaseError(f"{path} does not list {name}.", _FETCH)
    return manifest


def _verify(folder: Path, name: str, sha256: str) -> None:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ReleaseError(f"{folder}: the manifest names {name!r}, outside it.", _FETCH)
    if not path.is_file():
        raise ReleaseError(f"{path} is missing.", _FETCH)
    found = hashlib.sha256(_bytes(path)).hexdigest()
    if found != sha256:
        raise ReleaseError(f"{path} has SHA-256 {found[:12]}…, not {sha256[:12]}….", _FETCH)


def _by_id(path: Path, kind: type[Identified]) -> dict[str, Identified]:
    rows: dict[str, Identified] = {}
    for row in _rows(path, kind):
        if row.id in rows:
            raise ReleaseError(f"{path}: id {row.id!r} stands twice.", _FETCH)
        rows[row.id] = row
    return dict(sorted(rows.items()))


def _rows(path: Path, kind: type[R]) -> list[R]:
    parsed, faults = parse_rows(path.name, _bytes(path), kind)
    _refuse(path, faults)
    return [one.row for one in parsed]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.", _FETCH) from error


def _refuse(path: Path, faults: Sequence[Fault]) -> None:
    if faults:
        named = sorted(f"{fault.where}: {fault.problem}" for fault in faults)
        raise ReleaseError(f"{path}: {listed(named)}.", _FETCH)
