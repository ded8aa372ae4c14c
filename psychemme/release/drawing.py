"""How figures of a release are drawn: one style, and the same bytes for the same content.

Texts stay texts, so that a browser's own fonts show scripts that the layout's font lacks. Colours
are those of Okabe and Ito, and none carries a meaning that is not also written.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.6
"""Inches: about the width of a README's column at 100 points an inch."""
INK, GREY, RULE = "#222222", "#666666", "#d9d9d9"
BLUE, LIGHT_BLUE, DARK_BLUE = "#0072B2", "#56B4E9", "#004166"
ORANGE, GREEN = "#E69F00", "#009E73"
_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "psychemme",
    "text.color": INK,
    # A source may be called $x$.
    "text.parse_math": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the project, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def svg(figure: "Figure", canary: str) -> bytes:
    """Return `figure` as SVG with the canary as a comment."""
    head, start, rest = plain_svg(figure).partition(b"<svg")
    return head + f"<!-- canary: {canary} -->\n".encode() + start + rest


def plain_svg(figure: "Figure") -> bytes:
    """Return `figure` as SVG."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue().replace(b"'DejaVu Sans'", b"'DejaVu Sans', Verdana, sans-serif")


def new_figure(height: float) -> "Figure":
    """Return an empty figure of this height in inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    return Figure(figsize=(WIDTH, height), layout=layout, facecolor="white")


def bar(panel: "Axes", place: float, number: int) -> None:
    """Draw a bar across at `place` with its number behind it."""
    panel.barh(place, number, height=0.72, color=BLUE)
    panel.annotate(
        str(number), (number, place), (3, 0), textcoords="offset points", va="center", size=7.5
    )


def bare(panel: "Axes") -> None:
    """Leave out an axis whose numbers stand at the bars."""
    panel.set_xticks([])
    panel.spines[:].set_visible(False)
    panel.tick_params(axis="y", length=0)


def short(text: str, most: int = 44) -> str:
    """Return `text` in one line of printable signs, cut to `most` of them."""
    plain = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
