"""Exact frame sampling: the first frame presented at or after each time asked for."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psychemme.errors import MediaError
from psychemme.media.container import REENCODE, open_media, presentation_start, video_stream
from psychemme.media.orientation import Image, to_image

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_TOLERANCE = 1e-5
_FIRST_GAP = 3.0


@dataclass(frozen=True)
class Frame:
    """One sampled picture; `asked` and `time` are seconds from presentation start."""

    asked: float
    time: float
    image: Image


def sample_times(duration: float, fps: float = 1.0, most: int = 64) -> tuple[float, ...]:
    """Return sampling times in seconds: from 0 at `fps`, or `most` evenly spread when longer.

    Raises ValueError unless all three are positive.
    """
    if not (0 < duration < math.inf and fps > 0 and most > 0):
        raise ValueError(f"duration {duration}, fps {fps} and most {most} must be positive")
    step = max(1 / fps, duration / most)
    count = min(most, math.ceil(duration / step - 1e-9))
    return tuple(math.floor(i * step * 1000 + 1e-9) / 1000 for i in range(max(1, count)))


def sample_frames(
    path: Path, times: Sequence[float], max_side: int, until: float | None = None
) -> Iterator[Frame]:
    """Yield for each of the ascending `times` the first frame presented at or after it.

    Past the last frame, or past the last one before `until`, that last frame is taken. All times
    are seconds from presentation start; frames are turned upright and at most `max_side` pixels
    long. One pass that seeks over gaps; one frame is held at a time. Raises MediaError.
    """
    if list(times) != sorted(times):
        raise ValueError("times must ascend")
    with open_media(path) as media:
        video = video_stream(media, path)
        reader = _Reader(media, video, math.inf if until is None else until)
        for asked in times:
            frame = reader.at(asked)
            if frame is None:
                raise MediaError(f"{path.name!r} holds no picture at {asked:.3f} s.", REENCODE)
            image = to_image(frame, video.sample_aspect_ratio, max_side)
            yield Frame(asked, round(reader.time_of(frame), 3), image)


def jpeg(image: Image, quality: int = 90) -> bytes:
    """Return the picture as JPEG bytes."""
    import cv2

    encoded = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return bytes(np.asarray(encoded).tobytes())


class _Reader:
    """Walks forward through a video, seeking only where that skips decoding."""

    def __init__(self, media: "InputContainer", stream: "VideoStream", until: float) -> None:
        self._media, self._stream, self._until = media, stream, until
        self._start = presentation_start(media)
        self._gap = _FIRST_GAP
        self._frames = self._decode()
        self._current: VideoFrame | None = None

    def time_of(self, frame: "VideoFrame") -> float:
        """Return the frame's presentation time in seconds from presentation start."""
        return float((frame.pts or 0) * (frame.time_base or 0)) - self._start

    def at(self, time: float) -> "VideoFrame | None":
        """Return the first frame at or after `time`, else the last one; None where none is."""
        here = 0.0 if self._current is None else self.time_of(self._current)
        if min(time, self._until) - here > self._gap:
            self._jump(min(time, self._until), here)
        while self._current is None or self.time_of(self._current) < time - _TOLERANCE:
            following = next(self._frames, None)
            if following is None:
                break
            self._current = following
        return self._current

    def _decode(self) -> "Iterator[VideoFrame]":
        for frame in self._media.decode(self._stream):
            if frame.pts is None:
                continue
            if self.time_of(frame) >= self._until - _TOLERANCE:
                return
            yield frame

    def _jump(self, time: float, here: float) -> None:
        """Seek to a frame at or before `time`, from ever further back, at worst from zero."""
        target = time
        for back in (0.0, 5.0, 30.0):
            target = max(0.0, time - back)
            if self._seek(target, time):
                break
        else:
            self._seek(0.0, time)
        landed = self._current
        if landed is None or self.time_of(landed) <= here:
            self._gap *= 2  # key frames are sparse: reading on would have been cheaper

    def _seek(self, target: float, time: float) -> bool:
        base = self._stream.time_base or 1
        ticks = math.floor((target + self._start) / float(base))
        self._media.seek(ticks, stream=self._stream, backward=True)
        self._frames = self._decode()
        self._current = next(self._frames, None)
        return self._current is not None and self.time_of(self._current) <= time + _TOLERANCE
