"""Intervals of any figure that is a function of sums: the paired episode bootstrap for analyses.

What is compared goes into one call, so that everything rests on the same draws. Shapes: E episodes,
K sums, Q figures, b draws in a block.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from evaluation.bootstrap import DRAWS, SEED, Estimate, Floats, draw_totals, estimates
from evaluation.report.cohorts import Shown
from evaluation.scoring import ScoringError


class EpisodeEstimate(Estimate):
    """A figure with its interval, and how many episodes hold something it counts."""

    episodes: int


Figures = Callable[[Floats], Floats]
"""From totals (b, K) to figures (b, Q); NaN where a figure is undefined."""


def episode_sums(rows: Iterable[tuple[str, Sequence[float]]]) -> Floats:
    """Return sums (E, K) from rows of an episode id and K values, episodes by ascending id.

    Only the episodes of `rows` are redrawn: an analysis of a subset gives the rows of that subset.
    Raises ScoringError where there is no row.
    """
    found: dict[str, Floats] = {}
    for episode, values in rows:
        row = np.asarray(values, dtype=np.float64)
        found[episode] = found[episode] + row if episode in found else row
    if not found:
        raise ScoringError("there is no item to analyse.", "Choose a subset that holds items.")
    return np.stack([found[episode] for episode in sorted(found)])


def estimated(
    sums: Floats, figures: Figures, draws: int = DRAWS, seed: int = SEED
) -> list[EpisodeEstimate]:
    """Return the interval of each figure of `sums` (E, K), all from the same draws."""
    whole = sums.sum(axis=0, keepdims=True)
    drawn = np.concatenate([figures(totals) for totals in draw_totals(sums, draws, seed)])
    found = estimates(figures(whole)[0], np.ascontiguousarray(drawn.T))
    # What is unknown in an episode makes every figure that counts it unknown.
    resting = np.isnan(figures(np.where(sums != 0, np.nan, whole))).sum(axis=0)
    return [
        EpisodeEstimate(**vars(one), episodes=n if one.point is not None else 0)
        for one, n in zip(found, resting.tolist(), strict=True)
    ]


def quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Return numerator / denominator, NaN where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    found = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=found, where=denominator != 0)
    return found


def shown(estimate: EpisodeEstimate, *, is_difference: bool = False) -> Shown:
    """Return an estimate as a cell of a table; fractions become percent when printed."""
    return Shown(
        point=estimate.point,
        low=estimate.low,
        high=estimate.high,
        excluded=estimate.excluded,
        episodes=estimate.episodes,
        is_difference=is_difference,
    )
