"""Open a media file safely: one place for containers, presentation start and decoder errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from psychemme.errors import MediaError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Playlists and scripts (hls, concat, tty, ...) are left out: a clip must not open other files.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,mxf,"
    "h264,hevc,m4v,wav,flac,mp3,aac"
)
OPEN_OPTIONS = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}
REENCODE = "Re-encode it, for example with `ffmpeg -i INPUT -c:v libx264 -c:a aac OUTPUT.mp4`."


def media_url(path: Path) -> str:
    """Return `path` in a form no name can turn into an option, a protocol or a pattern."""
    return f"file:{path.absolute()}"


@contextmanager
def open_media(path: Path) -> Iterator["InputContainer"]:
    """Open `path` for reading; decoder faults inside the block become `MediaError` too."""
    import av

    require_file(path)
    try:
        with av.open(media_url(path), options=OPEN_OPTIONS) as container:
            yield container
    except av.FFmpegError as error:
        raise MediaError(
            f"{path.name!r} cannot be decoded ({error.strerror}).", REENCODE
        ) from error


def video_stream(container: "InputContainer", path: Path) -> "VideoStream":
    """Return the first moving-picture stream; cover art does not count.

    Raises MediaError where there is none or no decoder knows it.
    """
    from av.stream import Disposition

    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        raise MediaError(
            f"{path.name!r} has no video stream.", "Add the recording that holds the picture."
        )
    if not streams[0].codec_context:
        raise MediaError(f"{path.name!r} uses a video codec that is not supported.", REENCODE)
    streams[0].thread_type = "AUTO"
    return streams[0]


def presentation_start(container: "InputContainer") -> float:
    """Return the file's own timestamp in seconds of what players call time zero."""
    return (container.start_time or 0) / 1_000_000


def require_file(path: Path) -> None:
    """Raise MediaError unless `path` is a file with bytes in it and a name that can be stored."""
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        raise MediaError(f"{path.name!r} is not named in Unicode.", "Rename it (and its folder).")
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "is not a file"
        raise MediaError(f"{path.name!r} {what}.", "Give the path of a media file.")
    if path.stat().st_size == 0:
        raise MediaError(f"{path.name!r} is empty (zero bytes).", "Copy it again from its source.")
