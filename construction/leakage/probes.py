"""What a model is given of an item: nothing of the footage, its transcript, or parts around cues.

Whatever a probe gives is chosen by time windows and by the kind of a cue alone. Frames and
utterances stand or fall as a whole: one that touches a cue's window belongs to it.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from construction.leakage.items import LeakageItem
from psychemme.episode import Episode, Signals, Value
from psychemme.vocabulary import Modality
from state.values import Frame


class Probe(StrEnum):
    """What a model is given beside the options."""

    QUESTION = "question"
    OPTIONS = "options"
    TRANSCRIPT = "transcript"
    WHOLE = "whole"
    MASKED = "cues_masked"
    CUES = "cues_only"


FOOTAGE = (Probe.WHOLE, Probe.MASKED, Probe.CUES)
"""Probes with frames: the control, then whether cues are necessary, then whether they suffice."""


Windows = tuple[tuple[float, float], ...]
"""Start and end of each, in seconds from the episode's start."""


class View(Value):
    """An item as a probe shows it: `episode` is None where nothing of it is given.

    `heard` are the windows of the episode whose sound is given, in seconds from its start.
    """

    question: str
    episode: Episode | None = None
    frames: tuple[Frame, ...] = ()
    heard: Windows = ()


def view(item: LeakageItem, probe: Probe) -> View | None:
    """Return what `probe` gives of an item, None where it does not apply to it."""
    if probe is Probe.QUESTION:
        return View(question=item.question)
    if probe is Probe.OPTIONS:
        return View(question="") if item.format.is_choice else None
    if probe is Probe.TRANSCRIPT:
        return View(question=item.question, episode=_spoken(item.material.episode))
    if not item.cues:
        return None
    return _around_cues(item, probe)


def _spoken(episode: Episode) -> Episode:
    return episode.model_copy(update={"public_context": "", "signals": Signals(), "history": ()})


def _around_cues(item: LeakageItem, probe: Probe) -> View:
    episode, frames = item.material.episode, item.material.frames
    whole = episode.model_copy(update={"signals": Signals()})
    if probe is Probe.WHOLE:
        all_of_it = ((0.0, episode.duration),)
        return View(question=item.question, episode=whole, frames=frames, heard=all_of_it)
    windows = [(cue.start, cue.end) for cue in item.cues if cue.modality not in _TOLD]
    told = {cue.modality for cue in item.cues}
    inside = probe is Probe.CUES
    kept = {
        "transcript": tuple(
            u for u in episode.transcript if _touches(u.start, u.end, windows) is inside
        ),
        "public_context": episode.public_context if (_CONTEXT in told) is inside else "",
        "history": episode.history if (_HISTORY in told) is inside else (),
    }
    shown = [frame for frame in frames if _touches(frame.time, frame.time, windows) is inside]
    if inside:
        # A window may lie between two frames: the nearest one stands for it.
        shown = sorted({*shown, *_nearest(frames, windows)}, key=lambda frame: frame.time)
    cut = whole.model_copy(update=kept)
    # What is said is one with its line of the transcript.
    said = [(u.start, u.end) for u in episode.transcript if _touches(u.start, u.end, windows)]
    sound = _joined([*windows, *said], episode.duration)
    heard = sound if inside else _between(sound, episode.duration)
    return View(question=item.question, episode=cut, frames=tuple(shown), heard=heard)


_CONTEXT, _HISTORY = Modality.CONTEXT, Modality.HISTORY
_TOLD = frozenset({_CONTEXT, _HISTORY})


def _touches(start: float, end: float, windows: Sequence[tuple[float, float]]) -> bool:
    return any(start <= last and end >= first for first, last in windows)


def _joined(windows: Iterable[tuple[float, float]], duration: float) -> Windows:
    """Return windows in order, those that overlap as one, inside the episode."""
    found: list[tuple[float, float]] = []
    for start, end in sorted((max(start, 0.0), min(end, duration)) for start, end in windows):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif start < end:
            found.append((start, end))
    return tuple(found)


def _between(windows: Windows, duration: float) -> Windows:
    """Return what joined windows leave of the episode."""
    starts, ends = [0.0, *(end for _, end in windows)], [*(start for start, _ in windows), duration]
    return tuple((start, end) for start, end in zip(starts, ends, strict=True) if start < end)


def _nearest(frames: Sequence[Frame], windows: Sequence[tuple[float, float]]) -> list[Frame]:
    return [
        min(frames, key=lambda frame, at=(first + last) / 2: abs(frame.time - at))  # type: ignore[misc]
        for first, last in windows
        if frames and not any(first <= frame.time <= last for frame in frames)
    ]
