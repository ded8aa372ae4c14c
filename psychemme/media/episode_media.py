"""The pictures and the sound of one episode as stored files."""

from pathlib import Path

from psychemme.canonical import digest
from psychemme.media.audio import load_audio, wav
from psychemme.media.blobs import BlobStore
from psychemme.media.frames import jpeg, sample_frames, sample_times
from psychemme.media.settings import VERSION, MediaSettings


def episode_media(
    path: Path,
    start: float,
    end: float,
    settings: MediaSettings,
    blobs: BlobStore,
    sha256: str | None = None,
) -> list[tuple[float, str]]:
    """Store the frames of [start, end) as JPEG; return (seconds from `start`, SHA-256) of each.

    No frame shows what comes at or after `end`. With the clip's `sha256` the list is cached.
    Raises MediaError.
    """

    def make() -> list[list[float | str]]:
        asked = sample_times(end - start, settings.frames_per_second, settings.most_frames)
        frames = sample_frames(path, [start + t for t in asked], settings.max_side, until=end)
        pictures = ((frame.time, jpeg(frame.image)) for frame in frames)
        return [[_since(t, start), blobs.put(data, ".jpg")] for t, data in pictures]

    if sha256 is None:
        listed = make()
    else:
        sampling = [settings.max_side, settings.frames_per_second, settings.most_frames]
        listed = blobs.cached(digest([VERSION, "frames", sha256, start, end, *sampling]), make)
    return [(float(time), str(blob)) for time, blob in listed]


def episode_audio(path: Path, start: float, end: float, blobs: BlobStore) -> str | None:
    """Store the sound of [start, end) as a 16 kHz mono WAV; return its SHA-256, None if none.

    Raises MediaError.
    """
    sound = load_audio(path, start, end)
    return blobs.put(wav(sound), ".wav") if len(sound) else None


def _since(time: float, start: float) -> float:
    return round(max(0.0, time - start), 3)
