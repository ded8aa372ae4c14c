"""Retention by capability: how much answer credit is left after verification (paper, Appendix G).

Retention of a capability is sum v / sum a over its items; which capability retains least, and
which has the lowest Verified, is counted over runs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid, counts, named
from evaluation.analyses.values import Analysis, Study
from evaluation.bootstrap import Floats
from evaluation.report.formats import Cell, Table
from evaluation.scoring import raw, verified
from psychemme.vocabulary import Capability, Format

_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class _Profile:
    """Figures of some items: `retention` and `verified` (C, R), `pooled` retention (C,)."""

    name: str
    label: str
    n: list[int]
    retention: Cells
    verified: Cells
    pooled: Cells


def analyse(study: Study) -> Analysis:
    """Return retention by capability over all formats and over single-choice items."""
    grid = Grid.of(study)
    profiles = [_profile(grid, "retention", "all formats", grid.ones)]
    single = grid.where(lambda item: item.format is Format.SINGLE)[:, None]
    if single.any():
        profiles.append(_profile(grid, "retention-single-choice", "single-choice", single))
    rows = {
        named(c): {profile.label: profile.pooled[place] for profile in profiles}
        for place, c in enumerate(study.declared)
    }
    return Analysis(
        name="retention",
        title="Retention by capability",
        unit="a response to an item; episodes are redrawn",
        denominator="the answer credit of a run in a capability, sum v / sum a",
        tables=(*(_table(grid, profile) for profile in profiles), _lowest_table(study, profiles)),
        drawings=(
            intervals(
                "retention",
                "Retention by capability over all runs, with 95% intervals.",
                "retention, sum v / sum a over all runs (%)",
                rows,
            ),
        ),
        notes=(
            "A figure is undefined where a run earned no answer credit in a capability.",
            "For single-choice items only the episodes that hold such items are redrawn.",
        ),
    )


def lowest(points: Iterable[float | None]) -> tuple[int, ...]:
    """Return the places of the least of known figures, several where they tie.

    Nothing is lowest where fewer than two are known.
    """
    known = {place: point for place, point in enumerate(points) if point is not None}
    if len(known) < 2:
        return ()
    least = min(known.values())
    return tuple(place for place, point in known.items() if point - least <= _EQUAL)


def _profile(grid: Grid, name: str, label: str, kept: Floats) -> _Profile:
    runs = len(grid.runs)
    strata = grid.by_capability() * kept
    values = np.hstack([grid.values(raw), grid.values(verified), grid.ones])

    def figures(totals: Floats) -> Blocks:
        a, v, n = totals[..., :runs], totals[..., runs:-1], totals[..., -1:]
        pooled = quotient(v.sum(axis=-1), a.sum(axis=-1))
        return {"retention": quotient(v, a), "verified": quotient(v, n), "pooled": pooled}

    return _Profile(name, label, counts(strata), **grid.estimated(strata, values, figures))


def _table(grid: Grid, profile: _Profile) -> Table:
    declared = grid.study.declared
    rows: list[tuple[Cell, ...]] = [
        (run, *found, _names(declared, lowest(cell.point for cell in found)))
        for run, found in zip(grid.runs, profile.retention.T, strict=True)
    ]
    if len(grid.runs) > 1:
        everyone = lowest(cell.point for cell in profile.pooled)
        rows.append(("all runs pooled", *profile.pooled, _names(declared, everyone)))
    sizes = zip(declared, profile.n, strict=True)
    return Table(
        name=profile.name,
        title=f"Retention by capability, {profile.label}",
        columns=("run", *(f"{c} (n={n})" for c, n in sizes), "lowest"),
        rows=tuple(rows),
    )


def _names(declared: Sequence[Capability], places: Iterable[int]) -> str | None:
    return " = ".join(declared[place] for place in places) or None


def _lowest_table(study: Study, profiles: Sequence[_Profile]) -> Table:
    columns = {
        f"{what}, {profile.label}": list(_lowest_of_runs(cells))
        for profile in profiles
        for what, cells in (("retention", profile.retention), ("Verified", profile.verified))
    }
    return Table(
        name="retention-lowest",
        title="In how many runs a capability is lowest",
        columns=("capability", *columns),
        rows=tuple(
            (named(c), *(_of_runs(place, found) for found in columns.values()))
            for place, c in enumerate(study.declared)
        ),
        note="Of the runs in which at least two capabilities have the figure; ties are apart.",
    )


def _lowest_of_runs(cells: Cells) -> Iterator[tuple[int, ...]]:
    """Yield the lowest capabilities of each run that has some."""
    return filter(None, (lowest(cell.point for cell in found) for found in cells.T))


def _of_runs(place: int, found: Sequence[tuple[int, ...]]) -> str:
    alone = sum(one == (place,) for one in found)
    tied = sum(place in one for one in found) - alone
    return f"{alone} of {len(found)}" + (f", {tied} tied" if tied else "")
