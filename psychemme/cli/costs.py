"""`psychemme costs`."""

from rich.table import Table

from psychemme.cli.app import (
    JsonOption,
    RunOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)

_HEADERS = {
    "role": "role",
    "model": "model",
    "calls": "calls",
    "cached": "cached",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "cost": "cost",
    "latency_median": "median s",
    "latency_p95": "p95 s",
}


@app.command()
def costs(
    workspace: WorkspaceOption = None, run: RunOption = None, json: JsonOption = False
) -> None:
    """Show calls, tokens, money and latency of every role and model, from the ledger."""
    from construction.costs import read_costs
    from construction.workspace import open_workspace

    shown = read_costs(open_workspace(workspace_root(workspace)).database, run).to_json()
    if json:
        print_json(shown)
        return
    table = Table(*_HEADERS.values(), title="Costs")
    for row in shown["rows"]:
        table.add_row(*(_text(name, row[name]) for name in _HEADERS))
    out.print(table)
    totals = shown["totals"]
    out.print(
        f"calls {totals['calls']}  cached {totals['cached']}  "
        f"tokens {totals['input_tokens']} in, {totals['output_tokens']} out  "
        f"cost {money(totals['cost'])}"
    )


def money(cost: float | None) -> str:
    """Return US dollars for people; small sums keep four places."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if 0 < cost < 1 else f"${cost:.2f}"


def budget_note(
    budget: float, spent: float | None, likely: float | None, most: float | None
) -> str:
    """Return whether a budget holds what was spent and what is to come, likely and at most.

    Where nothing bounds it, `most` is what is likely.
    """
    if spent is None or likely is None or most is None:
        return "No budget can be kept: a price, or what was spent, is unknown."
    shown = f"{money(spent)} spent, {money(likely)} expected"
    if most != likely:
        shown += f", {money(most)} at most"
    verdict = "suffices" if spent + most <= budget else "may not suffice"
    if spent + likely > budget:
        verdict = "does not suffice"
    return f"The budget of {money(budget)} {verdict}: {shown}."


def _text(name: str, value: object) -> str:
    if name == "cost":
        return money(value if isinstance(value, float) else None)
    return (
        f"{value:.2f}" if isinstance(value, float) else plain(str("" if value is None else value))
    )
