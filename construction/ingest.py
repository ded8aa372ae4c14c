"""Add clips by reference, with the provenance that will travel with them."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from construction.episodes import load_history
from psychemme.canonical import canonical_json, now
from psychemme.errors import MediaError
from psychemme.media.blobs import sha256_file
from psychemme.media.clip_files import uri_facts
from psychemme.media.remote import is_uri, shown
from psychemme.release.texts import is_blank
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

    path: str
    verdict: str
    id: str
    lacks: tuple[str, ...] = ()


def add_clips(
    store: ClipStore, paths: Sequence[Path | str], provenance: Provenance
) -> Iterator[Added]:
    """Add every file, every media file below every folder, and what every URI names.

    Yields what became of each. A clip is its bytes: the same bytes under two names are one clip,
    two files of one name are two. What cannot be read is yielded as `refused` and stops no other.
    Raises MediaError, after all others were added, where something was refused, a path is missing
    or a folder empty; and at once where a URI holds a password or anything else not to be stored,
    or nothing of a licence, consent or URL can be seen.
    """
    _refuse_blank(provenance)
    for path in paths:
        _refuse_secrets(str(path))
    history = load_history(provenance.history) if provenance.history else None
    history_json = history and canonical_json([entry.model_dump() for entry in history])
    known = {clip.id: clip for clip in store.clips()}
    missing: list[Path | str] = []
    unreadable: list[Path | str] = []
    for path in paths:
        found = list(_files(path))
        missing.extend([] if found else [path])
        for file in found:
            try:
                record = _record(file, provenance, history_json or None)
            except (OSError, UnicodeEncodeError, MediaError):
                unreadable.append(file)
                yield Added(str(file), "refused", "-" * _ID_DIGITS)
                continue
            before = known.get(record.id)
            kept = record if before is None else _completed(before, record)
            verdict = "added" if before is None else "known" if kept == before else "updated"
            if verdict != "known":
                store.put_clip(kept)
                known[kept.id] = kept
            lacks = tuple(name for name in ("licence", "consent") if not getattr(kept, name))
            yield Added(str(file), verdict, kept.id, lacks)
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


def _files(path: Path | str) -> Sequence[Path | str]:
    if is_uri(str(path)):
        return [str(path)]
    path = Path(path)
    if path.is_dir():
        below = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
        return sorted(file for file in below if file.suffix.lower() in _MEDIA)
    return [path] if path.is_file() else []


def _refuse_blank(provenance: Provenance) -> None:
    for name in _TERMS:
        given = getattr(provenance, name)
        if given and is_blank(given):
            raise MediaError(f"Nothing of the {name} can be seen.", "State it, or leave it out.")


def _refuse_secrets(path: str) -> None:
    if is_uri(path) and shown(path) != path:
        raise MediaError(
            f"{shown(path)} was given with a user, a query or a fragment, which would be stored.",
            "Leave them out, and give keys in the way that fsspec documents for this storage.",
        )


@dataclass(frozen=True)
class _Facts:
    """A clip's bytes: where they are, their SHA-256, size and time of change (microseconds)."""

    path: str
    sha256: str
    size: int
    modified_at: int


def _facts(file: Path | str) -> _Facts:
    str(file).encode()  # a name that is not Unicode could not be stored
    if isinstance(file, str):
        return _Facts(file, *uri_facts(file), 0)
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{file} is no regular file")
    return _Facts(str(file.absolute()), sha256_file(file), found.st_size, found.st_mtime_ns // 1000)


def _record(file: Path | str, provenance: Provenance, history_json: str | None) -> ClipRecord:
    facts = _facts(file)
    sha256 = facts.sha256
    own = sha256[:_ID_DIGITS]
    video = provenance.source_video_id or own
    return ClipRecord(
        id=own,
        sha256=sha256,
        path=facts.path,
        size=facts.size,
        modified_at=facts.modified_at,
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
