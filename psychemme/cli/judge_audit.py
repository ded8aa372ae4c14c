"""A judge's audit as tables on the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from psychemme.cli.app import out, plain

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
        out.print(_table(variant))
    out.print("95% intervals. † undefined in more than 5% of the bootstrap draws.")
    for warning in audit.warnings:
        out.print(f"[bold red]warning[/] {plain(warning)}", highlight=False, soft_wrap=True)


def _table(variant: "VariantShifts") -> Table:
    from evaluation.report.formats import text
    from evaluation.report.judges import change, share

    table = Table("", "n", "support change", "logic change", title=_title(variant))
    for title in ("support changed", "support fell", "logic changed", "logic fell"):
        table.add_column(f"{title} (%)")
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
