"""Moments: gaps between spoken words that leave room to speak."""

import re
from collections.abc import Sequence

from psychemme.clients.signal.answer.found import Found, Look, ambiguous, best, unsupported
from psychemme.clients.signal.answer.reading import Reading, times
from psychemme.clients.signal.answer.search import find, nearest
from psychemme.episode import Interval
from psychemme.vocabulary import LookAgain

_SLACK = 0.1
_TIE = 0.02


def find_moment(look: Look, reading: Reading) -> Found:
    """Choose the option that lies in the first gap between words that is long enough."""
    moments = {text: times(text)[0] for text in look.options if times(text)}
    if not moments:
        return unsupported("No option is a moment.")
    start = _from(look, reading)
    if isinstance(start, Found):
        return start
    if re.search(r"\bmost\b|\blongest\b|\bwidest\b|\bbiggest\b", reading.plain):
        return _widest(look, moments, start)
    for gap in gaps(look):
        if gap.start < start - 2 * _SLACK or gap.end - gap.start < reading.room:
            continue
        inside = [text for text, time in moments.items() if _holds(gap, time)]
        if len(inside) > 1:
            return ambiguous("Two options lie in the same gap.")
        if inside:
            return Found((inside[0],), why=f"The words leave {gap.end - gap.start:.1f} s there.")
    return unsupported("No option lies in a gap between words that is long enough.")


def _widest(look: Look, moments: dict[str, float], start: float) -> Found:
    """Choose the option that lies in the widest gap from `start` on."""
    widths = {
        text: max(
            (
                gap.end - gap.start
                for gap in gaps(look)
                if gap.start >= start - 2 * _SLACK and _holds(gap, time)
            ),
            default=0.0,
        )
        for text, time in moments.items()
    }
    return best(widths, 2 * _SLACK, _TIE, "The widest of the gaps between words.")


def gaps(look: Look) -> Sequence[Interval]:
    """Return the gaps between words, or, told to check the speech, those the audio shows too."""
    ordered = sorted(look.words, key=lambda word: word.start)
    found, heard = [], ordered[0].end if ordered else 0.0
    for word in ordered[1:]:
        if word.start > heard:
            found.append(Interval(start=heard, end=word.start))
        heard = max(heard, word.end)
    if look.episode.duration > heard:
        found.append(Interval(start=heard, end=look.episode.duration))
    return _with_audio(look, found) if LookAgain.CHECK_SPEECH in look.ways else found


def _with_audio(look: Look, found: Sequence[Interval]) -> Sequence[Interval]:
    """Return the audio's pauses, each edge moved half way to the gap between words it meets."""
    merged = []
    for pause in look.episode.signals.pauses:
        meets = [gap for gap in found if gap.start < pause.end and pause.start < gap.end]
        gap = max(
            meets,
            key=lambda gap: min(gap.end, pause.end) - max(gap.start, pause.start),
            default=pause,
        )
        merged.append(Interval(start=(gap.start + pause.start) / 2, end=(gap.end + pause.end) / 2))
    return sorted(merged, key=lambda gap: gap.start)


def _holds(gap: Interval, time: float) -> bool:
    return gap.start - _SLACK <= time <= gap.end + _SLACK


def _from(look: Look, reading: Reading) -> float | Found:
    """Return the time from which to look."""
    if not reading.quotes:
        known = [*reading.times, look.decision_time]
        return next((time for time in known if time is not None), 0.0)
    spans = find(look.words, reading.quotes[0])
    if not spans:
        return unsupported("The quoted words are not heard in the episode.")
    if len(spans) > 1 and not reading.times:
        return ambiguous("The quoted words are heard more than once.")
    return nearest(spans, reading.times[0]).end if reading.times else spans[0].end
