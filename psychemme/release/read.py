"""Read a release and verify it: checksums, versions, and that everything refers to something."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from psychemme.canonical import digest
from psychemme.errors import ReleaseError
from psychemme.release.rows import (
    FORMAT_VERSION,
    EpisodeRow,
    Manifest,
    QuestionRow,
    ReferenceRow,
    Row,
)

_FETCH = "Fetch the release again, or ask its publisher; see docs/release-format.md."
_MOST_NAMED = 5
R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Release:
    """A verified release. Questions and episodes are by id, in ascending order of id."""

    root: Path
    manifest: Manifest
    questions: Mapping[str, QuestionRow]
    episodes: Mapping[str, EpisodeRow]

    @property
    def checksum(self) -> str:
        """The SHA-256 (hex) that stands for the public files; a run is pinned to it."""
        return digest(self.manifest.files)

    def references(self) -> Mapping[str, ReferenceRow]:
        """Return the private references by question id, verified; for scoring and judging only.

        Raises ReleaseError where the private part is missing, altered or does not fit.
        """
        folder = self.root / "private"
        _manifest(folder, "private")
        rows = _rows(folder / "references.jsonl", ReferenceRow)
        unknown = sorted(rows.keys() ^ self.questions.keys())
        faults = [f"{name}: has no question or no reference" for name in unknown]
        for name in rows.keys() & self.questions.keys():
            question = self.questions[name]
            length = self.episodes[question.episode_id].duration
            faults.extend(f"{name}: {fault}" for fault in rows[name].faults(question, length))
        _refuse(folder / "references.jsonl", sorted(faults))
        return rows


def read_release(root: Path) -> Release:
    """Return the release at `root` after verifying its public part.

    Raises ReleaseError naming the file, the fault and the next action.
    """
    folder = root / "public"
    if not folder.is_dir():
        raise ReleaseError(f"{root} holds no folder `public`.", "Name a release folder.")
    manifest = _manifest(folder, "public")
    episodes = _rows(folder / "episodes.jsonl", EpisodeRow)
    questions = _rows(folder / "questions.jsonl", QuestionRow)
    faults = [
        f"{q.id}: its episode {q.episode_id!r} is not in episodes.jsonl"
        for q in questions.values()
        if q.episode_id not in episodes
    ]
    faults.extend(
        f"{q.id}: capability {q.capability} is not declared in the manifest"
        for q in questions.values()
        if q.capability not in manifest.capabilities
    )
    _refuse(folder / "questions.jsonl", faults)
    return Release(root, manifest, questions, episodes)


def _manifest(folder: Path, part: str) -> Manifest:
    path = folder / "manifest.json"
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.", _FETCH) from error
    except ValidationError as error:
        raise ReleaseError(f"{path} is not a manifest: {_first(error)}.", _FETCH) from error
    if manifest.format_version.split(".")[0] != FORMAT_VERSION.split(".")[0]:
        raise ReleaseError(
            f"{path} has format version {manifest.format_version}; this reads {FORMAT_VERSION}.",
            "Use a version of psychemme that reads it.",
        )
    if manifest.part != part:
        raise ReleaseError(f"{path} says it is the {manifest.part} part.", _FETCH)
    for name, sha256 in manifest.files.items():
        _verify(folder, name, sha256)
    return manifest


def _verify(folder: Path, name: str, sha256: str) -> None:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ReleaseError(f"{folder}: the manifest names {name!r}, outside it.", _FETCH)
    if not path.is_file():
        raise ReleaseError(f"{path} is missing.", _FETCH)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ReleaseError(f"{path} has SHA-256 {found[:12]}…, not {sha256[:12]}….", _FETCH)


def _rows(path: Path, kind: type[R]) -> dict[str, R]:
    rows: dict[str, R] = {}
    for number, line in _lines(path):
        try:
            row = kind.model_validate(json.loads(line))
        except ValidationError as error:
            raise ReleaseError(f"{path}:{number}: {_first(error)}.", _FETCH) from error
        except json.JSONDecodeError as error:
            raise ReleaseError(f"{path}:{number} is not JSON: {error.msg}.", _FETCH) from error
        name = str(getattr(row, "id"))  # noqa: B009 - every kind of row has one
        if name in rows:
            raise ReleaseError(f"{path}:{number}: id {name!r} stands twice.", _FETCH)
        rows[name] = row
    return dict(sorted(rows.items()))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{path} cannot be read: {error}.", _FETCH) from error


def _refuse(path: Path, faults: list[str]) -> None:
    if faults:
        more = f" (+{len(faults) - _MOST_NAMED} more)" if len(faults) > _MOST_NAMED else ""
        raise ReleaseError(f"{path}: {'; '.join(faults[:_MOST_NAMED])}{more}.", _FETCH)


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
