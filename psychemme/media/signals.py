"""Everything measured in a clip, and the same seen from an episode."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np

from psychemme.episode import FaceSample, Interval, Sample, Signals, VoiceTurn
from psychemme.media.audio import Sound
from psychemme.media.frames import sample_frames, sample_times
from psychemme.media.picture import SAMPLES_PER_SECOND, measure_pictures
from psychemme.media.probe import Probe
from psychemme.media.speech import pauses_between, speech_intervals
from psychemme.media.voices import voice_turns

_Span = TypeVar("_Span", Interval, VoiceTurn)
_Moment = TypeVar("_Moment", Sample, FaceSample)


def measure(path: Path, probe: Probe, audio: Sound, max_side: int = 512) -> Signals:
    """Measure the clip at `path`; times are seconds from its start, `audio` is mono 16 kHz.

    Blur and brightness are medians over frames one second apart. A shot change is dated by the
    first sampled frame that shows it, up to a quarter of a second late. Raises MediaError.
    """
    times = sample_times(probe.duration, SAMPLES_PER_SECOND, most=10**9)
    pictures = measure_pictures(sample_frames(path, times, max_side))
    speech = speech_intervals(audio)
    return Signals(
        speech=speech,
        pauses=pauses_between(speech),
        turns=voice_turns(audio, speech),
        faces=tuple(pictures.faces),
        motion=tuple(pictures.motion),
        shots=tuple(pictures.shots),
        blur=round(float(np.median(pictures.sharpness)), 1),
        brightness=round(float(np.median(pictures.light)), 4),
    )


def window(signals: Signals, start: float, end: float) -> Signals:
    """Return the signals of [start, end), in seconds from `start`.

    Spans are cut at the borders and voices renumbered as they appear. `blur` and `brightness`
    stay those of the whole clip.
    """
    return Signals(
        speech=_spans(signals.speech, start, end),
        pauses=_spans(signals.pauses, start, end),
        turns=_renumbered(_spans(signals.turns, start, end)),
        faces=_moments(signals.faces, start, end),
        # A change dated at the very start is one from a frame outside the window.
        motion=tuple(s for s in _moments(signals.motion, start, end) if s.time > 0),
        shots=tuple(round(t - start, 3) for t in signals.shots if start < t < end),
        blur=signals.blur,
        brightness=signals.brightness,
    )


def _spans(spans: Iterable[_Span], start: float, end: float) -> tuple[_Span, ...]:
    cut = []
    for span in spans:
        begin = round(max(span.start, start) - start, 3)
        finish = round(min(span.end, end) - start, 3)
        if begin < finish:
            cut.append(span.model_copy(update={"start": begin, "end": finish}))
    return tuple(cut)


def _moments(moments: Iterable[_Moment], start: float, end: float) -> tuple[_Moment, ...]:
    return tuple(
        moment.model_copy(update={"time": round(moment.time - start, 3)})
        for moment in moments
        if start <= moment.time < end
    )


def _renumbered(turns: Iterable[VoiceTurn]) -> tuple[VoiceTurn, ...]:
    numbers: dict[int, int] = {}
    return tuple(
        turn.model_copy(update={"voice": numbers.setdefault(turn.voice, len(numbers) + 1)})
        for turn in turns
    )
