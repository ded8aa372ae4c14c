"""What earlier history does for Memory items: matched, none, mismatched (paper, Table 4, App. J).

Mismatched histories are averaged over seeds within each item before anything is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.analyses.conditions import COLUMNS, Row, by_model, compared, policy_of, series_of
from evaluation.analyses.drawing import intervals
from evaluation.analyses.grid import Grid
from evaluation.analyses.values import (
    Analysis,
    Drawing,
    NotApplicable,
    Study,
    same_items,
    scores_of,
)
from evaluation.report.formats import Table
from evaluation.report.runs import ReportRun
from evaluation.scoring import ScoringError
from psychemme.vocabulary import Capability

_MATCHED, _NONE, _MEAN = "matched", "none", "mismatched"
_SEEDS = (42, 2026, 3407)
"""The paper's."""
_COLUMNS = ("Raw", "Verified", "Matched less this, Raw", "Matched less this, Verified")

Key = str | int
"""`matched`, `none`, or the seed of a mismatched history."""


@dataclass(frozen=True, eq=False)
class _Series:
    """Runs of one model under one condition, by what history they were given."""

    name: str
    runs: Mapping[Key, ReportRun]

    @property
    def seeds(self) -> list[int]:
        return sorted(key for key in self.runs if isinstance(key, int))

    @property
    def columns(self) -> list[Key]:
        """Matched, none, the mean over seeds, each seed; those that there are."""
        mean = [_MEAN] if self.seeds else []
        return [_MATCHED, *([_NONE] if _NONE in self.runs else []), *mean, *self.seeds]

    def said(self, column: Key) -> str:
        """Return a column's name in a table."""
        seeds = f" (mean of seeds {', '.join(map(str, self.seeds))})"
        return f"{column}{seeds if column == _MEAN else ''}"

    def weight(self, run: Key, column: Key) -> float:
        """Return the share of a run in a column."""
        kept = self.seeds if column == _MEAN else [column]
        return (run in kept) / len(kept)


def analyse(study: Study) -> Analysis:
    """Return scores of Memory items by history, and how far matched history is ahead.

    Raises NotApplicable unless a model has a run with matched and one with withheld history;
    ScoringError where two runs are alike, where items differ, are missing or are unscored.
    """
    found = by_model(study.runs, _place)
    series = [_Series(name, runs) for name, runs in found.items()
              if _MATCHED in runs and len(runs) > 1]  # fmt: skip
    if not series:
        raise NotApplicable(
            "No model has a run with matched history and one with none or a mismatched one.",
            "Evaluate it with --history none or --history mismatched:42 beside its own run.",
        )
    cohort = _cohort(study, series)
    grid = _grid(study, series, cohort)
    columns = [(one, key) for one in series for key in one.columns]
    mix = np.array(
        [
            [other.weight(key, column) if other is one else 0.0 for other, column in columns]
            for one in series
            for key in one.runs
        ]
    )
    against = [None if key == _MATCHED else columns.index((one, _MATCHED)) for one, key in columns]
    found_rows = compared(grid, np.ones((len(cohort), 1)), mix, against, sign=-1)
    rows = [(one, key, row) for (one, key), (_, row) in zip(columns, found_rows, strict=True)]
    whole = [row for row in rows if isinstance(row[1], str)]
    seeds = [row for row in rows if isinstance(row[1], int)]
    return Analysis(
        name="history",
        title="What earlier history does",
        unit="a Memory item answered by one model with each history",
        denominator=f"the {len(cohort)} Memory items with a history that was withheld from a run; "
        "a run with matched history is restricted to them",
        tables=tuple(
            table
            for table in (
                _table(
                    "history-conditions", "Memory items by history", "History", whole, len(cohort)
                ),
                _table("history-seeds", "Mismatched history by seed", "Seed", seeds, len(cohort)),
            )
            if table.rows
        ),
        drawings=(_drawing(whole),),
        notes=(
            "Mismatched is the mean over the seeds of each item, drawn once.",
            f"Only the {grid.episodes(np.ones(len(cohort)))} episodes of these items are redrawn.",
            *(note for one in series if (note := _missing(one))),
        ),
        runs=grid.runs,
    )


def _place(run: ReportRun) -> tuple[str, Key] | None:
    policy = policy_of(run)
    if policy is None or (policy.history == _MEAN) != (policy.history_seed is not None):
        return None
    plain = policy.model_copy(update={"history": _MATCHED, "history_seed": None})
    key = policy.history if policy.history_seed is None else policy.history_seed
    return series_of(run, plain), key


def _cohort(study: Study, series: Sequence[_Series]) -> tuple[str, ...]:
    withheld = [run for one in series for key, run in one.runs.items() if key != _MATCHED]
    asked = study.release.questions
    found = tuple(
        name
        for name in same_items(withheld)
        if asked[name].capability is Capability.MEMORY and asked[name].history
    )
    if not found:
        raise NotApplicable(
            "No Memory item has a history that was withheld.",
            "Evaluate a release with Memory items under --history none.",
        )
    for one in series:
        if missing := sorted(set(found) - one.runs[_MATCHED].responses.keys()):
            raise ScoringError(
                f"{one.runs[_MATCHED].name} lacks {len(missing)} of the items whose history was "
                f"withheld, such as {missing[0]}.",
                "Evaluate it over the whole release.",
            )
    return found


def _grid(study: Study, series: Sequence[_Series], cohort: Sequence[str]) -> Grid:
    """Return the grid of every run, restricted to the cohort."""
    kept = frozenset(cohort)
    runs = tuple(
        replace(run, scored=replace(run.scored, items=items))
        for one in series
        for run in one.runs.values()
        for items in [tuple(item for item in run.scored.items if item.item_id in kept)]
    )
    scores = tuple(tuple(scores_of(run)[name] for name in cohort) for run in runs)
    return Grid(replace(study, runs=runs), scores)


def _table(
    name: str, title: str, key: str, rows: Sequence[tuple[_Series, Key, Row]], count: int
) -> Table:
    return Table(
        name=name,
        title=title,
        columns=("Model", key, "n", *_COLUMNS),
        rows=tuple((one.name, one.said(key), count, *row) for one, key, row in rows),
    )


def _missing(series: _Series) -> str | None:
    missing = [str(seed) for seed in _SEEDS if seed not in series.seeds]
    if not missing:
        return None
    return f"{series.name} has no run with a history mismatched by {', '.join(missing)}."


def _drawing(rows: Sequence[tuple[_Series, Key, Row]]) -> Drawing:
    return intervals(
        "history-conditions",
        "Raw and Verified of Memory items by model and history.",
        "Score (%)",
        {
            f"{one.name}, {key}": {
                name: cell for name, cell in zip(COLUMNS[:2], row[:2], strict=True) if cell
            }
            for one, key, row in rows
        },
    )
