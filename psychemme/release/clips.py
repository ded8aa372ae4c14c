"""The clips of a release against its episodes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from psychemme.errors import MediaError
from psychemme.release.checks import TOLERANCE
from psychemme.release.faults import EPISODES, Fault, Rule
from psychemme.release.folder import sha256_of
from psychemme.release.rows import EpisodeRow

Measure = Callable[[Path], float]
"""Returns the duration of a clip in seconds, or raises MediaError."""


def media_faults(episodes: Sequence[EpisodeRow], media: Path, measure: Measure) -> Iterator[Fault]:
    """Yield the episodes whose clip below `media` is absent, altered, or too short for them."""
    known: dict[tuple[str, str], float | str] = {}
    for row in episodes:
        clip = (row.clip, row.sha256)
        if clip not in known:
            known[clip] = _duration(row, media, measure)
        found = known[clip]
        if isinstance(found, str):
            yield Fault(file=EPISODES, where=row.id, rule=Rule.MEDIA, problem=found)
        elif row.end > found + TOLERANCE:
            problem = f"ends at {row.end} s, after its clip of {found} s"
            yield Fault(file=EPISODES, where=row.id, rule=Rule.WINDOW, problem=problem)


def _duration(row: EpisodeRow, media: Path, measure: Measure) -> float | str:
    """Return the clip's duration in seconds, or why it is not the clip that was meant."""
    path = _below(media, row.clip)
    if path is None:
        return f"its clip {row.clip!r} is not below {media}"
    if sha256_of(path) != row.sha256:
        return f"its clip {row.clip!r} has other bytes"
    try:
        return measure(path)
    except MediaError as error:
        return f"its clip {row.clip!r} cannot be measured: {error.problem}"


def _below(folder: Path, name: str) -> Path | None:
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # too long a name, or one with a null byte
        return None
