"""When somebody speaks and when nobody does, from the sound alone."""

from collections.abc import Sequence
from itertools import pairwise

from psychemme.episode import Interval
from psychemme.media.audio import RATE, Sound

SHORTEST_PAUSE = 0.25
"""Seconds; shorter silences are part of speaking."""

_OPTIONS = {"min_speech_duration_ms": 100, "min_silence_duration_ms": 250, "speech_pad_ms": 30}


def speech_intervals(audio: Sound) -> tuple[Interval, ...]:
    """Return the stretches of speech in mono 16 kHz `audio`, by Silero's detector."""
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    if not len(audio):
        return ()
    found = get_speech_timestamps(audio, VadOptions(**_OPTIONS), RATE)
    return tuple(
        Interval(start=round(one["start"] / RATE, 3), end=round(one["end"] / RATE, 3))
        for one in found
    )


def pauses_between(speech: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return the silences of at least `SHORTEST_PAUSE` seconds between stretches of speech."""
    return tuple(
        Interval(start=before.end, end=after.start)
        for before, after in pairwise(speech)
        if after.start - before.end >= SHORTEST_PAUSE
    )
