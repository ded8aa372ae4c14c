"""Tables on the terminal: what does not fit is folded, so that no name loses its end."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from psychemme.cli.app import out
from psychemme.config import stated_width

NOTE = "† undefined in more than 5% of the bootstrap draws; above 50% the interval is withheld."
FLAG = "†"
_UNCAPPED = 10_000
_NARROWEST = 12


def new_table(name: str, *columns: str, title: str | None = None) -> Table:
    """Return a table whose first column names the row."""
    first = Column(name, overflow="fold", min_width=_NARROWEST if name else None)
    return Table(first, *(Column(each, overflow="fold") for each in columns), title=title)


def print_table(table: Table) -> None:
    """Print a table; in a file or a pipe it is as wide as it needs, unless COLUMNS says."""
    width = stated_width()
    if out.is_terminal and width is None:
        out.print(table)
    else:
        Console(file=out.file, emoji=False, width=width or _UNCAPPED).print(table)


def interval_text(ends: Sequence[float | None] | None, excluded: float | None) -> str:
    """Return an interval as it follows its figure, flagged where too many draws are `excluded`.

    Where more than half are, it is withheld and the figure alone is flagged.
    """
    from evaluation.bootstrap import FLAGGED_ABOVE

    flag = FLAG if (excluded or 0) > FLAGGED_ABOVE else ""
    if not ends or None in ends:
        return f" [withheld]{flag}" if flag else ""
    return f" [{ends[0]:.1f}, {ends[1]:.1f}]{flag}"
