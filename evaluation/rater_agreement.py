"""Measures of how far raters agree, each defined only where chance would not always agree.

- raw: how often two raters gave one response the same label, a fraction.
- kappa: Cohen's, with quadratic weights over the order of the labels (Cohen, 1968); of two raters.
- alpha: Krippendorff's with the ordinal metric, of any number of raters, gaps allowed.
- tau: Kendall's tau-b of two orders of the same runs, ties allowed.

Labels are their places in the order of labels, from 0; a table is (raters, units), NaN where a
rater gave no label.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from math import sqrt

import numpy as np

from evaluation.bootstrap import Floats


class Undefined(StrEnum):
    """Why a figure is undefined."""

    NOTHING_SHARED = "no response was labelled by two of them"
    ONE_LABEL = "all labels are the same, so that chance alone would agree"
    ONE_RATER_ALIKE = "one rater gave a single label, so that there is no order to correlate"
    SEVERAL_RATERS = "compares two raters only"
    FEW_RUNS = "fewer than two ranked runs"
    TIED = "all runs are tied"


def raw_agreement(table: Floats) -> float:
    """Return the share of pairs of labels (raters, units; NaN: no label) that are the same."""
    pairs = [
        bool(one == other)
        for column in table.T
        for one, other in combinations(column[~np.isnan(column)].tolist(), 2)
    ]
    return sum(pairs) / len(pairs)


def weighted_kappa(table: Floats, size: int) -> float:
    """Return Cohen's kappa with quadratic weights from labels 0 to `size` - 1 (2, units).

    Needs at least two different labels.
    """
    observed = np.zeros((size, size))
    np.add.at(observed, tuple(table.astype(int)), 1.0)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    places = np.arange(size)
    distances = (places[:, None] - places) ** 2
    return 1 - float((distances * observed).sum()) / float((distances * expected).sum())


def ordinal_alpha(table: Floats, size: int) -> float:
    """Return Krippendorff's ordinal alpha of a table of labels 0 to `size` - 1.

    Needs at least two different labels.
    """
    import krippendorff

    return float(
        krippendorff.alpha(
            table, value_domain=np.arange(size, dtype=float), level_of_measurement="ordinal"
        )
    )


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two scorings of the same runs, None where one orders nothing."""
    orders = [
        (np.sign(a - b), np.sign(c - d))
        for (a, c), (b, d) in combinations(zip(one, other, strict=True), 2)
    ]
    concordant = sum(float(p * q) for p, q in orders)
    kept = sum(float(p * p) for p, _ in orders) * sum(float(q * q) for _, q in orders)
    return concordant / sqrt(kept) if kept else None
