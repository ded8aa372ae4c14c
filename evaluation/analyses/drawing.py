"""The drawings of analyses: intervals on one axis, and bars that sum to a whole."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.analyses.values import Drawing
from evaluation.report.cohorts import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Okabe and Ito's, told apart by most readers; a legend names each."""
_ROW = 0.24
"""Inches."""


def intervals(
    name: str, alt: str, axis: str, rows: Mapping[str, Mapping[str, Shown]], zero: bool = False
) -> Drawing:
    """Draw figures with their 95% intervals in percent, a row per label, a colour per series.

    `rows` maps a label to its series; a figure without a point is left out. `zero` draws the line
    of no difference.
    """
    series = list(dict.fromkeys(key for found in rows.values() for key in found))
    apart = 0.7 / max(1, len(series))

    def draw(panel: "Axes") -> None:
        for nth, key in enumerate(series):
            places = [place + (nth - (len(series) - 1) / 2) * apart for place in range(len(rows))]
            found = [row.get(key) for row in rows.values()]
            _points(panel, places, found, key, COLOURS[nth % len(COLOURS)])
        if zero:
            panel.axvline(0, color="#666666", linewidth=0.8)
        if len(series) > 1:
            panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7.5)

    return _drawn(name, alt, axis, list(rows), draw, 1 + len(series) / 3)


def stacks(name: str, alt: str, axis: str, rows: Mapping[str, Mapping[str, float]]) -> Drawing:
    """Draw the parts of each row (fractions) side by side in percent, a colour per part."""
    parts = list(dict.fromkeys(key for found in rows.values() for key in found))

    def draw(panel: "Axes") -> None:
        left = [0.0] * len(rows)
        for nth, part in enumerate(parts):
            widths = [100 * found.get(part, 0.0) for found in rows.values()]
            colour = COLOURS[nth % len(COLOURS)]
            panel.barh(range(len(rows)), widths, left=left, height=0.7, color=colour, label=part)
            left = [one + width for one, width in zip(left, widths, strict=True)]
        panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7.5)

    return _drawn(name, alt, axis, list(rows), draw, 1.0)


def _points(
    panel: "Axes", places: Sequence[float], found: Sequence[Shown | None], label: str, colour: str
) -> None:
    known = [
        (place, one)
        for place, one in zip(places, found, strict=True)
        if one is not None and one.point is not None
    ]
    panel.plot(
        [100 * (one.point or 0.0) for _, one in known],
        [place for place, _ in known],
        "o",
        color=colour,
        markersize=4,
        label=label,
    )
    for place, one in known:
        if one.low is not None and one.high is not None:
            panel.plot([100 * one.low, 100 * one.high], [place, place], color=colour, linewidth=1.4)


def _drawn(
    name: str,
    alt: str,
    axis: str,
    labels: Sequence[str],
    draw: Callable[["Axes"], None],
    stretch: float,
) -> Drawing:
    from psychemme.release.drawing import new_figure, plain_svg, short, style

    with style():
        figure = new_figure(0.9 + _ROW * stretch * max(1, len(labels)))
        panel = figure.add_subplot()
        draw(panel)
        panel.set_yticks(range(len(labels)), [short(label) for label in labels])
        panel.set_ylim(len(labels) - 0.5, -0.5)
        panel.set_xlabel(axis)
        panel.grid(axis="x", color="#d9d9d9", linewidth=0.6)
        panel.set_axisbelow(True)
        return Drawing(name=name, alt=alt, svg=plain_svg(figure).decode())
