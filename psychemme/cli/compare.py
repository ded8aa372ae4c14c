"""`psychemme compare`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from psychemme.cli.app import JsonOption, app, out, plain, print_json
from psychemme.cli.runs_given import each_once
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption
from psychemme.cli.tables import FLAG, NOTE, interval_text, new_table, print_table


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

    each_once([run_a, run_b])
    one, other = (score_folder(folder, release, judge, repeat) for folder in (run_a, run_b))
    refuse_unscored([one, other], has_bounds=False)
    shown = compare_runs(one, other)
    if json:
        print_json(shown)
        return
    names = [plain(name) for name in shown["runs"]]
    table = new_table("", "Raw", "p", "Verified", "p")
    rows = {
        place: [text for measure in ("raw", "verified") for text in _cells(measures[measure])]
        for place, measures in shown["differences"].items()
    }
    for place, cells in rows.items():
        table.add_row(place, *cells)
    out.print(f"{names[0]} less {names[1]}, points", soft_wrap=True)
    print_table(table)
    if any(FLAG in text for cells in rows.values() for text in cells):
        out.print(NOTE, soft_wrap=True)
    out.print(f"{shown['n']} items; exploratory, p-values unadjusted.")


def _cells(shown: dict[str, Any]) -> tuple[str, str]:
    difference, p = shown["difference"], shown["p"]
    if difference is None:
        return "–", ""
    interval = interval_text(shown["ci"], shown["excluded"])
    return f"{difference:+.1f}{interval}", "" if p is None else f"{p:.3f}"
