"""Which windows of a clip become episodes, and what each remembers.

A window lies within the limits, holds speech (unless the plan says otherwise), overlaps no other
and ends in a pause or at an utterance's border wherever one is in reach. The duration bands take
turns over the windows of a clip, from a start drawn from its id, so that all three occur. A clip
longer than the shortest band is cut at least once where its speech allows, so that the second
window has a history. All arithmetic is in whole milliseconds, the grain of episode ids.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise
from math import floor, isfinite
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from construction.plan import EpisodeLimits
from psychemme.canonical import digest
from psychemme.episode import HistoryEntry, Interval, Utterance, Value, Word
from psychemme.errors import ConfigError
from psychemme.vocabulary import DurationBand

LEAST_SPEECH = 500
"""Milliseconds of speech that a window must hold."""
MARGIN = 2000
"""Milliseconds of silence kept around the speech of a window where a longer one can be dropped."""
_LULL = 30_000  # a longer silence is kept out of windows
_CLEAR = 100  # a pause's cut keeps this far from speech
_BANDS = list(DurationBand)
_BAND_STARTS = (0, 30_000, 60_000)
_SHORT = _BAND_STARTS[1]


class NoWindow(StrEnum):
    """Why a clip gives no episode."""

    TOO_SHORT = "too_short"
    NO_SPEECH = "no_speech"
    TAKEN = "taken"


class Windows(Value):
    """The windows of a clip in seconds from its start, or the reason why there are none."""

    windows: tuple[Interval, ...] = ()
    reason: NoWindow | None = None


def choose_windows(
    clip_id: str,
    duration: float,
    speech: Sequence[Interval],
    utterances: Sequence[Utterance],
    limits: EpisodeLimits,
    taken: Sequence[Interval] = (),
) -> Windows:
    """Return the episodes of a clip, in order.

    All times are seconds from the clip's start; `taken` is what episodes of the same source video
    already cover. Utterances flagged as recogniser faults are ignored. The result depends on
    nothing but the arguments.
    """
    total = _whole_milliseconds(duration)
    chooser = _Chooser(clip_id, total, speech, utterances, limits)
    stretches = list(_stretches(total, _Spans(_clipped(taken, total))))
    if total < chooser.least:
        return Windows(reason=NoWindow.TOO_SHORT)
    if not chooser.has_speech(0, total):
        return Windows(reason=NoWindow.NO_SPEECH)
    if all(stop - start < chooser.least for start, stop in stretches):
        return Windows(reason=NoWindow.TAKEN)
    for start, stop in stretches:
        chooser.fill(start, stop)
    windows = tuple(Interval(start=a / 1000, end=b / 1000) for a, b in chooser.windows)
    return Windows(windows=windows, reason=None if windows else NoWindow.NO_SPEECH)


def episode_id(clip_id: str, start: float, end: float) -> str:
    """Return the id of the window from `start` to `end`, in seconds from the clip's start."""
    return f"{clip_id}-{round(start * 1000)}-{round(end * 1000)}"


def history_before(
    utterances: Iterable[Utterance], start: float, most_words: int = 120
) -> tuple[HistoryEntry, ...]:
    """Return what was said before `start`, oldest first, at most the last `most_words` words.

    `utterances` are those of the clip's earlier episodes; they and `start` are in seconds from the
    clip's start. Whole utterances are kept, except that one longer than the limit keeps its end.
    """
    entries: list[HistoryEntry] = []
    # An episode that begins at an utterance's border begins within a millisecond of it.
    before_start = (u for u in utterances if u.end <= start + 0.001)
    earlier = (u for u in before_start if u.text.strip() and not u.flags)
    for utterance in sorted(earlier, key=lambda u: (u.start, u.end), reverse=True):
        words = utterance.text.split()
        if entries and len(words) > most_words:
            break
        before = round(start - utterance.start, 3)
        entries.append(HistoryEntry(before=before, text=" ".join(words[-most_words:])))
        most_words -= len(words)
        if most_words <= 0:
            break
    return tuple(reversed(entries))


