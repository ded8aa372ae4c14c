"""`psychemme score`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from psychemme.cli.app import JsonOption, app, out, plain, print_json
from psychemme.cli.runs_given import OptionalRunsArgument
from psychemme.cli.tables import FLAG, NOTE, interval_text, new_table, print_table

if TYPE_CHECKING:
    from evaluation.order_spread import OrderSpread, Spread

JudgeOption = Annotated[
    str | None, typer.Option(help="Whose labels to use.  [default: the only judge's]")
]
RepeatOption = Annotated[int, typer.Option(min=0, help="Which repeat of the judge, from 0.")]
ReleaseOption = Annotated[
    Path | None, typer.Option(help="The release.  [default: where the runs found it]")
]


@app.command()
def score(
    run: OptionalRunsArgument = None,
    release: ReleaseOption = None,
    responses: Annotated[
        Path | None, typer.Option(help="Responses made elsewhere, as JSON Lines.")
    ] = None,
    judgements: Annotated[
        Path | None, typer.Option(help="Judgements made elsewhere, as JSON Lines.")
    ] = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add 95% intervals (paired episode bootstrap).")
    ] = False,
    allow_unscored: Annotated[
        bool,
        typer.Option("--allow-unscored", help="Print bounds where items could not be scored."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Score runs: Raw and Verified, by capability and as the mean over capabilities."""
    from evaluation.order_spread import refuse_unasked, spread_json, spread_of_folder
    from evaluation.score import FILL_FILES, FILL_RUN, refuse_unscored, score_files, score_folder
    from evaluation.score_json import as_json

    if run and (responses or judgements):
        raise typer.BadParameter("name run folders, or --responses, not both")
    if responses and release:
        scored = score_files(release, responses, judgements, judge, repeat)
    elif run:
        scored = [score_folder(folder, release, judge, repeat) for folder in run]
    else:
        raise typer.BadParameter("name run folders, or --release with --responses")
    spreads = [spread_of_folder(folder, release) for folder in run or ()] or [None] * len(scored)
    if not allow_unscored:
        refuse_unscored(scored, FILL_RUN if run else FILL_FILES)
        refuse_unasked(spreads)
    shown = [
        as_json(one, intervals=intervals) | spread_json(spread)
        for one, spread in zip(scored, spreads, strict=True)
    ]
    if json:
        print_json({"runs": shown})
        return
    names = [_name(one.model, one.is_self) for one in scored]
    print_table(_overall(names, shown))
    for measure in ("raw", "verified"):
        print_table(_by_capability(names, shown, measure))
    if any(FLAG in text for one in shown for text in _figures(one)):
        out.print(NOTE, soft_wrap=True)
    for one in shown:
        for what in ("failures", "unscored", "flagged_judgements"):
            if one.get(what):
                listed = ", ".join(f"{plain(reason)} {n}" for reason, n in one[what].items())
                said = f"{plain(one['model'])}: {what.replace('_', ' ')}: {listed}"
                out.print(said, soft_wrap=True)
    for spread in filter(None, spreads):
        print_spread(spread)


def print_spread(spread: "OrderSpread") -> None:
    """Print how raw accuracy on choice items varies with the order of options."""
    out.print(
        f"{plain(spread.name)}: Raw of choice items in percent, {spread.orders} option orders",
        soft_wrap=True,
    )
    table = new_table("", "n", "mean", "min", "max", "SD", "flips")
    for place, one in (("choice", spread.overall), *spread.capabilities.items()):
        table.add_row(str(place), str(one.n), *_percents(one))
    print_table(table)
    positions = (
        f"{letter} {100 * one.answers:.1f} ({100 * one.references:.1f})"
        for letter, one in spread.positions.items()
    )
    out.print(f"options chosen (right) by position: {', '.join(positions) or 'none'}")
    if spread.open_items:
        out.print(f"{spread.open_items} open items were asked once: they have no options.")
    if spread.unscored:
        out.print(f"{spread.unscored} items are unscored in some order.")


def _percents(one: "Spread") -> list[str]:
    figures = (one.mean, one.min, one.max, one.sd, one.flips)
    return ["–" if figure is None else f"{100 * figure:.1f}" for figure in figures]


def _name(model: str, is_self: bool) -> str:
    return plain(model) + (" (self)" if is_self else "")


def _overall(names: list[str], shown: list[dict[str, Any]]) -> Table:
    table = new_table("model", "condition", "n", "failed", "unscored", "Raw", "Verified")
    table.title = "Scores in percent, mean over capabilities"
    for name, one in zip(names, shown, strict=True):
        counts = (one["n"], sum(one["failures"].values()), sum(one.get("unscored", {}).values()))
        figures = (_figure(one, "raw"), _figure(one, "verified"))
        table.add_row(name, plain(one["condition"]), *map(str, counts), *figures)
    return table


def _by_capability(names: list[str], shown: list[dict[str, Any]], measure: str) -> Table:
    codes = list(shown[0]["capabilities"])
    table = new_table("model", *codes, title=f"{measure.capitalize()} by capability")
    for name, one in zip(names, shown, strict=True):
        table.add_row(name, *(_figure(one["capabilities"][code], measure) for code in codes))
    return table


def _figure(shown: dict[str, Any], measure: str) -> str:
    point, bounds = shown[measure], shown.get(f"{measure}_bounds")
    if point is None:
        return "–" if not bounds or None in bounds else f"{bounds[0]:.1f} to {bounds[1]:.1f}"
    interval = interval_text(shown.get(f"{measure}_ci"), shown.get(f"{measure}_excluded"))
    return f"{point:.1f}{interval}"


def _figures(shown: dict[str, Any]) -> list[str]:
    places = (shown, *shown["capabilities"].values())
    return [_figure(place, measure) for place in places for measure in ("raw", "verified")]
