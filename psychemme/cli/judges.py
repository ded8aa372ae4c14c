"""`psychemme judges`."""

from typing import TYPE_CHECKING

from rich.table import Table

from psychemme.cli.app import JsonOption, app, out, plain, print_json
from psychemme.cli.runs_given import RunsArgument
from psychemme.cli.score import ReleaseOption
from psychemme.cli.tables import new_table, print_table

if TYPE_CHECKING:
    from evaluation.judge_agreement import Agreement, Board, Ranking


@app.command()
def judges(
    run: RunsArgument,
    release: ReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Compare judges, and the repeats of one: agreement, and the leaderboard under each."""
    from evaluation.judge_agreement import agreements_of, read_judged_runs

    found = agreements_of(*read_judged_runs(run, release))
    if json:
        print_json(found.model_dump(mode="json"))
        return
    if not found.agreements:
        listed = ", ".join(map(plain, found.raters)) or "nobody"
        out.print(
            f"Nothing to compare: the runs were judged by {listed}. Run `psychemme judge` with "
            "another --model, or with --repeats 2.",
            soft_wrap=True,
        )
        return
    print_table(_agreement(found.agreements))
    for board in found.boards:
        print_table(_board(board))


def _agreement(found: "tuple[Agreement, ...]") -> Table:
    table = new_table("judges", "subject", "n", "raw", "kappa", "alpha")
    table.title = "Agreement (kappa: quadratic weights; alpha: Krippendorff, ordinal)"
    reasons = set()
    for one in found:
        figures = (one.raw, one.kappa, one.alpha)
        shown = ["–" if figure is None else f"{figure:.3f}" for figure in figures]
        reasons |= {f"{name}: {reason}" for name, reason in one.why.items()}
        table.add_row("\n".join(map(plain, one.raters)), one.subject, str(one.n), *shown)
    if reasons:
        table.caption = "– undefined. " + "; ".join(sorted(reasons))
    return table


def _board(board: "Board") -> Table:
    table = new_table("run", *(plain(ranking.rater) for ranking in board.rankings))
    table.title = f"Rank and Verified (percent) under each judge, n = {board.n}"
    for run in board.runs:
        table.add_row(plain(run), *(_place(ranking, run) for ranking in board.rankings))
    taus = [f"{one.tau:.3f}" if one.tau is not None else f"– ({one.why})" for one in board.rankings]
    table.add_section()
    table.add_row("tau", *taus)
    table.caption = "tau: Kendall's tau-b against the first judge. – not ranked."
    return table


def _place(ranking: "Ranking", run: str) -> str:
    if run not in ranking.ranks:
        return "–"
    return f"{ranking.ranks[run]}  {100 * ranking.verified[run]:.1f}"
