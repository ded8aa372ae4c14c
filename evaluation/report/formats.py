"""A table as Markdown, LaTeX and CSV: the same cells, written thrice, safe with hostile names."""

import csv
import io
import re
from collections.abc import Sequence

from evaluation.bootstrap import FLAGGED_ABOVE
from evaluation.report.cohorts import Shown
from psychemme.episode import Value


class Number(Value):
    """A figure that is no share, with its 95% interval; shown with `decimals`, never in percent.

    `excluded` and `episodes` are those of a `Shown`.
    """

    point: float | None = None
    low: float | None = None
    high: float | None = None
    excluded: float = 0.0
    episodes: int | None = None
    decimals: int = 2


Cell = Shown | Number | float | int | str | None
"""A float is a p-value."""

NONE = "–"
FLAG, MINUS = "†", "−"
FLAGGED = (
    f"{FLAG}: undefined in more than 5% of the bootstrap draws; the interval is withheld above 50%."
)
NOTE = f"Scores in percent with 95% intervals (paired episode bootstrap). {FLAGGED}"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$])")
_NUMBER = re.compile(rf"[+{MINUS}-]?[\d.,]+%?|{NONE}")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    FLAG: r"\dag{}",
    MINUS: "$-$",
    NONE: "--",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Table(Value):
    """Rows under `columns`; the first column names the row. `name` is the file's, without end."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = NOTE

    @property
    def words(self) -> frozenset[int]:
        """The places of the columns that hold nothing but words; the first always does."""
        return frozenset(
            place
            for place in range(len(self.columns))
            if place == 0
            or (
                all(isinstance(row[place], str) for row in self.rows)
                and not all(_NUMBER.fullmatch(str(row[place])) for row in self.rows)
            )
        )


def text(cell: Cell) -> str:
    """Return a cell as a reader sees it: figures in percent, intervals in brackets."""
    if isinstance(cell, Shown):
        return _figure(cell)
    if isinstance(cell, Number):
        return _number(cell)
    if isinstance(cell, float):
        return p_text(cell)
    return NONE if cell is None else _CONTROL.sub(" ", str(cell))


def p_text(p: float) -> str:
    """Return a p-value in three digits."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float, *, signed: bool = False) -> str:
    """Return a fraction in percent with one decimal; what rounds to 0 has no sign."""
    rounded = f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
    return rounded.lstrip("+-") if float(rounded) == 0 else rounded.replace("-", MINUS)


def interval(shown: Shown) -> str:
    """Return the interval in brackets, "withheld", or nothing where there is none."""
    if shown.low is None or shown.high is None:
        return "[withheld]" if shown.is_withheld else ""
    low, high = (number(end, signed=shown.is_difference) for end in (shown.low, shown.high))
    return f"{low} to {high}" if shown.is_bounds else f"[{low}, {high}]"


def _figure(shown: Shown) -> str:
    point = "" if shown.point is None else number(shown.point, signed=shown.is_difference)
    found = " ".join(filter(None, (point, interval(shown)))) or NONE
    return found + FLAG if shown.is_flagged else found


def _number(cell: Number) -> str:
    if cell.point is None:
        return NONE
    rounded = [
        f"{end:.{cell.decimals}f}" for end in (cell.point, cell.low, cell.high) if end is not None
    ]
    point, *ends = [
        end.lstrip("-") if float(end) == 0 else end.replace("-", MINUS) for end in rounded
    ]
    flag = FLAG if cell.excluded > FLAGGED_ABOVE else ""
    return point + (f" [{', '.join(ends)}]" if ends else "") + flag


def as_markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    head = [_markdown(column) for column in table.columns]
    rule = ["---" if n in table.words else "---:" for n in range(len(head))]
    body = [line([_markdown_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join(
        [f"**{table.title}**", "", line(head), line(rule), *body, "", _markdown(table.note), ""]
    )


def as_latex(table: Table) -> str:
    """Return the table as a LaTeX `table` for the package `booktabs`."""

    def line(cells: Sequence[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    aligned = "".join("l" if n in table.words else "r" for n in range(len(table.columns)))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            "\\begin{table}",
            f"\\caption{{{_latex(table.title)}. {_latex(table.note)}}}",
            f"\\begin{{tabular}}{{{aligned}}}",
            "\\toprule",
            line([_latex(column) for column in table.columns]),
            "\\midrule",
            *(line([_latex(text(cell)) for cell in row]) for row in table.rows),
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
            "",
        ]
    )


def as_csv(table: Table) -> str:
    """Return the table as CSV: a figure is a value, its two ends and the share of excluded draws.

    Shares are in percent; values have 12 significant digits.

    What a spreadsheet would run as a formula is preceded by an apostrophe.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    wide = [
        any(isinstance(row[place], Shown | Number) for row in table.rows)
        for place in range(len(table.columns))
    ]
    head: list[str] = []
    for column, is_wide in zip(table.columns, wide, strict=True):
        head += [
            f"{column}{end}" for end in ("", " low", " high", " excluded")[: 4 if is_wide else 1]
        ]
    writer.writerow(head)
    for row in table.rows:
        writer.writerow(
            [
                value
                for cell, is_wide in zip(row, wide, strict=True)
                for value in (_wide(cell) if is_wide else [_plain(cell)])
            ]
        )
    return written.getvalue()


def _wide(cell: Cell) -> list[str]:
    if not isinstance(cell, Shown | Number):
        return [_plain(cell), "", "", ""]
    scale = 100 if isinstance(cell, Shown) else 1
    ends = (cell.point, cell.low, cell.high)
    found = ["" if end is None else _digits(scale * end) for end in ends]
    return [*found, _digits(cell.excluded)]


def _digits(value: float) -> str:
    return f"{value:.12g}"


def _plain(cell: Cell) -> str:
    if isinstance(cell, str):
        clean = text(cell)
        return f"'{clean}" if clean.startswith(_FORMULA) else clean
    return "" if cell is None else _digits(cell) if isinstance(cell, float) else str(cell)


def _markdown_cell(cell: Cell) -> str:
    return _markdown(text(cell)) if isinstance(cell, str) else text(cell)


def _markdown(value: str) -> str:
    return _MARKDOWN.sub(r"\\\1", value)


def _latex(value: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in value)
