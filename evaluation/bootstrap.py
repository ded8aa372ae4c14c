"""The paired bootstrap over episodes: one stream of draws for everything that is compared.

Draw d takes the episodes `numpy.random.default_rng(seed).integers(0, E, (draws, E))[d]`, where
episode i is the i-th in ascending code-point order of `episode_id`. Only how often each episode
was drawn matters, so a draw is a row of counts, and the totals of a draw are its counts times the
sums per episode. All runs share the draws, which keeps them paired (paper, Appendix D.5).

Shapes: E units (episodes or recording groups), K columns of sums, b draws in a block.
"""

from collections.abc import Iterator, Sequence
from math import ceil, floor, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psychemme.episode import Value

Floats = NDArray[np.float64]

DRAWS = 10_000
SEED = 42
TAILS = (2.5, 97.5)
"""Percentiles that bound a 95% interval."""

FLAGGED_ABOVE = 0.05
WITHHELD_ABOVE = 0.50
_BLOCK_VALUES = 1_000_000


class Estimate(Value):
    """A figure with its 95% percentile interval.

    `excluded` is the share of draws in which the figure is undefined; the interval rests on the
    others, and is None where more than half are excluded or the figure itself is undefined.
    """

    point: float | None
    low: float | None
    high: float | None
    excluded: float

    @property
    def is_flagged(self) -> bool:
        """Whether more than 5% of the draws are excluded."""
        return self.excluded > FLAGGED_ABOVE

    @property
    def is_withheld(self) -> bool:
        """Whether more than half of the draws are excluded, so that there is no interval."""
        return self.excluded > WITHHELD_ABOVE


def draw_counts(units: int, draws: int = DRAWS, seed: int = SEED) -> Iterator[Floats]:
    """Yield how often each unit is in each draw, in blocks (b, E) whose rows sum to E.

    Raises ValueError unless `units` and `draws` are positive.
    """
    if units < 1 or draws < 1:
        raise ValueError(f"{draws} draws of {units} units: both must be positive")
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_VALUES // units)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        drawn = generator.integers(0, units, (size, units))
        drawn += np.arange(size)[:, None] * units
        counts = np.bincount(drawn.ravel(), minlength=size * units)
        yield counts.reshape(size, units).astype(np.float64)


def draw_totals(sums: Floats, draws: int = DRAWS, seed: int = SEED) -> Iterator[Floats]:
    """Yield the totals (b, K) of each draw, in blocks, from the sums (E, K) of each unit."""
    for counts in draw_counts(len(sums), draws, seed):
        yield counts @ sums


def estimates(points: Floats, drawn: Floats) -> list[Estimate]:
    """Return the intervals of figures (q,) from their values in each draw (q, draws).

    NaN stands for undefined.
    """
    undefined = np.isnan(drawn)
    excluded = np.count_nonzero(undefined, axis=1) / drawn.shape[1]
    bounds = np.full((len(TAILS), len(drawn)), np.nan)
    whole = excluded == 0
    bounds[:, whole] = _percentiles(drawn[whole])
    for row in np.flatnonzero(~whole & (excluded <= WITHHELD_ABOVE) & ~np.isnan(points)):
        bounds[:, row] = _percentiles(drawn[row, ~undefined[row]])
    return [
        Estimate(point=_known(point), low=_known(low), high=_known(high), excluded=share)
        for point, low, high, share in zip(
            points.tolist(), *bounds.tolist(), excluded.tolist(), strict=True
        )
    ]


def _percentiles(owned: Floats) -> Floats:
    """Return both tails along the last axis of an array that may be reordered: a fresh copy."""
    found = np.percentile(owned, TAILS, axis=-1, method="linear", overwrite_input=True)
    return np.asarray(found)


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def p_values(drawn: Floats) -> list[float | None]:
    """Return the two-sided bootstrap p-value of each difference (q, draws) being 0.

    It is twice the smaller share of draws on either side of 0, each share counting the observed
    data as one more draw (Davison and Hinkley, Bootstrap Methods, 1997, Section 4.4), so it agrees
    with the percentile interval and is never 0. None where most draws are undefined.
    """
    below, above = np.count_nonzero(drawn <= 0, axis=1), np.count_nonzero(drawn >= 0, axis=1)
    known = np.count_nonzero(~np.isnan(drawn), axis=1)
    p = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (known + 1))
    is_enough = known >= (1 - WITHHELD_ABOVE) * drawn.shape[1]
    return [one if enough else None for one, enough in zip(p.tolist(), is_enough, strict=True)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values adjusted for being a family (Holm, 1979); None stays None."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = largest
    return adjusted


def rank_intervals(drawn: Floats) -> list[tuple[int, int] | None]:
    """Return the 95% interval of each run's rank, 1 the best, from values (runs, draws).

    Equal runs share the better rank. Draws in which a run is undefined are left out; None where
    they are more than half. Bounds are ranks that occurred, rounded outwards.
    """
    known = drawn[:, ~np.isnan(drawn).any(axis=0)]
    if known.shape[1] < (1 - WITHHELD_ABOVE) * drawn.shape[1]:
        return [None] * len(drawn)
    return [_outer((known > one).sum(axis=0, dtype=np.uint16) + 1) for one in known]


def _outer(ranks: NDArray[Any]) -> tuple[int, int]:
    low, high = (share / 100 * (len(ranks) - 1) for share in TAILS)
    drawn_up_to = np.cumsum(np.bincount(ranks))
    lowest, highest = np.searchsorted(drawn_up_to, (floor(low), ceil(high)), side="right")
    return int(lowest), int(highest)
