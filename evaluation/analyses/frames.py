"""What frames are worth: how many (0 to 64), and which, evenly spread or like the question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evaluation.analyses.conditions import COLUMNS, Row, by_model, compared, policy_of, series_of
from evaluation.analyses.drawing import lines
from evaluation.analyses.grid import Grid
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study
from evaluation.inputs import Keyframes
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Table
from evaluation.report.runs import ReportRun


class _Frames(NamedTuple):
    number: int
    chosen: Keyframes


class _Column(NamedTuple):
    series: str
    frames: _Frames


Rows = Mapping[_Column, Row]


def analyse(study: Study) -> Analysis:
    """Return scores by number of frames, and by how frames of one number are chosen.

    Raises NotApplicable unless a model has runs of two numbers of frames, or of one number chosen
    in two ways; ScoringError where two runs are alike, where items differ or are unscored.
    """
    found = {name: runs for name, runs in by_model(study.runs, _place).items() if len(runs) > 1}
    if not found:
        raise NotApplicable(
            "No model has two runs that differ in their number or choice of frames alone.",
            "Evaluate it with, say, --frames 4 and --frames 16.",
        )
    columns = [_Column(name, frames) for name, runs in found.items() for frames in sorted(runs)]
    runs = tuple(found[name][frames] for name, frames in columns)
    grid = Grid.of(replace(study, runs=runs))
    found_rows = compared(
        grid,
        grid.by_capability(),
        np.eye(len(runs)),
        [_against(column, columns) for column in columns],
    )
    rows = {column: whole for column, (whole, *_) in zip(columns, found_rows, strict=True)}
    n = len(grid.items)
    return Analysis(
        name="frames",
        title="Number and choice of frames",
        unit="an item answered by one model with each number of frames",
        denominator="all items; every model answered the same ones each time",
        tables=tuple(
            table
            for table in (
                _table(
                    "frames-number",
                    "Scores by number of frames, and changes from the largest number",
                    {column: row for column, row in rows.items() if _is_even(column)},
                    n,
                ),
                _table(
                    "frames-choice",
                    "Frames like the question (BOLT), and changes from as many spread evenly",
                    {column: row for column, row in rows.items() if not _is_even(column)},
                    n,
                ),
            )
            if table.rows
        ),
        drawings=(_drawing(rows),),
        notes=(
            "Scores are macro means over capabilities.",
            "Runs without --frames, which see a frame a second or native media, are left out.",
            *_fewer(runs),
        ),
        runs=grid.runs,
    )


def _place(run: ReportRun) -> tuple[str, _Frames] | None:
    policy = policy_of(run)
    if policy is None or policy.frames is None:
        return None
    plain = policy.model_copy(update={"frames": None, "keyframes": Keyframes.UNIFORM})
    return series_of(run, plain), _Frames(policy.frames, policy.keyframes)


def _against(column: _Column, columns: Sequence[_Column]) -> int | None:
    """Return the place of what a column is compared with: most frames, or as many spread evenly."""
    even = [one for one in columns if one.series == column.series and _is_even(one)]
    if not _is_even(column):
        even = [one for one in even if one.frames.number == column.frames.number]
    return columns.index(even[-1]) if even and even[-1] != column else None


def _is_even(column: _Column) -> bool:
    return column.frames.chosen is Keyframes.UNIFORM


def _table(name: str, title: str, rows: Rows, n: int) -> Table:
    return Table(
        name=name,
        title=title,
        columns=("Model", "Frames", "n", *COLUMNS),
        rows=tuple((one.series, str(one.frames.number), n, *row) for one, row in rows.items()),
    )


def _fewer(runs: Sequence[ReportRun]) -> list[str]:
    """Return notes on runs that took fewer frames than their condition names, where it is known."""
    notes = []
    for run in runs:
        limit = run.manifest.card.get("images")
        most = limit.get("most") if isinstance(limit, dict) else None
        asked = run.manifest.policy.frames or 0
        if isinstance(most, int) and most < asked:
            notes.append(f"{run.name} took {most} frames, the most that its model takes.")
    return notes


def _drawing(rows: Rows) -> Drawing:
    found: dict[str, dict[int, Shown]] = {}
    for column, (score, *_) in rows.items():
        name = column.series if _is_even(column) else f"{column.series}, BOLT"
        if score is not None:
            found.setdefault(name, {})[column.frames.number] = score
    return lines(
        "frames-number", "Raw macro score by number of frames.", "Frames", "Raw (%)", found
    )
