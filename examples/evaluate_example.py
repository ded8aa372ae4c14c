"""Evaluate every baseline on an example release made from the demo's candidates. Needs no key.

    python examples/evaluate_example.py [WORKSPACE] [OUT]

No person has reviewed the items, so that the scores measure nothing: it shows the path.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import example_release

BASELINES = ("random", "majority-position", "most-frequent", "longest-option", "signal")
SAMPLE = Path(__file__).parent / "sample"


def main(workspace: Path, out: Path) -> None:
    """Make the release, run the baselines, print their scores and write the report."""
    if not (workspace / "state.db").exists():
        sys.exit(f"{workspace} is no workspace: run `make demo` first.")
    shutil.rmtree(out, ignore_errors=True)
    example_release.main(workspace, out / "release")
    models = [word for name in BASELINES for word in ("--model", name)]
    runs = out / "runs"
    psychemme("evaluate", out / "release", *models, "--media", SAMPLE, "--out", runs)
    folders = sorted(path.parent for path in runs.glob("*/run.json"))
    # Open answers need a judge, and no baseline is one: their items are shown as bounds.
    psychemme("score", *folders, "--intervals", "--allow-unscored")
    psychemme("report", *folders, "--allow-unscored", "--out", out / "report")


def psychemme(*words: object) -> None:
    """Show a command and run it; a failure ends the program with its exit code."""
    command = ["psychemme", *map(str, words)]
    print("\n$", *command, flush=True)
    if code := subprocess.run(command, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    main(*given, *(Path("demo-workspace"), Path("demo-evaluation"))[len(given) :])
