"""Add clips by reference, with the provenance that will travel with them."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from construction.episodes import load_history
from psychemme.canonical import canonical_json, now
from psychemme.errors import MediaError
from psychemme.media.blobs import sha256_file
from psychemme.vocabulary import ClipStatus
from state.clips import ClipStore
from state.values import ClipRecord

_MEDIA = frozenset(
    {
        ".3gp",
        ".avi",
        ".flv",
        ".m2ts",
        ".m4v",
        ".mkv",
        ".mov",
        ".mp4",
        ".mpeg",
        ".mpg",
        ".mts",
        ".ogv",
        ".ts",
        ".webm",
        ".wmv",
    }
)
_ID_DIGITS = 16


@dataclass(frozen=True)
class Provenance:
    """Where clips come from and on what terms; `source_start` is in seconds."""

    source: str
    source_group: str
    source_video_id: str | None
    source_start: float
    recording_group: str | None
    licence: str | None
    consent: str | None
    url: str | None
    context: str
    history: Path | None


_TERMS = ("licence", "consent", "url")


@dataclass(frozen=True)
class Added:
    """What became of one path.

    `added`, `known` (same bytes as an earlier clip), `updated` (known, and a licence, consent or
    URL that it lacked was given) or `refused`. `lacks` names which of licence and consent are to
    be given before an item on it can be frozen.
    """

    path: Path
    verdict: str
    id: str
    lacks: tuple[str, ...] = ()


def add_clips(store: ClipStore, paths: Sequence[Path], provenance: Provenance) -> Iterator[Added]:
    """Add every file, and every media file below every folder; yield what became of each.

    A clip is its bytes: the same bytes under two names are one clip, two files of one name are
    two. What cannot be read is yielded as `refused` and stops no other. Raises MediaError, after
    all others were added, where something was refused, a path is missing or a folder empty.
    """
    history = load_history(provenance.history) if provenance.history else None
    history_json = history and canonical_json([entry.model_dump() for entry in history])
    known = {clip.id: clip for clip in store.clips()}
    missing: list[Path] = []
    unreadable: list[Path] = []
    for path in paths:
        found = list(_files(path))
        missing.extend([] if found else [path])
        for file in found:
            try:
                record = _record(file, provenance, history_json or None)
            except (OSError, UnicodeEncodeError):
                unreadable.append(file)
                yield Added(file, "refused", "-" * _ID_DIGITS)
                continue
            before = known.get(record.id)
            kept = record if before is None else _completed(before, record)
            verdict = "added" if before is None else "known" if kept == before else "updated"
            if verdict != "known":
                store.put_clip(kept)
                known[kept.id] = kept
            lacks = tuple(name for name in ("licence", "consent") if not getattr(kept, name))
            yield Added(file, verdict, kept.id, lacks)
    if unreadable:
        names = ", ".join(ascii(str(path)) for path in unreadable)
        raise MediaError(
            f"No regular file with a Unicode name could be read at {names}.",
            "Rename or replace them and add them again; every other clip was added.",
        )
    if missing:
        names = ", ".join(repr(str(path)) for path in missing)
        raise MediaError(
            f"No video file was found at {names}.",
            f"Name a file, or a folder that holds some ({', '.join(sorted(_MEDIA))}).",
        )


def _completed(clip: ClipRecord, given: ClipRecord) -> ClipRecord:
    """Return a known clip with the terms it lacked; what was stated before stays."""
    lacking = [name for name in _TERMS if not getattr(clip, name)]
    return clip.model_copy(update={name: getattr(given, name) for name in lacking})


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        below = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
        return sorted(file for file in below if file.suffix.lower() in _MEDIA)
    return [path] if path.is_file() else []


def _record(file: Path, provenance: Provenance, history_json: str | None) -> ClipRecord:
    facts = file.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(f"{file} is no regular file")
    str(file).encode()  # a name that is not Unicode could not be stored
    sha256 = sha256_file(file)
    own = sha256[:_ID_DIGITS]
    video = provenance.source_video_id or own
    return ClipRecord(
        id=own,
        sha256=sha256,
        path=str(file.absolute()),
        size=facts.st_size,
        modified_at=facts.st_mtime_ns // 1000,
        status=ClipStatus.ADDED,
        source=provenance.source,
        source_group=provenance.source_group,
        source_video_id=video,
        recording_group=provenance.recording_group or video,
        verified=provenance.source_video_id is not None,
        source_start=provenance.source_start,
        licence=provenance.licence,
        consent=provenance.consent,
        url=provenance.url,
        history_json=history_json,
        context=provenance.context,
        added_at=now(),
    )
