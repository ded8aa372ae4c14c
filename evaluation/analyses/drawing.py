"""The drawings of analyses: intervals on one axis, and bars that sum to a whole."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.analyses.values import Drawing
from evaluation.report.cohorts import Shown
from psychemme.release.drawing import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Okabe and Ito's, told apart by most readers; a legend names each."""
MARKERS = ("o", "s", "^", "D")
"""The colours come again with the next of these."""
BAND = "#f1f3f5"
"""Behind every second row, where a row holds several figures."""
LABEL, LEGEND = 52, 30
"""Most signs of a row's name and of one in a legend, so that the drawing keeps its width."""
_ROW, _ENTRY = 0.24, 0.17
"""Inches of a row, and of a line of the legend."""


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
            _points(panel, places, found, key, nth)
        for place in range(1, len(rows) if len(series) > 1 else 0, 2):
            panel.axhspan(place - 0.5, place + 0.5, color=BAND, linewidth=0)
        if zero:
            panel.axvline(0, color="#666666", linewidth=0.8)
        if len(series) > 1:
            panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7.5)

    return _drawn(name, alt, axis, list(rows), draw, 1 + len(series) / 3, len(series))


def stacks(name: str, alt: str, axis: str, rows: Mapping[str, Mapping[str, float]]) -> Drawing:
    """Draw the parts of each row (fractions) side by side in percent, a colour per part."""
    parts = list(dict.fromkeys(key for found in rows.values() for key in found))

    def draw(panel: "Axes") -> None:
        left = [0.0] * len(rows)
        for nth, part in enumerate(parts):
            widths = [100 * found.get(part, 0.0) for found in rows.values()]
            colour, label = COLOURS[nth % len(COLOURS)], short(part, LEGEND)
            drawn = panel.barh(range(len(rows)), widths, 0.7, left, color=colour, label=label)
            for bar in drawn if nth >= len(COLOURS) else ():
                bar.set(hatch="//", edgecolor="white", linewidth=0)
            left = [one + width for one, width in zip(left, widths, strict=True)]
        panel.set_xlim(0, 100)
        panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7.5)

    return _drawn(name, alt, axis, list(rows), draw, 1.0, len(parts))


def _points(
    panel: "Axes", places: Sequence[float], found: Sequence[Shown | None], label: str, nth: int
) -> None:
    colour, marker = _look(nth)
    known = [
        (place, one)
        for place, one in zip(places, found, strict=True)
        if one is not None and one.point is not None
    ]
    panel.plot(
        [100 * (one.point or 0.0) for _, one in known],
        [place for place, _ in known],
        marker,
        color=colour,
        markersize=4,
        label=short(label, LEGEND),
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
    entries: int,
) -> Drawing:
    from psychemme.release.drawing import new_figure, plain_svg, style

    with style():
        rows = 0.9 + _ROW * stretch * max(1, len(labels))
        figure = new_figure(max(rows, 0.4 + _ENTRY * entries))
        panel = figure.add_subplot()
        draw(panel)
        panel.set_yticks(range(len(labels)), [short(label, LABEL) for label in labels])
        panel.set_ylim(len(labels) - 0.5, -0.5)
        panel.set_xlabel(axis)
        panel.grid(axis="x", color="#d9d9d9", linewidth=0.6)
        panel.set_axisbelow(True)
        return Drawing(name=name, alt=alt, svg=plain_svg(figure).decode())


def lines(
    name: str, alt: str, axis: str, height: str, rows: Mapping[str, Mapping[int, Shown]]
) -> Drawing:
    """Draw figures with their 95% intervals in percent over whole numbers, a line per series.

    `rows` maps a series to its figure at each number; `axis` and `height` name the two axes.
    Numbers are equally far apart, whatever lies between them.
    Series stand a little beside each other, so that none hides another.
    """
    from psychemme.release.drawing import new_figure, plain_svg, style

    numbers = sorted({number for row in rows.values() for number in row})
    apart = min(0.06, 0.6 / max(1, len(rows)))
    with style():
        figure = new_figure(3.2)
        panel = figure.add_subplot()
        for nth, (series, row) in enumerate(rows.items()):
            colour, marker = _look(nth)
            # Beside each other, so that no interval hides another.
            aside = (nth - (len(rows) - 1) / 2) * apart
            known = {n: one.point for n, one in sorted(row.items()) if one.point is not None}
            places = [numbers.index(n) + aside for n in known]
            heights = [100 * point for point in known.values()]
            label = short(series, LEGEND)
            panel.plot(places, heights, f"{marker}-", color=colour, ms=4, lw=1.4, label=label)
            for n, one in row.items():
                if one.low is not None and one.high is not None:
                    ends = [100 * one.low, 100 * one.high]
                    panel.plot([numbers.index(n) + aside] * 2, ends, color=colour, lw=0.9)
        panel.set_xticks(range(len(numbers)), [str(number) for number in numbers])
        panel.set_xlabel(axis)
        panel.set_ylabel(height)
        panel.grid(axis="y", color="#d9d9d9", linewidth=0.6)
        panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7.5)
        return Drawing(name=name, alt=alt, svg=plain_svg(figure).decode())


def _look(nth: int) -> tuple[str, str]:
    """Return colour and marker of the nth series."""
    return COLOURS[nth % len(COLOURS)], MARKERS[nth // len(COLOURS) % len(MARKERS)]
