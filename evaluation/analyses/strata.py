"""Strata: micro scores by format, source, duration, question length and any facet (Tables 21-23).

Every item of a stratum weighs the same. Strata differ in what they ask, so that a difference
between two is no effect of what names them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid
from evaluation.analyses.values import Analysis, Study
from evaluation.bootstrap import Floats
from evaluation.report.formats import Cell, Table
from evaluation.scoring import raw, verified
from psychemme.release.words import words
from psychemme.vocabulary import DurationBand, Format

MOST_STRATA = 60
"""A facet in more strata than this says little of each, and is left out."""
MINUTES = ("[0, 10) min", "[10, 20) min", "20+ min")
"""Duration bands of MMHBench (its Table 5), closed to the left."""
_DRAWN = ("format", "source-group", "duration", "question-length")


@dataclass(frozen=True)
class _Facet:
    """Names the stratum of each item; `strata` has those there could be, in order.

    `name` is its own where a table holds several.
    """

    table: str
    strata: tuple[str, ...]
    of: tuple[str | None, ...]
    name: str = ""


@dataclass(frozen=True, eq=False)
class _Stratum:
    """`cells` (2, R + 1) are Raw and Verified of every run and their mean; None without items."""

    name: str
    n: int
    episodes: int
    cells: Cells | None


def analyse(study: Study) -> Analysis:
    """Return micro Raw and Verified of every run in every stratum of every facet."""
    grid = Grid.of(study)
    facets = list(_facets(grid))
    # Facets often cut alike, such as source and source group.
    known: dict[bytes, _Stratum] = {}
    values = _values(grid)
    found: dict[str, list[_Stratum]] = {}
    for facet in facets:
        if len(facet.strata) <= MOST_STRATA:
            found.setdefault(facet.table, []).extend(_strata(grid, facet, values, known))
    left_out = [facet for facet in facets if len(facet.strata) > MOST_STRATA]
    return Analysis(
        name="strata",
        title="Scores by stratum",
        unit="a response to an item of the stratum; episodes are redrawn",
        denominator="all planned items of the stratum, each of equal weight (micro)",
        tables=tuple(_table(grid, name, strata) for name, strata in found.items()),
        drawings=(
            intervals(
                "strata",
                "Mean Raw and Verified over runs by stratum, with 95% intervals.",
                "micro score, mean over runs (%)",
                {
                    f"{one.name} (n={one.n})": {
                        "Raw": one.cells[0, -1],
                        "Verified": one.cells[1, -1],
                    }
                    for name in _DRAWN
                    for one in found.get(name, ())
                    if one.cells is not None
                },
            ),
        ),
        notes=(
            "Only the episodes of a stratum are redrawn.",
            *(
                f"Left out: {facet.name or facet.table}, in {len(facet.strata)} strata, more than "
                f"{MOST_STRATA}."
                for facet in left_out
            ),
        ),
    )


def minutes_band(duration: float) -> str:
    """Return the MMHBench band of a duration in seconds: under 10 minutes, under 20, or more."""
    return MINUTES[0] if duration < 600 else MINUTES[1] if duration < 1200 else MINUTES[2]


def length_quarters(lengths: Sequence[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of four strata by number of words, and the stratum of each item.

    Cut points are the quartiles of the items' lengths, rounded down; equal lengths go together, so
    that a quarter can hold more than a fourth, or nothing.
    """
    cuts = [int(cut) for cut in np.percentile(lengths, [25, 50, 75])]
    names = (
        f"1st quarter: up to {cuts[0]} words",
        f"2nd quarter: over {cuts[0]}, up to {cuts[1]} words",
        f"3rd quarter: over {cuts[1]}, up to {cuts[2]} words",
        f"4th quarter: over {cuts[2]} words",
    )
    return names, tuple(names[sum(length > cut for cut in cuts)] for length in lengths)


def _facets(grid: Grid) -> Iterator[_Facet]:
    """Yield the facets of the items; those that no list closes have the strata that occur."""
    release = grid.study.release
    asked = [release.questions[item.item_id] for item in grid.items]
    seen = [release.episodes[item.episode_id] for item in grid.items]
    yield _Facet("format", tuple(Format), tuple(one.format for one in asked))
    yield _open("source", [one.source for one in seen])
    yield _open("source-group", [one.source_group for one in seen])
    bands = tuple(f"{DurationBand.of(one.duration)} s" for one in seen)
    yield _Facet("duration", tuple(f"{band} s" for band in DurationBand), bands)
    yield _Facet("minutes", MINUTES, tuple(minutes_band(one.duration) for one in seen))
    quarters = length_quarters([len(words(one.question)) for one in asked])
    yield _Facet("question-length", *quarters)
    yield _open("subcategory", [f"{one.capability}: {one.subcategory}" for one in asked])
    for name in sorted({name for one in asked for name in one.facets}):
        values = (one.facets.get(name) for one in asked)
        of = [None if value is None else f"{name}: {value}" for value in values]
        yield _open("facets", of, f"facet {name}")


def _open(table: str, of: Sequence[str | None], name: str = "") -> _Facet:
    return _Facet(table, tuple(sorted({one for one in of if one is not None})), tuple(of), name)


def _values(grid: Grid) -> Floats:
    """Return a of every run and their mean, v likewise, and 1 (N, 2 (R + 1) + 1)."""
    a, v = grid.values(raw), grid.values(verified)
    means = (found.mean(axis=1, keepdims=True) for found in (a, v))
    return np.hstack([a, next(means), v, next(means), grid.ones])


def _strata(
    grid: Grid, facet: _Facet, values: Floats, known: dict[bytes, _Stratum]
) -> Iterator[_Stratum]:
    for name in facet.strata:
        members = np.array([float(one == name) for one in facet.of])
        key = members.tobytes()
        if key not in known:
            known[key] = _stratum(grid, name, members, values)
        yield replace(known[key], name=name)


def _stratum(grid: Grid, name: str, members: Floats, values: Floats) -> _Stratum:
    def figures(totals: Floats) -> Blocks:
        found = quotient(totals[:, 0, :-1], totals[:, 0, -1:])
        return {"scores": found.reshape(len(totals), 2, -1)}

    cells = None
    if members.any():
        cells = grid.estimated(members[:, None], values, figures)["scores"]
    return _Stratum(name, int(members.sum()), grid.episodes(members), cells)


def _table(grid: Grid, name: str, strata: Sequence[_Stratum]) -> Table:
    return Table(
        name=f"strata-{name}",
        title=f"Micro scores by {name.replace('-', ' ')}",
        columns=("stratum", "n", "episodes", "run", "Raw", "Verified"),
        rows=tuple(row for one in strata for row in _rows(grid, one)),
    )


def _rows(grid: Grid, one: _Stratum) -> Iterator[tuple[Cell, ...]]:
    if one.cells is None:
        yield (one.name, 0, 0, None, None, None)
        return
    names = (*grid.runs, "mean over runs") if len(grid.runs) > 1 else grid.runs
    for name, (raw_cell, verified_cell) in zip(names, one.cells.T[: len(names)], strict=True):
        yield (one.name, one.n, one.episodes, name, raw_cell, verified_cell)
