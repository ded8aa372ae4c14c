"""Verify a release from its bytes up, and list every fault rather than the first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from psychemme.errors import ReleaseError
from psychemme.release.checks import release_faults, review_faults
from psychemme.release.clips import Measure, media_faults
from psychemme.release.errata import errata_row_faults
from psychemme.release.faults import (
    EPISODES,
    ERRATA,
    PRIVATE_MANIFEST,
    PUBLIC_MANIFEST,
    QUESTIONS,
    REFERENCES,
    SUMS,
    Fault,
    Rule,
)
from psychemme.release.folder import PARTS, Folder
from psychemme.release.parse import Parsed, has_sums, is_known, parse_rows
from psychemme.release.rows import (
    EpisodeRow,
    ErratumRow,
    QuestionRow,
    ReferenceRow,
    Row,
)
from psychemme.release.write import counts, declared

_OF_ONE_PART = {"part", "files", "counts", "capabilities"}
R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Verification:
    """What was found. `counts` says what was looked at, `notes` what could not be."""

    faults: tuple[Fault, ...]
    counts: Mapping[str, int]
    notes: tuple[str, ...]


def verify_release(
    root: Path, media: Path | None = None, measure: Measure | None = None
) -> Verification:
    """Return every fault of the release at `root`; with both of the others, of its clips too.

    Clips are looked for below `media`. Raises ReleaseError where `root` is no release at all.
    """
    if not (root / "public").is_dir():
        raise ReleaseError(f"{root} holds no folder `public`.", "Name a release folder.")
    folder = Folder(root)
    folder.check_files()
    rows = _Rows(folder)
    faults = [*folder.faults, *rows.faults, *_manifest_faults(folder, rows)]
    faults += release_faults(rows.questions, rows.episodes, rows.references)
    faults += errata_row_faults(rows.errata, rows.questions, rows.episodes, rows.version)
    if media is not None and measure is not None:
        faults += media_faults(rows.episodes, media, measure)
    looked = {"files": len(folder.paths)} | counts(rows.questions, rows.episodes)
    notes = list(_notes(folder))
    ordered = sorted(dict.fromkeys(faults), key=lambda f: (f.file, f.where, f.rule, f.problem))
    return Verification(tuple(ordered), looked, tuple(notes))


def _notes(folder: Folder) -> Iterator[str]:
    if not folder.has_private:
        yield "The private part is absent: references unchecked."
    if SUMS not in folder.paths and not any(map(has_sums, folder.manifests.values())):
        yield "Format 1.0 has no SHA256SUMS: nothing covers the manifests."
    for version in {m.format_version for m in folder.manifests.values() if not is_known(m)}:
        yield f"Format version {version} is newer than this program: unknown keys unchecked."


class _Rows:
    """All rows that could be read, in the order of their files."""

    def __init__(self, folder: Folder) -> None:
        self.faults: list[Fault] = []
        self._data = folder.contents()
        manifest = next(iter(folder.manifests.values()), None)
        self._canary = manifest.canary if manifest else None
        self._is_known = manifest is not None and is_known(manifest)
        self.version = manifest.version if manifest else ""
        self.questions = self._read(QUESTIONS, QuestionRow)
        self.episodes = self._read(EPISODES, EpisodeRow)
        self.errata = self._read(ERRATA, ErratumRow)
        self.references = self._read(REFERENCES, ReferenceRow) if folder.has_private else None
        for name, data in self._data.items():
            if self._canary and self._canary.encode() not in data:
                self._note(name, "", "carries no canary")

    def _read(self, name: str, kind: type[R]) -> list[R]:
        parsed, faults = parse_rows(name, self._data.get(name, b""), kind)
        self.faults += faults
        for one in parsed:
            self._check(name, one)
        return [one.row for one in parsed]

    def _check(self, name: str, one: Parsed[R]) -> None:
        where = f"line {one.line}"
        if self._canary and one.canary != self._canary:
            self._note(name, where, "carries another canary, or none")
        for key in one.unknown if self._is_known else ():
            self._note(name, where, f"has the unknown key {key}", Rule.FORMAT)

    def _note(self, file: str, where: str, problem: str, rule: Rule = Rule.CANARY) -> None:
        self.faults.append(Fault(file=file, where=where, rule=rule, problem=problem))


def _manifest_faults(folder: Folder, rows: _Rows) -> Iterator[Fault]:
    for part, manifest in folder.manifests.items():
        name = PARTS[part]
        if manifest.part != part:
            yield _manifest_fault(name, f"says it is the {manifest.part} part")
        yield from review_faults(name, manifest)
        if manifest.capabilities != (found := declared(rows.questions)):
            yield _manifest_fault(name, f"declares other capabilities than {' '.join(found)}")
        for what, number in _unequal(manifest.counts, counts(rows.questions, rows.episodes)):
            yield _manifest_fault(
                name, f"counts {manifest.counts.get(what, 0)} {what}, not {number}"
            )
    if len(folder.manifests) == len(PARTS):
        public, private = (m.model_dump(exclude=_OF_ONE_PART) for m in folder.manifests.values())
        for what, _ in _unequal(public, private):
            yield _manifest_fault(PRIVATE_MANIFEST, f"has another {what} than {PUBLIC_MANIFEST}")


def _manifest_fault(name: str, problem: str) -> Fault:
    return Fault(file=name, rule=Rule.MANIFEST, problem=problem)


def _unequal(
    said: Mapping[str, object], found: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    for what in sorted(said.keys() | found.keys()):
        if said.get(what) != found.get(what):
            yield what, found.get(what, 0)
