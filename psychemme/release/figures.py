"""The figures of a release's card, as SVG."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING

from psychemme.release.drawing import bar, bare, new_figure, short, style, svg
from psychemme.release.histograms import durations, lengths
from psychemme.release.names import Names
from psychemme.release.statistics import Composition
from psychemme.vocabulary import Capability, Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SOURCES, MOST_WORDS = 20, 24


def draw_figures(composition: Composition, names: Names, canary: str) -> dict[str, bytes]:
    """Return file name to SVG of every figure that has something to show."""
    with style():
        drawn = {
            "capabilities.svg": _capabilities(composition, names),
            "sources.svg": _sources(composition),
            "durations.svg": durations(composition),
            "question_lengths.svg": lengths(composition),
        }
        if composition.frequent_words:
            drawn["words.svg"] = _words(composition.frequent_words[:MOST_WORDS])
        return {name: svg(figure, canary) for name, figure in drawn.items()}


def _capabilities(composition: Composition, names: Names) -> "Figure":
    columns = _columns(composition.subcategories)
    rows = max(sum(len(held) + 2 for _, held in column) for column in columns) - 1
    most = max(n for held in composition.subcategories.values() for n in held.values())
    figure = new_figure(0.35 + 0.19 * rows)
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for panel, column in zip(panels, columns, strict=True):
        # Labels stand left of the bars in the same axes, in two thirds of its width.
        panel.set_xlim(-2.2 * most, 1.2 * most)
        panel.set_ylim(rows - 0.4, -0.6)
        panel.axis("off")
        _capability_column(panel, column, names)
    figure.suptitle("Questions by capability and subcategory", x=0.01, ha="left", weight="bold")
    return figure


def _columns(
    held: Mapping[Capability, Mapping[str, int]],
) -> list[list[tuple[Capability, Mapping[str, int]]]]:
    """Return capabilities in their order, cut where two columns are most alike in length."""
    whole = list(held.items())
    ends = list(accumulate(len(counted) + 2 for _, counted in whole))
    cut = min(range(len(whole)), key=lambda i: abs(ends[-1] - 2 * ends[i])) + 1
    return [column for column in (whole[:cut], whole[cut:]) if column]


def _capability_column(
    panel: "Axes", column: Sequence[tuple[Capability, Mapping[str, int]]], names: Names
) -> None:
    left, right = panel.get_xlim()
    place, indent = 0, 0.03 * (right - left)
    for capability, held in column:
        name = short(names.capability(capability))
        title = f"{capability}  {name} ({sum(held.values())})"
        panel.text(left, place, title, va="center", weight="bold")
        for offset, (code, number) in enumerate(_most_first(held), 1):
            label = short(names.subcategory(capability, code), 36)
            panel.text(left + indent, place + offset, label, va="center", size=8)
            bar(panel, place + offset, number)
        place += len(held) + 2


def _most_first(held: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))


def _sources(composition: Composition) -> "Figure":
    sources = composition.sources[:MOST_SOURCES]
    figure = new_figure(0.85 + 0.27 * len(sources))
    panels = figure.subplots(1, len(composition.formats), sharey=True, squeeze=False)[0]
    for panel, (form, number) in zip(panels, composition.formats.items(), strict=True):
        _heat(panel, composition, sources, form)
        panel.set_title(f"{form} ({number})", size=9)
    places = [y + 0.5 for y in range(len(sources))]
    panels[0].set_yticks(places, [short(source, 22) for source in sources])
    left_out = len(composition.sources) - len(sources)
    more = f"; {left_out} more sources not shown" if left_out else ""
    title = f"Questions by source, capability and format{more}"
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    return figure


def _heat(panel: "Axes", composition: Composition, sources: Sequence[str], form: Format) -> None:
    capabilities = list(composition.subcategories)
    counted = [[composition.cells.get((s, c, form), 0) for c in capabilities] for s in sources]
    # Half of the colours, so that dark numbers can be read on all of them.
    most = 2 * max(composition.cells.values())
    panel.pcolormesh(counted, cmap="Blues", vmin=0, vmax=most, edgecolors="white", linewidth=1.5)
    for y, row in enumerate(counted):
        for x, number in enumerate(row):
            panel.text(x + 0.5, y + 0.5, str(number or "·"), ha="center", va="center", size=7.5)
    panel.set_xticks([x + 0.5 for x in range(len(capabilities))], list(capabilities))
    panel.set_ylim(len(sources), 0)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _words(counted: Sequence[tuple[str, int]]) -> "Figure":
    half = ceil(len(counted) / 2)
    figure = new_figure(0.45 + 0.21 * half)
    panels = figure.subplots(1, 2, sharex=True)
    for panel, column in zip(panels, (counted[:half], counted[half:]), strict=True):
        for place, (_, number) in enumerate(column):
            bar(panel, place, number)
        panel.set_yticks(range(len(column)), [short(word, 18) for word, _ in column])
        panel.set_ylim(half - 0.4, -0.6)
        bare(panel)
    panels[0].set_xlim(0, counted[0][1] * 1.15)
    title = "Most frequent words, by the number of questions that hold them"
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    return figure
