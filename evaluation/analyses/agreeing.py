"""Rates and agreement as functions of sums, so that they can be redrawn like any other figure.

Agreement is measured as in `evaluation.rater_agreement`, and by the nominal alpha (Krippendorff,
Content Analysis, 2019, Chapter 12) and Spearman's rho, where ties have the mean of their ranks.
Where chance alone would agree a measure is NaN.

Shapes: R raters, U units, S labels in their order, b draws. A table of labels (R, U) holds places
0 to S - 1, NaN where a rater gave no label.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from evaluation.analyses.estimating import (
    EpisodeEstimate,
    episode_sums,
    estimated,
    quotient,
    shown,
)
from evaluation.analyses.values import Study
from evaluation.bootstrap import Estimate, Floats
from evaluation.rater_agreement import Undefined
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Number

LEAST_FOR_MAJORITY = 3
"""Fewer labels than this are no majority: of two, only those that agree would be compared."""
HELD_FIXED = (
    "Intervals redraw episodes and hold people fixed: they speak of other episodes, not of other "
    "people."
)

Label = TypeVar("Label", bound=Hashable)


def majority(labels: Iterable[Label]) -> Label | None:
    """Return the label that more people gave than any other, None where two tie or none is."""
    ranked = Counter(labels).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return None
    return ranked[0][0] if ranked else None


def joint_counts(one: Floats, other: Floats, size: int) -> Floats:
    """Return for each unit a table (S, S) with a 1 where both labelled it: (U, S, S)."""
    places = np.arange(size)
    return np.asarray((one[:, None] == places)[:, :, None] * (other[:, None] == places)[:, None, :])


def coincidences(table: Floats, size: int) -> Floats:
    """Return for each unit how its pairable labels coincide: (U, S, S)."""
    counts = (table[..., None] == np.arange(size)).sum(axis=0).astype(np.float64)
    raters = counts.sum(axis=1)[:, None, None]
    ordered = counts[:, :, None] * counts[:, None, :]
    ordered -= counts[:, :, None] * np.eye(size)
    return np.where(raters > 1, ordered / np.maximum(raters - 1, 1), 0.0)


def raw_of(tables: Floats) -> Floats:
    """Return the share (b,) of equal labels in joint counts or coincidences (b, S, S)."""
    return quotient(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))


def kappa_of(tables: Floats) -> Floats:
    """Return Cohen's kappa with quadratic weights (b,) of joint counts (b, S, S)."""
    places = np.arange(tables.shape[1])
    distances = (places[:, None] - places) ** 2
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    expected = np.einsum("bi,ij,bj->b", rows, distances, columns)
    observed = np.einsum("bij,ij->b", tables, distances) * rows.sum(axis=1)
    return 1 - quotient(observed, expected)


def ordinal_alpha_of(tables: Floats) -> Floats:
    """Return Krippendorff's ordinal alpha (b,) of coincidences (b, S, S)."""
    held = tables.sum(axis=2)
    upto = held.cumsum(axis=1) - held / 2
    return _alpha(tables, (upto[:, :, None] - upto[:, None, :]) ** 2)


def nominal_alpha_of(tables: Floats) -> Floats:
    """Return Krippendorff's nominal alpha (b,) of coincidences (b, S, S)."""
    return _alpha(tables, 1 - np.eye(tables.shape[1])[None])


def _alpha(tables: Floats, distances: Floats) -> Floats:
    held = tables.sum(axis=2)
    n = held.sum(axis=1)
    distances = np.broadcast_to(distances, tables.shape)
    observed = np.einsum("bij,bij->b", tables, distances) * (n - 1)
    expected = np.einsum("bi,bij,bj->b", held, distances, held)
    return 1 - quotient(observed, expected)


def spearman_of(tables: Floats) -> Floats:
    """Return Spearman's rho (b,) of joint counts (b, S, S), ties having the mean of their ranks."""
    rows, columns = (_centred_ranks(tables.sum(axis=axis)) for axis in (2, 1))
    shared = np.einsum("bi,bij,bj->b", rows, tables, columns)
    spreads = [
        (tables.sum(axis=axis) * ranks**2).sum(axis=1) for axis, ranks in ((2, rows), (1, columns))
    ]
    return quotient(shared, np.sqrt(spreads[0] * spreads[1]))


def _centred_ranks(held: Floats) -> Floats:
    return np.asarray(held.cumsum(axis=1) - held / 2 - held.sum(axis=1, keepdims=True) / 2)


def coefficient(estimate: EpisodeEstimate) -> Number:
    """Return a coefficient with its interval as a cell."""
    return Number(**vars(estimate))


def why_undefined(shared: Estimate, *others: Estimate) -> Undefined | None:
    """Return why one of a family is undefined; `shared` is the share of equal labels.

    Where one rater alone gave a single label only a rank correlation is.
    """
    if shared.point is None:
        return Undefined.NOTHING_SHARED
    unknown = [one.point is None for one in others]
    if all(unknown):
        return Undefined.ONE_LABEL
    return Undefined.ONE_RATER_ALIKE if any(unknown) else None


def nominal_cells(
    study: Study, units: Sequence[str], table: Floats, size: int
) -> tuple[Shown, Number, Undefined | None]:
    """Return the share of equal labels, nominal alpha, and why one is undefined.

    `units` are what is redrawn, the episode of each column of `table` (R, U).
    """
    tables = coincidences(table, size).reshape(len(units), -1).tolist()

    def of(totals: Floats) -> Floats:
        found = totals.reshape(-1, size, size)
        return np.stack([raw_of(found), nominal_alpha_of(found)], axis=1)

    sums = episode_sums(zip(units, tables, strict=True))
    same, alpha = estimated(sums, of, study.draws, study.seed)
    return shown(same), coefficient(alpha), why_undefined(same, alpha)


def rates(
    study: Study, groups: Sequence[Sequence[tuple[tuple[str, ...], bool]]]
) -> list[EpisodeEstimate]:
    """Return the share of true in each group of (case, whether), all on the same draws of episodes.

    The last of a case is its item.
    """
    held: dict[str, list[float]] = {}
    for place, group in enumerate(groups):
        for case, is_true in group:
            episode = study.release.questions[case[-1]].episode_id
            found = held.setdefault(episode, [0.0] * (2 * len(groups)))
            found[2 * place] += is_true
            found[2 * place + 1] += 1
    if not held:
        nothing = EpisodeEstimate(point=None, low=None, high=None, excluded=1.0, episodes=0)
        return [nothing] * len(groups)
    sums = episode_sums(held.items())
    return estimated(sums, lambda t: quotient(t[:, ::2], t[:, 1::2]), study.draws, study.seed)
