"""Facts of a clip, measured once from its packets rather than believed from its header."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychemme.episode import Value
from psychemme.errors import MediaError
from psychemme.media.container import REENCODE, open_media, presentation_start, video_stream
from psychemme.media.orientation import clockwise, display_size

if TYPE_CHECKING:
    from av.packet import Packet


class Probe(Value):
    """What a clip is. Times are in seconds, `width` and `height` as displayed.

    `duration` runs from presentation start to the end of the last picture or sound;
    `start_time` is the file's own timestamp of presentation start. `rotation` is in degrees
    clockwise and already applied to the size. `frame_rate` is the measured average, None for a
    single frame.
    """

    duration: float
    start_time: float
    width: int
    height: int
    rotation: int
    frame_rate: float | None
    variable_frame_rate: bool
    video_codec: str
    audio_codec: str | None
    container: str


class _Timeline:
    """Packet times of one stream, in seconds of the file's own clock."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.end = float("-inf")
        self.tick = 0.0

    def add(self, packet: "Packet[Any]") -> None:
        if packet.pts is None or packet.is_discard or packet.time_base is None:
            return
        self.tick = float(packet.time_base)
        time = packet.pts * self.tick
        self.times.append(time)
        self.end = max(self.end, time + (packet.duration or 0) * self.tick)

    def intervals(self) -> np.ndarray:
        return np.diff(np.unique(np.asarray(self.times)))


def probe(path: Path) -> Probe:
    """Measure the clip at `path` by reading all its packets and decoding its first picture.

    Raises MediaError for what is no playable video: empty, truncated, audio only, a directory,
    an unknown format, or a stream without timestamps.
    """
    with open_media(path) as media:
        video = video_stream(media, path)
        audio = media.streams.audio[0] if media.streams.audio else None
        pictures, sounds = _Timeline(), _Timeline()
        for packet in media.demux([s for s in (video, audio) if s is not None]):
            (pictures if packet.stream is video else sounds).add(packet)
        start, header = presentation_start(media), media.duration
        codec, kind = video.codec_context.name, media.format.name
        audio_codec = audio.codec_context.name if audio and audio.codec_context else None
    rotation, (width, height) = _first_picture(path)
    intervals = _require_times(pictures, path)
    duration = max(pictures.end, sounds.end) - start
    _require_complete(duration, header, path)
    return Probe(
        duration=round(duration, 3),
        start_time=round(start, 6),
        width=width,
        height=height,
        rotation=rotation,
        frame_rate=round(1 / float(intervals.mean()), 3) if len(intervals) else None,
        variable_frame_rate=_is_variable(intervals, pictures.tick),
        video_codec=codec,
        audio_codec=audio_codec,
        container=kind,
    )


def _first_picture(path: Path) -> tuple[int, tuple[int, int]]:
    with open_media(path) as media:
        video = video_stream(media, path)
        for frame in media.decode(video):
            return clockwise(frame), display_size(frame, video.sample_aspect_ratio)
    raise MediaError(f"{path.name!r} holds no picture that can be decoded.", REENCODE)


def _require_times(pictures: _Timeline, path: Path) -> np.ndarray:
    if not pictures.times:
        raise MediaError(
            f"{path.name!r} has no timestamps, so no moment in it can be named.",
            "Put it in a container with its true rate, for example with "
            "`ffmpeg -framerate RATE -i INPUT -c copy OUTPUT.mp4`.",
        )
    intervals = pictures.intervals()
    if len(intervals):
        last = max(pictures.times) + float(np.median(intervals))
        pictures.end = max(pictures.end, last)
    return intervals


def _require_complete(duration: float, header: int | None, path: Path) -> None:
    """Refuse a file that ends well before its header says (1 s and 5 % are forgiven)."""
    promised = (header or 0) / 1_000_000
    if promised - duration > max(1.0, 0.05 * promised):
        raise MediaError(
            f"{path.name!r} is truncated: {duration:.1f} s of {promised:.1f} s are there.",
            "Copy it again from its source, or cut it to its readable part.",
        )


def _is_variable(intervals: np.ndarray, tick: float) -> bool:
    """Whether any frame interval leaves the median by more than rounding can explain."""
    if len(intervals) < 2:
        return False
    median = float(np.median(intervals))
    return bool(np.max(np.abs(intervals - median)) > 0.1 * median + 1.5 * tick)