def load_history(path: Path) -> tuple[HistoryEntry, ...]:
    """Return the history in the YAML or JSON file `path`: a list of {text, before?}.

    `before` is in seconds before the episode's start. Raises `ConfigError` naming file and fault.
    """
    fix = 'Give a list such as [{"text": "She asked not to be called.", "before": 60}].'
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = TypeAdapter(tuple[HistoryEntry, ...]).validate_python(raw)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as a history: {error}.", fix) from error
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the file"
        raise ConfigError(f"{path}: {place}: {fault['msg']}.", fix) from error
    for index, entry in enumerate(entries):
        if not entry.text.strip():
            raise ConfigError(f"{path}: {index}.text is empty.", fix)
        if entry.before is not None and not (isfinite(entry.before) and entry.before >= 0):
            raise ConfigError(f"{path}: {index}.before {entry.before} is not 0 or more.", fix)
    return entries


class _Spans:
    """Disjoint spans in milliseconds, made from any; spans that only touch stay apart."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(spans):
            if self.ends and start < self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)
        lengths = (end - start for start, end in self)
        self.sums = list(accumulate(lengths, initial=0))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts, self.ends, strict=True)

    def within(self, start: int, end: int) -> int:
        """Return how much of `start` to `end` is covered."""
        return self._until(end) - self._until(start)

    def cut_by(self, time: int) -> bool:
        """Return whether `time` lies strictly inside a span."""
        place = bisect_left(self.starts, time)
        return place > 0 and time < self.ends[place - 1]

    def next_end(self, time: int) -> int:
        """Return the end of the first span that ends after `time`, `time` where none does."""
        place = bisect_right(self.ends, time)
        return self.ends[place] if place < len(self.ends) else time

    def next_start(self, time: int) -> int:
        """Return where covered time goes on at or after `time`."""
        return max(time, self.starts[bisect_right(self.ends, time)])

    def last_end(self, time: int) -> int:
        """Return where covered time last was at or before `time`."""
        return min(time, self.ends[bisect_left(self.starts, time) - 1])

    def _until(self, time: int) -> int:
        place = bisect_left(self.starts, time)
        return self.sums[place] - (max(0, self.ends[place - 1] - time) if place else 0)


class _Chooser:
    """Fills free stretches of one clip with windows, from left to right."""

    def __init__(
        self,
        clip_id: str,
        total: int,
        speech: Sequence[Interval],
        utterances: Sequence[Utterance],
        limits: EpisodeLimits,
    ) -> None:
        said = [u for u in utterances if not u.flags]
        words = [word for u in said for word in u.words]
        self.clip_id, self.required = clip_id, limits.require_speech
        self.least = round(limits.min_seconds * 1000)
        self.most = round(limits.max_seconds * 1000)
        self.utterances = _Spans(_clipped(said, total))
        self.spoken = _Spans([*_clipped(speech, total), *_clipped(said, total)])
        self.lulls = _Spans(gap for gap in self._pauses() if gap[1] - gap[0] > _LULL)
        self.word_borders = {time for span in _clipped(words, total) for time in span}
        borders = (time for span in _clipped(said, total) for time in span)
        self.cuts = sorted({*borders, *self.word_borders, *self._pause_cuts()})
        self.windows: list[tuple[int, int]] = []

    def has_speech(self, start: int, end: int) -> bool:
        """Return whether a window would hold enough speech."""
        return not self.required or self.spoken.within(start, end) >= LEAST_SPEECH

    def fill(self, start: int, stop: int) -> None:
        """Choose the windows of the free stretch from `start` to `stop`."""
        while self.has_speech(start, stop):
            start = self._begin(start, stop)
            if stop - start < self.least:
                return
            end = self._end(start, stop)
            if end:
                self.windows.append((start, end))
            start = end or self.spoken.next_end(start)

    def _begin(self, start: int, stop: int) -> int:
        """Leave a cut utterance and drop a long silence, where enough remains."""
        if self.utterances.cut_by(start) and self.utterances.next_end(start) <= stop - self.least:
            start = self.utterances.next_end(start)
        if self.required and self.has_speech(start, stop):
            first_speech = self.spoken.next_start(start)
            if first_speech - start > 2 * MARGIN:
                start = max(start, min(first_speech - MARGIN, stop - self.least))
        return start

    def _end(self, start: int, stop: int) -> int | None:
        """Return the best end of a window that begins at `start`, None where none has speech."""
        first, last = start + self.least, min(start + self.most, stop)
        wishes = self._wishes(start, stop)
        cuts = self.cuts[bisect_left(self.cuts, first) : bisect_right(self.cuts, last)]
        ends = {first, last, *cuts, *(w for w in wishes if first <= w <= last)}
        good = (end for end in ends if self.has_speech(start, end))
        return min(good, key=lambda end: self._cost(start, end, stop, wishes), default=None)

    def _cost(self, start: int, end: int, stop: int, wishes: Sequence[int]) -> tuple[int, ...]:
        """Return what speaks against an end, worst first."""
        band = _band(end - start)
        turn = (band - len(self.windows) - int(len(_BANDS) * self._draw())) % len(_BANDS)
        place = self._place(end)
        silence = self._silence(start, end) if self.required else 0
        return (
            max(place, 1),
            self._wastes(start, end, stop),
            silence // (2 * MARGIN),
            turn,
            place,
            abs(end - wishes[band]),
            end,
        )

    def _silence(self, start: int, end: int) -> int:
        """Return the silence at the end or in long lulls, whichever is more."""
        return max(end - self.spoken.last_end(end), self.lulls.within(start, end))

    def _place(self, time: int) -> int:
        """Return 0 in a pause, 1 at an utterance's border, 2 between words, 3 anywhere else."""
        if self.utterances.cut_by(time):
            return 2 if time in self.word_borders else 3
        return int(self.spoken.within(time - _CLEAR, time + _CLEAR) > 0)

    def _wastes(self, start: int, end: int, stop: int) -> bool:
        """Return whether speech after `end` is lost, or a long clip gives one window only."""
        remains = end < stop and self.has_speech(end, stop)
        if self._fits_whole(start, stop):
            return remains
        return stop - end < self.least if remains else not self.windows

    def _fits_whole(self, start: int, stop: int) -> bool:
        return stop - start <= min(_SHORT, self.most)

    def _wishes(self, start: int, stop: int) -> list[int]:
        """Return one wished-for end per band, drawn from what band, limits and `stop` allow."""
        if self._fits_whole(start, stop):
            return [stop] * len(_BANDS)
        last = stop if self.windows else stop - self.least
        edges = [*_BAND_STARTS, max(self.most, _BAND_STARTS[-1])]
        wishes = []
        for low, high in pairwise(edges):
            shortest, longest = max(low + 1, self.least), min(high, self.most, last - start)
            wishes.append(start + shortest + int(self._draw(start) * max(0, longest - shortest)))
        return wishes

    def _pauses(self) -> Iterator[tuple[int, int]]:
        return zip(self.spoken.ends, self.spoken.starts[1:], strict=False)

    def _pause_cuts(self) -> Iterator[int]:
        """Return the middle of short pauses and both margins of long ones."""
        for start, end in self._pauses():
            if end - start <= 2 * MARGIN:
                yield (start + end) // 2
            else:
                yield from (start + MARGIN, end - MARGIN)
        yield from (end + MARGIN for end in self.spoken.ends[-1:])

    def _draw(self, *key: int) -> float:
        return int(digest([self.clip_id, *key])[:8], 16) / 16**8


def _whole_milliseconds(duration: float) -> int:
    """Return the most milliseconds that, as seconds again, do not exceed `duration`."""
    below = floor(duration * 1000)
    return below + 1 if (below + 1) / 1000 <= duration else below


def _band(length: int) -> int:
    return bisect_left(_BAND_STARTS, length) - 1


def _clipped(spans: Iterable[Interval | Utterance | Word], total: int) -> list[tuple[int, int]]:
    """Return the spans in milliseconds, cut to the clip, without empty ones."""
    cut = (
        (max(0, round(s.start * 1000)), min(total, round(s.end * 1000)))
        for s in spans
        if isfinite(s.start) and isfinite(s.end)
    )
    return [(start, end) for start, end in cut if start < end]


def _stretches(total: int, taken: _Spans) -> Iterator[tuple[int, int]]:
    """Return what `taken` leaves of the clip."""
    start = 0
    for busy_start, busy_end in taken:
        if start < busy_start:
            yield start, busy_start
        start = busy_end
    if start < total:
        yield start, total
