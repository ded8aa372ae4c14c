"""Clips that show the same: found through an index of picture hashes, checked second by second.

Two clips match where the pictures of one lie in the other for most of the shorter, and where
nothing says that a fixed camera shows other moments: both are heard and sound different, or both
move and move differently. Cost: each clip asks the index for one picture a second, in three keys of
21 bits; a key shared by very many pictures gives its first ones only. What chance agrees on is
dropped by a second key, so that 10,000 clips of a minute take about a minute.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psychemme.episode import Value
from psychemme.media.fingerprint import (
    PICTURES_PER_SECOND,
    SOUNDS_PER_SECOND,
    Fingerprint,
    mirrored,
)

MOST_BITS = 12
"""Of 63: copies differ in under 9 on average, unlike clips in over 18."""
MOST_SOUND_BITS = 0.36
"""As a fraction: copies differ in under 0.33, unlike sounds in over 0.39."""
LEAST_MOTION, LEAST_MOTION_DUBBED = 0.6, 0.8
"""Correlations; the second where the sounds differ."""
LEAST_OVERLAP = 0.8
"""As a share of the shorter clip."""

_SEED_BITS = 12
_STILL_BITS = _SURE_BITS = 4.0
_KEYS, _KEY_BITS = 3, 21
_CROWDED = 24
_MOST_OFFSETS = 4
_LEAST_VOTES = 2  # one may be chance; a copy agrees in several crops, keys and pictures
_LEAST_PICTURES = 5
_ASKED_AT_ONCE = 200_000
_PER_PICTURE = SOUNDS_PER_SECOND // PICTURES_PER_SECOND
_Pairs = NDArray[np.int64]


class Match(Value):
    """Two clips that show the same; `first` goes before `second` in the order given.

    `offset` is where `second` starts in `first`, in seconds. `bits` is the mean difference of
    picture hashes (of 63), `overlap` the share of the shorter clip, `sound` the share of differing
    bits and `motion` the correlation, both None where they cannot be told.
    """

    first: str
    second: str
    offset: float
    bits: float
    overlap: float
    sound: float | None = None
    motion: float | None = None
    is_mirrored: bool = False

    def __str__(self) -> str:
        mirror = ", mirrored" if self.is_mirrored else ""
        return f"pictures differ in {self.bits:.1f} of 63 bits over {self.overlap:.0%}{mirror}"


def matches(prints: Mapping[str, Fingerprint]) -> tuple[Match, ...]:
    """Return the pairs of clips that show the same, by the order of `prints` (id -> fingerprint).

    Among very many copies of one clip each is matched with the first ones only.
    """
    clips = [_Clip(name, each) for name, each in prints.items()]
    found = []
    for (first, second), offsets in sorted(_candidates(clips).items()):
        match = _best(clips[first], clips[second], offsets)
        if match is not None:
            found.append(match)
    return tuple(found)


def groups(found: Sequence[Match]) -> tuple[tuple[str, ...], ...]:
    """Return the clips that matches join, each group sorted, in order of their first clip."""
    leader: dict[str, str] = {}

    def lead(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    for match in found:
        leader[lead(match.second)] = lead(match.first)
    joined: dict[str, list[str]] = defaultdict(list)
    for name in sorted(leader):
        joined[lead(name)].append(name)
    return tuple(sorted(tuple(names) for names in joined.values()))


def superseded(found: Sequence[Match], order: Sequence[str]) -> dict[str, Match]:
    """Return for each clip to drop its match with one that is kept; `order` says who goes first.

    A clip is dropped where it matches a kept one directly, never through another dropped one.
    """
    by_clip: dict[str, dict[str, Match]] = defaultdict(dict)
    for match in found:
        by_clip[match.first][match.second] = match
        by_clip[match.second][match.first] = match
    dropped: dict[str, Match] = {}
    kept: set[str] = set()
    for name in order:
        against = [m for other, m in by_clip[name].items() if other in kept]
        if against:
            dropped[name] = min(against, key=lambda m: (m.bits, m.first, m.second))
        else:
            kept.add(name)
    return dropped


@dataclass(frozen=True)
class _Clip:
    """A clip's fingerprint, read when it is needed."""

    name: str
    print: Fingerprint

    @cached_property
    def pictures(self) -> NDArray[np.uint64]:
        """Hashes of shape (times, crops)."""
        return self.print.picture_hashes()

    def places(self) -> _Pairs:
        """Return the times, in pictures, at which the hash is another than before."""
        whole = self.pictures[:, 0]
        is_new = np.ones(len(whole), dtype=bool)
        is_new[1:] = whole[1:] != whole[:-1]
        return np.flatnonzero(is_new & (whole != 0))


