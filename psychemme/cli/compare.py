"""`psychemme compare`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from psychemme.cli.app import JsonOption, app, out, plain, print_json
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption


@app.command()
def compare(
    run_a: Annotated[Path, typer.Argument(help="A run folder.")],
    run_b: Annotated[Path, typer.Argument(help="The run folder it is compared with.")],
    release: ReleaseOption = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare two runs on the items of both: A less B, with paired 95% intervals."""
    from evaluation.score import refuse_unscored, score_folder
    from evaluation.score_json import compare_runs

    one, other = (score_folder(folder, release, judge, repeat) for folder in (run_a, run_b))
    refuse_unscored([one, other])
    shown = compare_runs(one, other)
    if json:
        print_json(shown)
        return
    names = [plain(name) for name in shown["runs"]]
    table = Table("", "Raw", "p", "Verified", "p", title=f"{names[0]} less {names[1]}, points")
    for place, measures in shown["differences"].items():
        cells = [text for measure in ("raw", "verified") for text in _cells(measures[measure])]
        table.add_row(place, *cells)
    out.print(table)
    out.print(f"{shown['n']} items; exploratory, p-values unadjusted.")


def _cells(shown: dict[str, object]) -> tuple[str, str]:
    difference, p, ci = shown["difference"], shown["p"], shown["ci"]
    if not isinstance(difference, float):
        return "–", ""
    low, high = ci if isinstance(ci, list) else (None, None)
    interval = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
    return f"{difference:+.1f}{interval}", f"{p:.3f}" if isinstance(p, float) else ""
