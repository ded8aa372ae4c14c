"""The histograms of a release's card: episodes by duration, questions by length."""

import statistics
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from psychemme.release.drawing import (
    BLUE,
    DARK_BLUE,
    GREEN,
    GREY,
    LIGHT_BLUE,
    ORANGE,
    RULE,
    new_figure,
)
from psychemme.release.statistics import Composition
from psychemme.vocabulary import DurationBand, Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMAT_COLOURS = {Format.SINGLE: BLUE, Format.MULTIPLE: ORANGE, Format.OPEN: GREEN}
BAND_COLOURS = dict(zip(DurationBand, (LIGHT_BLUE, BLUE, DARK_BLUE), strict=True))
BAND_TEXTS = dict(zip(DurationBand, ("up to 30 s", "30 to 60 s", "over 60 s"), strict=True))


def durations(composition: Composition) -> "Figure":
    """Return episodes by duration, the bands in colours of their own."""
    figure = new_figure(2.7)
    panel = figure.subplots()
    seconds = [row.duration for row in composition.episodes]
    width = next((w for w in (1, 2, 5, 10, 15, 30) if max(seconds) <= 40 * w), 30)
    for band, (episodes, questions) in composition.bands.items():
        within = [d for d in seconds if DurationBand.of(d) is band]
        label = f"{BAND_TEXTS[band]}: {episodes} ({questions})"
        starts, heights = _histogram([ceil(d / width) - 1 for d in within])
        left = [start * width for start in starts]
        if left:
            _stand(panel, left, heights, width, BAND_COLOURS[band], label)
    for border in (30, 60):
        if border < max(seconds):
            panel.axvline(border, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    panel.set_xlim(0, max(30, width * ceil(max(seconds) / width)))
    _counted(panel, f"duration in seconds (bars of {width} s)", "episodes")
    panel.set_title("Episodes by duration, with their questions in brackets")
    _legend(panel)
    return figure


def lengths(composition: Composition) -> "Figure":
    """Return questions by their number of words, the formats stacked."""
    figure = new_figure(2.7)
    panel = figure.subplots()
    everything = [number for found in composition.lengths.values() for number in found]
    width = next((w for w in (1, 2, 5, 10) if max(everything) <= 40 * w), 20)
    bottom: dict[int, int] = {}
    for form, found in composition.lengths.items():
        starts, heights = _histogram([number // width for number in found])
        base = [bottom.get(start, 0) for start in starts]
        left = [start * width - (0.5 if width == 1 else 0) for start in starts]
        label = f"{form}: median {statistics.median(found):g}"
        _stand(panel, left, heights, width, FORMAT_COLOURS[form], label, base)
        bottom |= {s: b + h for s, b, h in zip(starts, base, heights, strict=True)}
    _counted(
        panel, f"words in the question{f' (bars of {width})' if width > 1 else ''}", "questions"
    )
    panel.set_title("Questions by length and format")
    _legend(panel)
    return figure


def _histogram(bins: Sequence[int]) -> tuple[list[int], list[int]]:
    starts = sorted(set(bins))
    return starts, [bins.count(start) for start in starts]


def _stand(
    panel: "Axes",
    left: Sequence[float],
    heights: Sequence[int],
    width: float,
    colour: str,
    label: str,
    bottom: Sequence[int] | None = None,
) -> None:
    base = bottom or [0] * len(heights)
    style: Any = {"color": colour, "edgecolor": "white", "linewidth": 0.6}
    panel.bar(left, heights, width, base, align="edge", label=label, **style)


def _counted(panel: "Axes", across: str, up: str) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, steps=[1, 2, 5, 10]))
    panel.grid(axis="y", color=RULE, linewidth=0.6)
    panel.set_axisbelow(True)


def _legend(panel: "Axes") -> None:
    """Put the legend above the bars, where it covers none."""
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    panel.set_title(panel.get_title(loc="left"), pad=24)
