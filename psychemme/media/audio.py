"""A clip's sound as samples that line up with its pictures."""

import io
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psychemme.errors import MediaError
from psychemme.media.container import REENCODE, open_media, presentation_start

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer

Sound = NDArray[np.float32]
"""Mono samples in [-1, 1]."""

RATE = 16_000
"""Samples per second that speech recognition and voice activity detection expect."""

_SLACK = 0.05


def load_audio(path: Path, start: float = 0.0, end: float | None = None, rate: int = RATE) -> Sound:
    """Return the sound from `start` to `end` (seconds from presentation start) as mono samples.

    Sample i is heard at `start + i / rate`: late streams and holes are filled with silence. The
    array is empty where the clip has no audio track. Raises MediaError.
    """
    with open_media(path) as media:
        if not media.streams.audio:
            return np.zeros(0, dtype=np.float32)
        stream = media.streams.audio[0]
        if not stream.codec_context:
            raise MediaError(f"{path.name!r} uses an unsupported audio codec.", REENCODE)
        limit = None if end is None else round((end - start) * rate)
        sound = _Line(start, rate, limit)
        for time, samples in _resampled(media, stream, start, rate):
            if not sound.place(time, samples):
                break
        return sound.samples()


def wav(sound: Sound, rate: int = RATE) -> bytes:
    """Return the samples as a 16-bit mono WAV file."""
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())
    return target.getvalue()


class _Line:
    """Samples laid out by time; grows in place, so that an hour is held once."""

    def __init__(self, start: float, rate: int, limit: int | None) -> None:
        self._start, self._rate, self._limit = start, rate, limit
        self._bytes = bytearray()

    def place(self, time: float, samples: Sound) -> bool:
        """Append `samples` heard at `time`; return False once the limit is reached."""
        gap = round((time - self._start) * self._rate) - len(self._bytes) // 4
        if not self._bytes or gap > _SLACK * self._rate:
            self._bytes += bytes(4 * max(0, gap))
        if gap < 0 and (not self._bytes or -gap > _SLACK * self._rate):
            samples = samples[-gap:]
        self._bytes += samples.tobytes()
        return self._limit is None or len(self._bytes) < 4 * self._limit

    def samples(self) -> Sound:
        sound = np.frombuffer(self._bytes, dtype=np.float32)
        return sound if self._limit is None else sound[: self._limit]


def _resampled(
    media: "InputContainer", stream: "AudioStream", start: float, rate: int
) -> Iterator[tuple[float, Sound]]:
    """Yield (seconds from presentation start, mono samples) in order."""
    from av.audio.resampler import AudioResampler

    origin, base = presentation_start(media), float(stream.time_base or 1)
    if start > 1:
        media.seek(int((start - 1 + origin) / base), stream=stream, backward=True)
    resampler, expected = AudioResampler("flt", "mono", rate), None
    for frame in _decoded(media, stream):
        time = float(frame.time or 0.0) - origin
        if expected is None or abs(time - expected) > _SLACK:
            resampler, delivered = AudioResampler("flt", "mono", rate), time
        expected = time + frame.samples / frame.sample_rate
        frame.pts = None
        for part in resampler.resample(frame):
            samples = part.to_ndarray().reshape(-1).astype(np.float32, copy=False)
            yield delivered, samples
            delivered += len(samples) / rate


def _decoded(media: "InputContainer", stream: "AudioStream") -> "Iterator[AudioFrame]":
    """Yield decoded frames, stepping over damaged packets; raise where all are damaged."""
    import av

    damage, decoded = None, False
    for packet in media.demux(stream):
        try:
            for frame in packet.decode():
                decoded = True
                yield frame
        except av.InvalidDataError as error:
            damage = error
    if damage and not decoded:
        raise damage
