"""Stage credit and loss attribution (paper, Figure 5 and Appendix D.5).

A response passes four stages with credits a, ac, ac e~, v and loses on the way 1 - a, a(1 - c),
ac(1 - e~), ac e~(1 - l~); the losses and v sum to one. Credits and losses are macro-weighted.
The distribution of v weighs items equally, in the bins 0, four quarters open to the left, and 1,
of which the last quarter leaves 1 out.
"""

from collections.abc import Iterator

import numpy as np

from evaluation.analyses.drawing import stacks
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid, counts, named
from evaluation.analyses.values import Analysis, Drawing, Study
from evaluation.bootstrap import Floats
from evaluation.report.formats import Table
from evaluation.scoring import verified

CREDITS = ("a", "ac", "ac e~", "v")
LOSSES = ("answer", "coverage", "support", "logic")
BINS = ("0", "(0, 0.25]", "(0.25, 0.5]", "(0.5, 0.75]", "(0.75, 1)", "1")
_HEADS = (*CREDITS, *(f"lost: {stage}" for stage in LOSSES))


def analyse(study: Study) -> Analysis:
    """Return credits and losses by stage, macro and by capability, and the distribution of v."""
    grid = Grid.of(study)
    found, distribution = _stages(grid), _distribution(grid)
    return Analysis(
        name="stages",
        title="Credit by stage, and where it is lost",
        unit="a response to an item; episodes are redrawn",
        denominator=(
            "all planned items: macro averages over the declared capabilities, items of equal "
            "weight in the distribution"
        ),
        tables=(
            _macro_table(grid, found["macro"]),
            _capability_table(grid, found["by capability"]),
            _distribution_table(grid, distribution),
        ),
        drawings=(
            *_losses_drawing(grid, found["macro"]),
            stacks(
                "stages-distribution",
                "Share of items by Verified credit in six bins, by run.",
                "items (%)",
                {
                    run: {name: cell.point for name, cell in zip(BINS, cells, strict=True)}
                    for run, cells in zip(grid.runs, distribution, strict=True)
                },
            ),
        ),
        notes=(
            "e~ and l~ are the weights of the two labels over 1.2. Support is taken before logic, "
            "so that what either loses depends on this order.",
        ),
    )


def bins_of(v: Floats) -> Floats:
    """Return the place in `BINS` of each Verified credit."""
    return np.where(v == 1, len(BINS) - 1, np.ceil(4 * v))


def _stages(grid: Grid) -> dict[str, Cells]:
    """Return credits and losses (R, 8), macro and by capability (C, R, 8)."""
    runs = len(grid.runs)
    credit = np.array([[one.stages for one in run] for run in grid.scores])
    values = np.hstack([*np.moveaxis(credit, 2, 0).swapaxes(1, 2), grid.ones])

    def figures(totals: Floats) -> Blocks:
        left = quotient(totals[..., :-1], totals[..., -1:]).reshape(len(totals), -1, 4, runs)
        entered = np.concatenate([np.ones_like(left[:, :, :1]), left[:, :, :-1]], axis=2)
        every = np.concatenate([left, entered - left], axis=2).swapaxes(2, 3)
        return {"macro": every.mean(axis=1), "by capability": every}

    return grid.estimated(grid.by_capability(), values, figures)


def _distribution(grid: Grid) -> Cells:
    """Return the share of items in each bin (R, 6)."""
    held = bins_of(grid.values(verified))
    values = np.hstack([*(held == nth for nth in range(len(BINS))), grid.ones])

    def figures(totals: Floats) -> Blocks:
        found = quotient(totals[:, 0, :-1], totals[:, 0, -1:])
        return {"shares": found.reshape(len(totals), len(BINS), -1).swapaxes(1, 2)}

    return grid.estimated(grid.ones, values, figures)["shares"]


def _losses_drawing(grid: Grid, found: Cells) -> Iterator[Drawing]:
    """Yield the macro losses of each run unless a declared capability has no item."""
    if any(cell.point is None for cell in found.flat):
        return
    parts = ("Verified", *(f"lost: {stage}" for stage in LOSSES))
    yield stacks(
        "stages-losses",
        "Verified credit and the credit lost at each stage, by run.",
        "macro-averaged credit (%)",
        {
            run: {part: cell.point for part, cell in zip(parts, cells[3:], strict=True)}
            for run, cells in zip(grid.runs, found, strict=True)
        },
    )


def _macro_table(grid: Grid, found: Cells) -> Table:
    return Table(
        name="stages-macro",
        title="Credit left after each stage and credit lost there, macro averages",
        columns=("run", "n", *_HEADS),
        rows=tuple(
            (run, len(grid.items), *cells) for run, cells in zip(grid.runs, found, strict=True)
        ),
    )


def _capability_table(grid: Grid, found: Cells) -> Table:
    sizes = counts(grid.by_capability())
    return Table(
        name="stages-capabilities",
        title="Credit left after each stage and credit lost there, by capability",
        columns=("run", "capability", "n", *_HEADS),
        rows=tuple(
            (run, named(c), sizes[place], *found[place, nth])
            for nth, run in enumerate(grid.runs)
            for place, c in enumerate(grid.study.declared)
        ),
    )


def _distribution_table(grid: Grid, found: Cells) -> Table:
    return Table(
        name="stages-distribution",
        title="Items by Verified credit",
        columns=("run", "n", *(f"v {'=' if ',' not in name else 'in'} {name}" for name in BINS)),
        rows=tuple(
            (run, len(grid.items), *cells) for run, cells in zip(grid.runs, found, strict=True)
        ),
    )
