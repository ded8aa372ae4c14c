"""Agreement coefficients over counts: how many reviewers gave each item each value.

Symbols and shapes: N items, V values; `counts` (N, V) holds n_uc, how often item u was given value
c; m_u = sum_c n_uc is how often it was rated. An item is pairable where m_u >= 2; a skip is simply
not counted. `distances` (V, V) is symmetric, 0 on its diagonal and at most 1.

Sources: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); K. L. Gwet, Computing
inter-rater reliability and its variance in the presence of high agreement (2008), missing ratings
as in his Handbook of Inter-Rater Reliability (4th ed., 2014); R. Passonneau, Measuring Agreement on
Set-valued Items (LREC 2006).
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from psychemme.episode import Value

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS = 1_000
SEED = 42
TAILS = (2.5, 97.5)
"""Percentiles that bound a 95% interval."""
WITHHELD_ABOVE = 0.50
_BLOCK_VALUES = 1_000_000


class Undefined(StrEnum):
    """Why a coefficient has no value."""

    NO_ITEMS = "no_items"
    FEWER_THAN_TWO_RATERS = "fewer_than_two_raters"
    NO_VARIATION = "no_variation"
    OPTIONS_UNTOLD = "options_untold"

    @property
    def text(self) -> str:
        """The reason in a sentence."""
        return _TEXTS[self]


_TEXTS = {
    Undefined.NO_ITEMS: "nothing was rated",
    Undefined.FEWER_THAN_TWO_RATERS: "no item was rated by two reviewers",
    Undefined.NO_VARIATION: "every rating is the same, so chance agreement is complete as well",
    Undefined.OPTIONS_UNTOLD: "the ratings do not tell how many options there were",
}

Coefficient = float | Undefined


class AlphaInterval(Value):
    """A 95% percentile interval of alpha; `excluded` is the share of draws without variation.

    The bounds are None where more than half of the draws are excluded, or where there is only one
    pairable item to draw from.
    """

    low: float | None
    high: float | None
    excluded: float


def masi_distances(sets: Sequence[frozenset[str]]) -> Floats:
    """Return the MASI distance 1 - J M between any two of V non-empty sets (Passonneau, 2006).

    J is the Jaccard index; M is 1 for equal sets, 2/3 where one holds the other, 1/3 where each has
    something the other lacks, 0 for disjoint sets.
    """
    members = sorted(frozenset().union(*sets))
    holds = np.array([[member in one for member in members] for one in sets], dtype=np.int64)
    holds = holds.reshape(len(sets), len(members))
    shared = holds @ holds.T
    sizes = holds.sum(axis=1)
    union = sizes[:, None] + sizes - shared
    nested = shared == np.minimum(sizes[:, None], sizes)
    monotonicity = np.select([shared == union, nested, shared > 0], [1, 2 / 3, 1 / 3], 0)
    return np.asarray(1 - shared / union * monotonicity, dtype=np.float64)


def nominal_distances(values: int) -> Floats:
    """Return distances of 1 between any two different values."""
    return 1 - np.eye(values)


def why_undefined(counts: Counts) -> Undefined | None:
    """Return why no two ratings can be compared, or None where some can."""
    rated = counts.sum(axis=1)
    if not rated.any():
        return Undefined.NO_ITEMS
    return None if (rated >= 2).any() else Undefined.FEWER_THAN_TWO_RATERS


def mean_distance(counts: Counts, distances: Floats) -> Coefficient:
    """Return the distance of two reviewers on one item: mean over pairs, then pairable items."""
    if reason := why_undefined(counts):
        return reason
    paired = _pairable(counts)
    rated = paired.sum(axis=1)
    return float((_disagreement(paired, distances) / rated).mean())


def raw_agreement(counts: Counts) -> Coefficient:
    """Return the share of agreeing pairs of reviewers: mean over pairs, then pairable items.

    It is Gwet's p_a: items weigh equally, however many reviewers they had.
    """
    distance = mean_distance(counts, nominal_distances(counts.shape[1]))
    return distance if isinstance(distance, Undefined) else 1 - distance


def unanimous_share(counts: Counts) -> Coefficient:
    """Return the share of pairable items whose ratings are all the same."""
    if reason := why_undefined(counts):
        return reason
    paired = _pairable(counts)
    return float((paired.max(axis=1) == paired.sum(axis=1)).mean())


def nominal_alpha(counts: Counts) -> Coefficient:
    """Return Krippendorff's alpha of values that are the same or not, by the library."""
    import krippendorff

    if reason := _why_no_alpha(counts):
        return reason
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def alpha(counts: Counts, distances: Floats) -> Coefficient:
    """Return Krippendorff's alpha under any distance.

    The library takes a distance too, but holds N x V x V numbers at once, which hundreds of
    different sets make gigabytes; here it is N x V.
    """
    if reason := _why_no_alpha(counts):
        return reason
    paired = _pairable(counts)
    return float(_alphas(paired, distances, np.ones((1, len(paired))))[0])


