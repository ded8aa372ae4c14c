"""The pictures and the sound of one episode as stored files."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from psychemme.canonical import digest
from psychemme.media.audio import load_audio, wav
from psychemme.media.blobs import BlobStore
from psychemme.media.cut import cut_window
from psychemme.media.frames import jpeg, sample_frames, sample_times
from psychemme.media.settings import VERSION, MediaSettings


def episode_media(
    path: Path | Callable[[], Path],
    start: float,
    end: float,
    settings: MediaSettings,
    blobs: BlobStore,
    sha256: str | None = None,
) -> list[tuple[float, str]]:
    """Store the frames of [start, end) as JPEG; return (seconds from `start`, SHA-256) of each.

    No frame shows what comes at or after `end`. With the clip's `sha256` the list is cached, and
    a `path` that is to be found first is asked for only where it is not.
    Raises MediaError.
    """

    def make() -> list[list[float | str]]:
        asked = sample_times(end - start, settings.frames_per_second, settings.most_frames)
        file = path if isinstance(path, Path) else path()
        frames = sample_frames(file, [start + t for t in asked], settings.max_side, until=end)
        pictures = ((frame.time, jpeg(frame.image)) for frame in frames)
        return [[_since(t, start), blobs.put(data, ".jpg")] for t, data in pictures]

    if sha256 is None:
        listed = make()
    else:
        sampling = [settings.max_side, settings.frames_per_second, settings.most_frames]
        listed = blobs.cached(digest([VERSION, "frames", sha256, start, end, *sampling]), make)
    return [(float(time), str(blob)) for time, blob in listed]


def episode_audio(
    path: Path, start: float, end: float, blobs: BlobStore, sha256: str | None = None
) -> str | None:
    """Store the sound of [start, end) as a 16 kHz mono WAV; return its SHA-256, None if none.

    With the clip's `sha256` it is made once. Raises MediaError.
    """

    def make() -> str | None:
        sound = load_audio(path, start, end)
        return blobs.put(wav(sound), ".wav") if len(sound) else None

    return _made_once(blobs, "audio", sha256, start, end, make)


def episode_video(
    path: Path, start: float, end: float, blobs: BlobStore, sha256: str | None = None
) -> str:
    """Store the pictures of [start, end) as MP4, upright and without sound; return its SHA-256.

    With the clip's `sha256` it is made once. Raises MediaError.
    """

    def make() -> str:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "window.mp4"
            cut_window(path, target, start, end, with_sound=False)
            return blobs.put(target.read_bytes(), ".mp4")

    return str(_made_once(blobs, "video", sha256, start, end, make))


def _made_once(
    blobs: BlobStore,
    kind: str,
    sha256: str | None,
    start: float,
    end: float,
    make: Callable[[], str | None],
) -> str | None:
    if sha256 is None:
        return make()
    made: str | None = blobs.cached(digest([VERSION, kind, sha256, start, end]), make)
    return make() if made is not None and not blobs.holds(made) else made


def _since(time: float, start: float) -> float:
    return round(max(0.0, time - start), 3)
