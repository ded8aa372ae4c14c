"""Runs under different conditions side by side: matched by model, with paired changes.

Shapes: N items, R runs, Q columns (a run, or a mean of runs), S strata, b draws.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Grid
from evaluation.bootstrap import Floats
from evaluation.inputs import Condition, InputPolicy
from evaluation.report.cohorts import Shown
from evaluation.report.runs import ReportRun
from evaluation.scoring import ScoringError, raw, verified

Key = TypeVar("Key", bound=Hashable)

COLUMNS = ("Raw", "Verified", "Raw change", "Verified change")

Row = tuple[Shown | None, ...]
"""A cell for each of `COLUMNS`."""


def policy_of(run: ReportRun) -> InputPolicy | None:
    """Return the policy of a run, None where its condition is not one of `psychemme evaluate`."""
    policy = run.manifest.policy
    return policy if policy.label == run.manifest.condition and not policy.order else None


def series_of(run: ReportRun, plain: InputPolicy) -> str:
    """Return the run's model, with what else its condition is where that is not full."""
    model = run.manifest.model
    return model if plain.label == Condition.FULL else f"{model} ({plain.label})"


def by_model(
    runs: Sequence[ReportRun], place: Callable[[ReportRun], tuple[str, Key] | None]
) -> dict[str, dict[Key, ReportRun]]:
    """Return runs by series (a model) and condition, as `place` tells; it leaves out by None.

    Raises ScoringError where two runs have one place.
    """
    found: dict[str, dict[Key, ReportRun]] = {}
    for run in runs:
        if (placed := place(run)) is None:
            continue
        series, key = placed
        other = found.setdefault(series, {}).setdefault(key, run)
        if other is not run:
            raise ScoringError(
                f"{other.name} and {run.name} are of one model and condition.",
                "Name one run of each model and condition.",
            )
    return found


def compared(
    grid: Grid, strata: Floats, mix: Floats, against: Sequence[int | None], sign: int = 1
) -> list[list[Row]]:
    """Return `COLUMNS` of each of Q columns over all strata (N, S), then in each: (Q, 1 + S) rows.

    `mix` (R, Q) makes each column of the runs' items, so that a mean of runs is taken per item
    before anything is drawn. The row over all is the mean over the strata. A change is `sign` times
    the column less the one that `against` names, None without one.
    """
    count = len(against)
    ones = np.ones((len(strata), 1))
    values = np.hstack([ones, grid.values(raw) @ mix, grid.values(verified) @ mix])
    others = [place if other is None else other for place, other in enumerate(against)]

    def figures(totals: Floats) -> Blocks:
        found = {}
        for place, name in enumerate(COLUMNS[:2]):
            sums = totals[:, :, 1 + place * count : 1 + (place + 1) * count]
            rates = quotient(sums, totals[:, :, :1])
            whole = np.concatenate([rates.mean(axis=1, keepdims=True), rates], axis=1)
            found[name] = whole
            found[f"{name} change"] = sign * (whole - whole[..., others])
        return found

    found = grid.estimated(strata, values, figures, COLUMNS[2:])

    def row(column: int, place: int) -> Row:
        known = COLUMNS[: 2 if against[column] is None else 4]
        shown = [found[name][place, column] if name in known else None for name in COLUMNS]
        return tuple(shown)

    return [[row(column, place) for place in range(1 + strata.shape[1])] for column in range(count)]
