"""Pictures that stand for a whole clip: what a model is shown of it, and people on a page."""

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from psychemme.errors import MediaError
from psychemme.media.blobs import BlobStore
from psychemme.media.episode_media import episode_media
from psychemme.media.isolation import Extend, Task, run_isolated
from psychemme.media.prepare import PreparedClip
from psychemme.media.settings import MediaSettings
from state.values import Frame

_SETTINGS = MediaSettings(most_frames=12)
_BASE_LIMIT, _LIMIT_PER_SECOND = 60.0, 10.0


def make_stills(jobs: Iterable[tuple[Path, PreparedClip]], blobs: BlobStore, workers: int) -> None:
    """Store what is missing, in processes of their own: one a second, or 12 evenly spread.

    A clip whose pictures cannot be read, or not in time, has none.
    """
    missing = [
        Task(
            clip.sha256,
            (path, clip.sha256, length, blobs),
            _BASE_LIMIT + _LIMIT_PER_SECOND * length,
        )
        for path, clip in jobs
        if (length := clip.probe.duration if clip.probe else 0.0)
        and not stills(clip.sha256, length, blobs)
    ]
    for _ in run_isolated(_make, missing, workers):
        pass


def stills(sha256: str, length: float | None, blobs: BlobStore) -> tuple[Frame, ...]:
    """Return the stills of the clip of `length` seconds, in order; none where none are stored."""
    if not length:
        return ()
    try:
        held = episode_media(_absent, 0.0, length, _SETTINGS, blobs, sha256)
    except MediaError:
        return ()
    return tuple(Frame(time=time, sha256=name) for time, name in held)


def _make(path: Path, sha256: str, length: float, blobs: BlobStore, _extend: Extend) -> None:
    try:
        episode_media(path, 0.0, length, _SETTINGS, blobs, sha256)
    except MediaError:
        return


def _absent() -> NoReturn:
    raise MediaError("There are no stills.", "Run `psychemme screen`.")
