"""How much the order of options moves each run, as tables for files and page."""

from collections.abc import Sequence

from evaluation.order_spread import OrderSpread, Spread
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Cell, Table
from evaluation.report.runs import ReportRun

_FIGURES = ("mean", "min", "max", "sd", "flips")
_COLUMNS = ("n", "mean", "min", "max", "SD", "flips")
_NOTE = (
    "Raw of choice items in percent, over option orders; SD is the sample standard deviation of "
    "the orders, flips are items right in some orders and wrong in others."
)


def order_tables(runs: Sequence[ReportRun]) -> list[Table]:
    """Return the spreads of the runs that have one: overall, by position, and by capability."""
    found = [(run.name, run.spread) for run in runs if run.spread]
    return [_overall(found), _positions(found), _by_capability(found)] if found else []


def _overall(found: Sequence[tuple[str, OrderSpread]]) -> Table:
    return Table(
        name="option-orders",
        title="Spread over option orders",
        columns=("run", "orders", *_COLUMNS, "unscored"),
        rows=tuple(
            (name, spread.orders, *_cells(spread.overall), spread.unscored)
            for name, spread in found
        ),
        note=f"{_NOTE} Micro averages; open items are asked once and take no part.",
    )


def _positions(found: Sequence[tuple[str, OrderSpread]]) -> Table:
    letters = sorted({letter for _, spread in found for letter in spread.positions})
    shares = {"chosen": "answers", "right": "references"}
    return Table(
        name="option-orders-positions",
        title="Options chosen, and options that are right, by position shown",
        columns=("run", *(f"{letter} {end}" for letter in letters for end in shares)),
        rows=tuple(
            (
                name,
                *(
                    Shown(point=getattr(spread.positions.get(letter), share, None))
                    for letter in letters
                    for share in shares.values()
                ),
            )
            for name, spread in found
        ),
        note="Percent of the options that answers and references name, over all orders.",
    )


def _by_capability(found: Sequence[tuple[str, OrderSpread]]) -> Table:
    return Table(
        name="option-orders-capabilities",
        title="Spread over option orders by capability",
        columns=("run", "capability", *_COLUMNS),
        rows=tuple(
            (name, str(capability), *_cells(one))
            for name, spread in found
            for capability, one in spread.capabilities.items()
        ),
        note=_NOTE,
    )


def _cells(spread: Spread) -> tuple[Cell, ...]:
    return (spread.n, *(Shown(point=getattr(spread, figure)) for figure in _FIGURES))
