"""A judge's audit as tables on the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from psychemme.cli.app import out, plain
from psychemme.cli.tables import NOTE, new_table, print_table

if TYPE_CHECKING:
    from evaluation.judge_shifts import Audit, VariantShifts


def print_audit(folder: Path, audit: "Audit") -> None:
    """Print the label shifts under each variant, then what must not be missed."""
    out.print(
        f"Audit of {plain(audit.judge)} on {plain(str(folder))}: {audit.sample} of "
        f"{audit.explained} explained responses, seed {audit.seed}",
        soft_wrap=True,
    )
    for variant in audit.variants:
        print_table(_table(variant))
    out.print(f"95% intervals. {NOTE}", soft_wrap=True)
    for warning in audit.warnings:
        out.print(f"[bold red]warning[/] {plain(warning)}", highlight=False, soft_wrap=True)


def _table(variant: "VariantShifts") -> Table:
    from evaluation.report.formats import text
    from evaluation.report.judges import change, share

    shares_of = ("support changed", "support fell", "logic changed", "logic fell")
    columns = ("", "n", "support change", "logic change", *(f"{name} (%)" for name in shares_of))
    table = new_table(*columns, title=_title(variant))
    for one in variant.shifts:
        shares = (one.support_changed, one.support_fell, one.logic_changed, one.logic_fell)
        changes = (change(one.support), change(one.logic))
        table.add_row(
            str(one.capability or "all"),
            str(one.n),
            *changes,
            *(text(share(each)) for each in shares),
        )
    return table


def _title(variant: "VariantShifts") -> str:
    title = variant.variant.replace("_", " ")
    without = variant.sampled - variant.altered
    return f"{title} ({without} without a donor)" if without else title
