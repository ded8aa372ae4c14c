"""Intervals of runs, of all their pairs, and of how pairs differ between capabilities.

A figure is a measure (Raw, Verified, retention) of one capability, of their macro mean, or the
difference of two capabilities. (A - B in X) - (A - B in Y) is the paired difference of the figure
"X minus Y". Differences are recomputed within each draw. Comparisons are exploratory: p-values
come unadjusted and Holm-adjusted over all pairs of one figure.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations

import numpy as np

from evaluation.bootstrap import (
    DRAWS,
    SEED,
    Estimate,
    Floats,
    draw_totals,
    estimates,
    holm,
    p_values,
    rank_intervals,
)
from evaluation.episode_table import EpisodeTable, Unit
from psychemme.episode import Value
from psychemme.vocabulary import Capability

_HELD_VALUES = 16_000_000
"""How many drawn values are held at once; more figures take more passes over the same stream."""
_HELD_PAIR_VALUES = 1_500_000


class Measure(StrEnum):
    """What is measured."""

    RAW = "raw"
    VERIFIED = "verified"
    RETENTION = "retention"


class Figure(Value):
    """A measure of `capability` (None: the macro mean), less that of `minus` where given."""

    measure: Measure
    capability: Capability | None = None
    minus: Capability | None = None


class RunEstimate(Value):
    """A figure of one run; `ranks` is the 95% interval of its rank among the runs, 1 the best."""

    figure: Figure
    run: str
    estimate: Estimate
    ranks: tuple[int, int] | None


class PairEstimate(Value):
    """A figure of `run` less that of `other`, with its p-value, as it is and Holm-adjusted."""

    figure: Figure
    run: str
    other: str
    difference: Estimate
    p: float | None
    p_holm: float | None


class Comparison(Value):
    """Everything estimated from one stream of draws over `units` units."""

    unit: Unit
    units: int
    draws: int
    seed: int
    runs: tuple[RunEstimate, ...]
    pairs: tuple[PairEstimate, ...]


def figures(
    declared: Sequence[Capability], measures: Sequence[Measure] = tuple(Measure)
) -> tuple[Figure, ...]:
    """Return each measure's macro figure and its figure of every declared capability."""
    scopes = (None, *declared)
    return tuple(Figure(measure=m, capability=scope) for m in measures for scope in scopes)


def relative_figures(
    declared: Sequence[Capability], measures: Sequence[Measure] = (Measure.VERIFIED,)
) -> tuple[Figure, ...]:
    """Return the figures "X minus Y" of every two capabilities, for relative differences."""
    return tuple(
        Figure(measure=m, capability=x, minus=y)
        for m in measures
        for x, y in combinations(declared, 2)
    )


def compare(
    table: EpisodeTable,
    wanted: Sequence[Figure],
    draws: int = DRAWS,
    seed: int = SEED,
) -> Comparison:
    """Estimate the wanted figures of every run and of every pair of runs, from the same draws.

    Raises ValueError where a figure names a capability the table does not declare.
    """
    runs: list[RunEstimate] = []
    pairs: list[PairEstimate] = []
    for figure, points, drawn in drawn_figures(table, wanted, draws, seed):
        runs += _runs(table, figure, points, drawn)
        pairs += _pairs(table, figure, points, drawn)
    return Comparison(
        unit=table.unit,
        units=len(table.units),
        draws=draws,
        seed=seed,
        runs=tuple(runs),
        pairs=tuple(pairs),
    )


def drawn_figures(
    table: EpisodeTable, wanted: Sequence[Figure], draws: int = DRAWS, seed: int = SEED
) -> Iterator[tuple[Figure, Floats, Floats]]:
    """Yield each figure with its value for each run (R,) and in each draw (R, draws).

    NaN stands for undefined. What is held at once is bounded, whatever the number of figures.
    """
    sums = np.concatenate(
        [part.reshape(len(table.units), -1) for part in (table.a, table.v, table.n)], axis=1
    )
    points = sums.sum(axis=0, keepdims=True)
    at_once = max(1, _HELD_VALUES // (len(table.runs) * draws))
    for first in range(0, len(wanted), at_once):
        some = wanted[first : first + at_once]
        held = np.empty((len(some), len(table.runs), draws))
        done = 0
        for totals in draw_totals(sums, draws, seed):
            for place, figure in enumerate(some):
                held[place, :, done : done + len(totals)] = _values(table, figure, totals).T
            done += len(totals)
        for figure, drawn in zip(some, held, strict=True):
            yield figure, _values(table, figure, points)[0], drawn


def _values(table: EpisodeTable, figure: Figure, totals: Floats) -> Floats:
    """Return the figure of each run (b, R) from the totals (b, K) of each draw."""
    if figure.minus is not None:
        x = figure.model_copy(update={"minus": None})
        y = figure.model_copy(update={"minus": None, "capability": figure.minus})
        return _values(table, x, totals) - _values(table, y, totals)
    a, v, n = _sums(table, figure.capability, totals)
    with np.errstate(invalid="ignore", divide="ignore"):
        if figure.measure is Measure.RETENTION and figure.capability is not None:
            return np.asarray((v / a)[:, 0])
        if figure.measure is Measure.RETENTION:
            return np.asarray((v / n).mean(axis=1) / (a / n).mean(axis=1))
        credit = a if figure.measure is Measure.RAW else v
        return np.asarray((credit / n).mean(axis=1))


def _sums(
    table: EpisodeTable, capability: Capability | None, totals: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the totals of a, v (b, C, R) and n (b, C, 1) over one capability, or over all."""
    cells = len(table.declared) * len(table.runs)
    chosen = slice(None)
    if capability is not None:
        index = table.declared.index(capability)
        chosen = slice(index, index + 1)
    shape = len(totals), len(table.declared), len(table.runs)
    a, v, n = totals[:, :cells], totals[:, cells : 2 * cells], totals[:, 2 * cells :]
    return a.reshape(shape)[:, chosen], v.reshape(shape)[:, chosen], n[:, chosen, None]


def _runs(
    table: EpisodeTable, figure: Figure, points: Floats, drawn: Floats
) -> Iterator[RunEstimate]:
    found = zip(table.runs, estimates(points, drawn), rank_intervals(drawn), strict=True)
    for run, one, ranks in found:
        yield RunEstimate(figure=figure, run=run, estimate=one, ranks=ranks)


def _pairs(
    table: EpisodeTable, figure: Figure, points: Floats, drawn: Floats
) -> Iterator[PairEstimate]:
    found: list[Estimate] = []
    p: list[float | None] = []
    places = list(combinations(range(len(table.runs)), 2))
    at_once = max(1, _HELD_PAIR_VALUES // drawn.shape[1])
    for first in range(0, len(places), at_once):
        one, other = np.array(places[first : first + at_once]).T
        differences = drawn[one] - drawn[other]
        found += estimates(points[one] - points[other], differences)
        p += p_values(differences)
    for (i, j), difference, each, adjusted in zip(places, found, p, holm(p), strict=True):
        yield PairEstimate(
            figure=figure,
            run=table.runs[i],
            other=table.runs[j],
            difference=difference,
            p=each,
            p_holm=adjusted,
        )
