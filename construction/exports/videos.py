"""The windows of a release's episodes as videos beside an export."""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from construction.exports.source import video_name
from psychemme.errors import MediaError
from psychemme.media.blobs import sha256_file
from psychemme.release.faults import counted, listed
from psychemme.release.read import Release

MAX_HEIGHT = 512
"""Pixels; as `psychemme evaluate` sends videos."""


def find_clips(release: Release, folder: Path) -> dict[str, Path]:
    """Return the verified clip of each episode, by episode id.

    Raises MediaError naming the episodes whose file is missing, outside `folder` or of other bytes.
    """
    found = {row.id: _below(folder, row.clip) for row in release.episodes.values()}
    sums = {path: sha256_file(path) for path in set(found.values()) if path.is_file()}
    faults = [
        f"{row.id}: {row.clip!r} {'has other bytes' if found[row.id] in sums else 'is not there'}"
        for row in release.episodes.values()
        if sums.get(found[row.id]) != row.sha256
    ]
    if faults:
        raise MediaError(
            f"{counted(len(faults), 'episode')} cannot be cut from {folder}: {listed(faults)}.",
            "Name the folder that holds the release's clips with --media.",
        )
    return found


def write_videos(
    release: Release,
    clips: Mapping[str, Path],
    folder: Path,
    report: Callable[[int, int], None] | None,
) -> None:
    """Cut each episode's window out of its clip into `folder`; raises MediaError."""
    from psychemme.media.cut import cut_window

    for done, (name, clip) in enumerate(clips.items(), 1):
        episode = release.episodes[name]
        cut_window(clip, folder / video_name(name), episode.start, episode.end, MAX_HEIGHT)
        if report:
            report(done, len(clips))


def _below(folder: Path, clip: str) -> Path:
    name = PurePosixPath(clip)
    if name.is_absolute() or ".." in name.parts:
        # Joined with nothing, it is no file.
        return Path()
    return folder / name
