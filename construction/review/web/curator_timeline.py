"""Where cues, talk and the decision time lie in an episode, in percent of its duration; pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psychemme.episode import Episode, Interval, Utterance
from psychemme.items import Cue
from psychemme.vocabulary import Modality

_STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_MOST_TICKS = 10


@dataclass(frozen=True)
class Bar:
    """A window on a lane: `left` and `width` in percent, `start` and `end` in seconds."""

    left: float
    width: float
    start: float
    end: float
    label: str
    text: str


@dataclass(frozen=True)
class Lane:
    """One row; `kind` is a modality or `transcript`. Only a modality's first row is named."""

    name: str
    kind: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Timeline:
    """All that is drawn of an episode; `decision` and `ticks` (second, percent) are places."""

    duration: float
    lanes: tuple[Lane, ...]
    pauses: tuple[Bar, ...]
    ticks: tuple[tuple[int, float], ...]
    decision: float | None = None


def make_timeline(
    episode: Episode, cues: Sequence[Cue], decision_time: float | None = None
) -> Timeline:
    """Return the timeline of an episode with the `cues` of an item; times in seconds."""
    length = episode.duration
    lanes = [lane for modality in Modality for lane in _cue_lanes(modality, cues, length)]
    if episode.transcript:
        lanes.append(_talk(episode.transcript, length))
    step = next((size for size in _STEPS_S if length / size <= _MOST_TICKS), 1800)
    return Timeline(
        duration=length,
        lanes=tuple(lanes),
        pauses=tuple(_bar(pause, length) for pause in episode.signals.pauses),
        ticks=tuple((at, 100 * at / length) for at in range(0, math.ceil(length), step)),
        decision=None if decision_time is None else _percent(decision_time, length),
    )


def _cue_lanes(modality: Modality, cues: Sequence[Cue], length: float) -> Iterable[Lane]:
    """Yield rows in which no two cues overlap, so that each can be chosen."""
    rows: list[list[Bar]] = []
    for number, cue in enumerate(cues, 1):
        if cue.modality is not modality:
            continue
        bar = _bar(cue, length, str(number), cue.description)
        row = next((one for one in rows if one[-1].end <= bar.start), None)
        if row is None:
            rows.append([bar])
        else:
            row.append(bar)
    for at, bars in enumerate(rows):
        yield Lane("" if at else modality, modality, tuple(bars))


def _talk(transcript: Iterable[Utterance], length: float) -> Lane:
    return Lane("transcript", "transcript", tuple(_bar(u, length, "", u.text) for u in transcript))


def _bar(window: Interval | Utterance | Cue, length: float, label: str = "", text: str = "") -> Bar:
    left = _percent(window.start, length)
    right = _percent(window.end, length)
    return Bar(left, max(0.0, round(right - left, 3)), window.start, window.end, label, text)


def _percent(time: float, length: float) -> float:
    if not (math.isfinite(time) and length > 0):
        return 0.0
    return round(100 * min(max(time, 0.0), length) / length, 3)
