"""Cut a window out of a clip into a file that every browser plays."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from psychemme.errors import MediaError
from psychemme.media.container import OPEN_OPTIONS, REENCODE, media_url, require_file

_CODECS = {"vcodec": "libx264", "preset": "veryfast", "crf": 23, "pix_fmt": "yuv420p"}
_SOUND = {"acodec": "aac", "ac": 2, "ar": 48_000}
_REPEATABLE = {"threads": 2, "map_metadata": -1, "fflags": "+bitexact", "flags": "+bitexact"}


def cut_window(
    source: Path,
    target: Path,
    start: float,
    end: float,
    max_height: int = 480,
    *,
    with_sound: bool = True,
) -> None:
    """Write [start, end) seconds of `source` to `target` as MP4 (H.264, AAC, upright).

    The picture is at most `max_height` pixels high and keeps its shape; without `with_sound` there
    is no audio track. `target` appears whole or not at all. Raises MediaError with ffmpeg's last
    line, or where it takes far too long.
    """
    if not 0 <= start < end:
        raise ValueError(f"window {start} to {end} is not 0 <= start < end")
    require_file(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=target.parent) as folder:
        part = Path(folder) / "part.mp4"
        command = _command(source, part, start, end, max_height, with_sound)
        _run(command, source, limit=60 + 10 * (end - start))
        part.replace(target)


def _command(
    source: Path, target: Path, start: float, end: float, max_height: int, with_sound: bool
) -> list[str]:
    import ffmpeg
    import imageio_ffmpeg

    clip = ffmpeg.input(media_url(source), ss=start, t=end - start, **OPEN_OPTIONS)
    scale = f"min(1,{max_height}/ih)"
    picture = (
        clip.video.filter("scale", w=f"trunc(iw*sar*{scale}/2)*2", h=f"trunc(ih*{scale}/2)*2")
        .filter("setsar", 1)
        .filter("format", "yuv420p")
    )
    sound = (clip["a:0?"],) if with_sound else ()
    options: dict[str, Any] = (
        _CODECS | (_SOUND if with_sound else {}) | _REPEATABLE | {"movflags": "+faststart"}
    )
    job = ffmpeg.output(picture, *sound, media_url(target), **options)
    quiet = job.global_args("-nostdin", "-hide_banner", "-loglevel", "error")
    command: list[str] = quiet.compile(cmd=imageio_ffmpeg.get_ffmpeg_exe(), overwrite_output=True)
    return command


def _run(command: list[str], source: Path, limit: float) -> None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise MediaError(f"Cutting {source.name!r} took over {limit:.0f} s.", REENCODE) from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise MediaError(f"{source.name!r} cannot be cut ({lines[-1].strip()}).", REENCODE)
