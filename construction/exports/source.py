"""What every export starts from: a verified release, its references where asked for, safe names."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psychemme.canonical import canonical_json, digest
from psychemme.errors import UserError
from psychemme.release.read import Release, read_release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Source:
    """A release to export. `references` is None where they stay behind.

    `date` (YYYY-MM-DD) is when the release was published, if known; `has_videos` says that the
    windows of its episodes lie beside the export.
    """

    release: Release
    references: Mapping[str, ReferenceRow] | None
    date: str | None
    has_videos: bool

    @property
    def slug(self) -> str:
        """The release's name as one of tasks, classes and files."""
        name = re.sub(r"[^a-z0-9]+", "_", self.release.manifest.name.lower()).strip("_")
        return f"psychemme_{name}" if name else "psychemme_release"

    @property
    def title(self) -> str:
        """Name and version in one line."""
        manifest = self.release.manifest
        return " ".join(f"{manifest.name} {manifest.version}".split())

    @property
    def canary(self) -> str:
        """The string that every file of the export carries."""
        return self.release.manifest.canary

    def items(self) -> Iterable[tuple[QuestionRow, EpisodeRow]]:
        """Yield each question with its episode, in ascending order of question id."""
        for question in self.release.questions.values():
            yield question, self.release.episodes[question.episode_id]

    def answer(self, question: QuestionRow) -> list[str] | None:
        """Return a choice item's reference as sorted option ids; None where it is not exported."""
        if self.references is None or not question.format.is_choice:
            return None
        answer = self.references[question.id].answer
        return sorted({answer} if isinstance(answer, str) else set(answer))


def open_source(
    root: Path, *, with_references: bool, date: str | None, media: Path | None
) -> Source:
    """Return the release at `root`, verified; raises ReleaseError, and UserError for a bad date."""
    release = read_release(root)
    if date is not None and not _DATE.fullmatch(date):
        raise UserError(f"The date {date!r} is not YYYY-MM-DD.", "Write it like 2026-11-30.")
    references = release.references() if with_references else None
    return Source(release, references, release.manifest.date or date, media is not None)


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a folder to fill that then appears at `out` as a whole, or not at all.

    Raises UserError where `out` is in use.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is in use.", "Name a folder that is empty or does not exist.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=out.parent) as held:
        part = Path(held) / "export"
        part.mkdir()
        yield part
        part.replace(out)


def video_name(episode_id: str) -> str:
    """Return the name of an episode's video; an id that is no plain file name gives its hash."""
    stem = episode_id if _SAFE.fullmatch(episode_id) else digest(episode_id)[:32]
    return f"{stem}.mp4"


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with plain line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows as JSON Lines: one object a line, with sorted keys."""
    write_text(path, "".join(canonical_json(row) + "\n" for row in rows))