def alpha_interval(
    counts: Counts, distances: Floats, draws: int = DRAWS, seed: int = SEED
) -> AlphaInterval | None:
    """Return the interval of alpha over redrawn items, or None where alpha is undefined.

    A draw takes as many pairable items as there are, with replacement and with all their ratings:
    items stand for others like them, the reviewers stay who they are. Draw d takes the rows
    `numpy.random.default_rng(seed).integers(0, N, (draws, N))[d]` of the pairable items.
    """
    if _why_no_alpha(counts):
        return None
    paired = _pairable(counts)
    drawn = np.concatenate(
        [_alphas(paired, distances, block) for block in _draw_counts(len(paired), draws, seed)]
    )
    known = drawn[~np.isnan(drawn)]
    excluded = (draws - len(known)) / draws
    if excluded > WITHHELD_ABOVE or len(paired) < 2:
        return AlphaInterval(low=None, high=None, excluded=excluded)
    low, high = np.percentile(known, TAILS, method="linear").tolist()
    return AlphaInterval(low=low, high=high, excluded=excluded)


def gwet_ac1(counts: Counts, categories: int | None) -> Coefficient:
    """Return Gwet's AC1 = (p_a - p_e) / (1 - p_e), p_e = sum_c pi_c (1 - pi_c) / (q - 1).

    pi_c is the mean over all rated items of the share of ratings that are c; q is `categories`, how
    many values a reviewer could have given, None where that is not known. Defined without variation
    too, where q >= 2.
    """
    agreed = raw_agreement(counts)
    if isinstance(agreed, Undefined):
        return agreed
    if categories is None:
        return Undefined.OPTIONS_UNTOLD
    if categories < 2:
        return Undefined.NO_VARIATION
    rated = counts[counts.sum(axis=1) > 0]
    shares = (rated / rated.sum(axis=1, keepdims=True)).mean(axis=0)
    chance = float((shares * (1 - shares)).sum()) / (categories - 1)
    return (agreed - chance) / (1 - chance)


def _pairable(counts: Counts) -> Counts:
    return np.asarray(counts[counts.sum(axis=1) >= 2])


def _why_no_alpha(counts: Counts) -> Undefined | None:
    if reason := why_undefined(counts):
        return reason
    varies = np.count_nonzero(_pairable(counts).sum(axis=0)) > 1
    return None if varies else Undefined.NO_VARIATION


def _disagreement(paired: Counts, distances: Floats) -> Floats:
    """Return the summed distances from each rating to the item's others, over m_u - 1 (N)."""
    summed = ((paired @ distances) * paired).sum(axis=1)
    return np.asarray(summed / (paired.sum(axis=1) - 1))


def _alphas(paired: Counts, distances: Floats, drawn: Floats) -> Floats:
    """Return alpha where item u counts drawn[d, u] times (b); NaN where nothing varies.

    alpha = 1 - D_o / D_e. Both come from sums over items: the coincidences o_ck only enter as
    sum_ck o_ck d_ck, which is the items' summed disagreement, and as their margins n_c.
    """
    margins = drawn @ paired
    expected = ((margins @ distances) * margins).sum(axis=1) / (margins.sum(axis=1) - 1)
    observed = drawn @ _disagreement(paired, distances)
    found = np.full(len(drawn), np.nan)
    np.divide(expected - observed, expected, out=found, where=expected > 0)
    return found


def _draw_counts(items: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each item is in each draw, in blocks (b, N) of bounded size."""
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_VALUES // items)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        places = generator.integers(0, items, (size, items)) + np.arange(size)[:, None] * items
        counts = np.bincount(places.ravel(), minlength=size * items)
        yield counts.reshape(size, items).astype(np.float64)