def _candidates(clips: Sequence[_Clip]) -> dict[tuple[int, int], list[int]]:
    """Return the pairs worth a look with their likeliest offsets in pictures, the best first."""
    votes: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    index = _Index(clips)
    for owners, times, hashes in _questions(clips):
        for asking, asked, offsets in index.hits(owners, times, hashes):
            for one, other, offset in zip(asking, asked, offsets, strict=True):
                pair, shift = ((one, other), offset) if one < other else ((other, one), -offset)
                votes[int(pair[0]), int(pair[1])][int(shift)] += 1
    return {
        pair: sorted(counts, key=lambda o: (-counts[o], abs(o), o))[:_MOST_OFFSETS]
        for pair, counts in votes.items()
        if sum(counts.values()) >= _LEAST_VOTES
    }


def _questions(
    clips: Sequence[_Clip],
) -> Iterator[tuple[_Pairs, _Pairs, NDArray[np.uint64]]]:
    """Yield clips, times and hashes to ask for, some at a time: a picture a second, each crop."""
    owners: list[_Pairs] = []
    times: list[_Pairs] = []
    hashes: list[NDArray[np.uint64]] = []
    for number, clip in enumerate(clips):
        places = clip.places()
        seconds, first = np.unique(places // PICTURES_PER_SECOND, return_index=True)
        if not len(seconds):
            continue
        chosen = places[first]
        seen = clip.pictures[chosen]
        asked = np.concatenate([seen, mirrored(seen[:, :1])], axis=1)
        hashes.append(asked.ravel())
        times.append(np.repeat(chosen, asked.shape[1]))
        owners.append(np.full(asked.size, number))
        if sum(map(len, owners)) > _ASKED_AT_ONCE or number == len(clips) - 1:
            yield np.concatenate(owners), np.concatenate(times), np.concatenate(hashes)
            owners, times, hashes = [], [], []
    if owners:
        yield np.concatenate(owners), np.concatenate(times), np.concatenate(hashes)


class _Index:
    """All whole pictures by each of their keys."""

    def __init__(self, clips: Sequence[_Clip]) -> None:
        places = [clip.places() for clip in clips]
        counts = [len(each) for each in places]
        self._owners = np.repeat(np.arange(len(clips)), counts)
        self._times = np.concatenate([*places, np.zeros(0, np.int64)])
        empty = np.zeros(0, np.uint64)
        parts = [clip.pictures[each, 0] for clip, each in zip(clips, places, strict=True)]
        self._hashes = np.concatenate([*parts, empty])
        keys = [_key(self._hashes, number) for number in range(_KEYS)]
        self._orders = [np.argsort(each, kind="stable") for each in keys]
        self._sorted = [each[order] for each, order in zip(keys, self._orders, strict=True)]

    def hits(
        self, owners: _Pairs, times: _Pairs, hashes: NDArray[np.uint64]
    ) -> Iterator[tuple[_Pairs, _Pairs, _Pairs]]:
        """Yield who asks, who is like it, and where the latter starts in the former (pictures)."""
        for number in range(_KEYS):
            asked = _key(hashes, number)
            low = np.searchsorted(self._sorted[number], asked, side="left")
            high = np.searchsorted(self._sorted[number], asked, side="right")
            counts = np.minimum(high - low, _CROWDED)
            question = np.repeat(np.arange(len(asked)), counts)
            starts = np.repeat(np.cumsum(counts) - counts, counts)
            entry = self._orders[number][np.repeat(low, counts) + np.arange(len(question)) - starts]
            differing = np.bitwise_count(hashes[question] ^ self._hashes[entry])
            is_hit = (
                (hashes[question] != 0)
                & (differing <= _SEED_BITS)
                & (owners[question] != self._owners[entry])
            )
            question, entry = question[is_hit], entry[is_hit]
            yield owners[question], self._owners[entry], times[question] - self._times[entry]


def _key(hashes: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    # The lowest bit is always 1.
    shifted = hashes >> np.uint64(1 + number * _KEY_BITS)
    return shifted & np.uint64((1 << _KEY_BITS) - 1)


def _best(first: _Clip, second: _Clip, offsets: Sequence[int]) -> Match | None:
    """Return the match at the likeliest offset where that is close, else the closest of all."""
    looked = {offset: _compared(first, second, offset) for offset in offsets[:1]}
    sure = next((m for m in looked.values() if m is not None and m.bits <= _SURE_BITS), None)
    if sure is not None and _is_same(sure):
        return sure
    # Where little changes the hits say little of the time: both starts and both ends may meet.
    ends = (0, len(first.pictures) - len(second.pictures))
    tried = sorted({offset + step for offset in (*offsets, *ends) for step in (-1, 0, 1)})
    every = (looked.get(offset) or _compared(first, second, offset) for offset in tried)
    same = (m for m in every if m is not None and _is_same(m))
    return min(same, key=lambda m: (m.bits, m.sound or 0, -(m.motion or 0)), default=None)


def _compared(first: _Clip, second: _Clip, offset: int) -> Match | None:
    """Return how the clips compare where picture `offset` of the first is 0 of the second."""
    one, other = first.pictures, second.pictures
    start, stop = max(0, offset), min(len(one), len(other) + offset)
    overlap = (stop - start) / min(len(one), len(other))
    if stop - start < _LEAST_PICTURES or overlap < LEAST_OVERLAP:
        return None
    one, other = one[start:stop], other[start - offset : stop - offset]
    told = (one[:, 0] != 0) & (other[:, 0] != 0)
    if told.sum() < max(_LEAST_PICTURES, LEAST_OVERLAP * len(told) / 2):
        return None
    one, other = one[told], other[told]
    bits, turned = _bits(one, other), _bits(mirrored(one), other)
    return Match(
        first=first.name,
        second=second.name,
        offset=offset / PICTURES_PER_SECOND,
        bits=round(min(bits, turned), 2),
        overlap=round(overlap, 3),
        sound=_sound(first.print, second.print, offset),
        motion=_motion(first.print, second.print, start, stop, offset),
        is_mirrored=turned < bits,
    )


def _bits(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """Return the mean difference of hashes for the best crop of either."""
    cropped_other = np.bitwise_count(one[:, :1] ^ other).mean(axis=0)
    cropped_one = np.bitwise_count(one ^ other[:, :1]).mean(axis=0)
    return float(min(cropped_other.min(), cropped_one.min()))


def _sound(first: Fingerprint, second: Fingerprint, offset: int) -> float | None:
    """Return the share of bits in which the sounds differ, None where too little is heard."""
    (one, loud), (other, other_loud) = first.sound_hashes(), second.sound_hashes()
    found = []
    for shift in range(offset * _PER_PICTURE - 2, offset * _PER_PICTURE + 3):
        start, stop = max(0, shift), min(len(one), len(other) + shift)
        if stop <= start:
            continue
        heard = loud[start:stop] & other_loud[start - shift : stop - shift]
        if heard.sum() >= max(SOUNDS_PER_SECOND, (stop - start) / 4):
            differing = np.bitwise_count(one[start:stop] ^ other[start - shift : stop - shift])
            found.append(float(differing[heard].mean()) / 16)
    return round(min(found), 3) if found else None


def _motion(
    first: Fingerprint, second: Fingerprint, start: int, stop: int, offset: int
) -> float | None:
    """Return the correlation of log motion, None where one of them hardly changes."""
    one = np.log(np.asarray(first.motion[start + 1 : stop], dtype=float) + 3)
    other = np.log(np.asarray(second.motion[start - offset + 1 : stop - offset], dtype=float) + 3)
    if len(one) < _LEAST_PICTURES or min(one.std(), other.std()) < 0.1:
        return None
    return round(float(np.corrcoef(one, other)[0, 1]), 3)


def _is_same(match: Match) -> bool:
    """Return whether what was compared shows one moment, not only one place."""
    if match.bits > MOST_BITS:
        return False
    if match.sound is not None and match.sound <= MOST_SOUND_BITS:
        return True
    if match.motion is not None:
        least = LEAST_MOTION if match.sound is None else LEAST_MOTION_DUBBED
        return match.motion >= least
    return match.sound is None and match.bits <= _STILL_BITS
