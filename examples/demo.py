"""The whole way on the bundled sample, from raw clips to scored baselines. Needs no key.

    python examples/demo.py [WORKSPACE]

The workspace (default: demo-workspace) is made anew each time. No person reviews the items: the
votes are a demonstration, the release is marked as an example, and its scores measure nothing.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import demonstration_votes
from rich.console import Console
from rich.table import Table

from psychemme.config import FILE_NAME
from psychemme.vocabulary import Capability, Format

SAMPLE = Path(__file__).parent / "sample"
PLAN = SAMPLE / "plan.yaml"
COUNT = 48
SOURCE = ("--source", "sample", "--licence", "CC0-1.0", "--consent", "synthetic")
BASELINES = ("random", "majority-position", "most-frequent", "longest-option", "signal")
STATES = ("accepted", "discarded", "failed", "pending")


def main(root: Path) -> None:
    """Run every part of the way in a new workspace at `root`, and sum up."""
    remove_earlier(root)
    build(root)
    review_and_freeze(root, root / "release")
    evaluate(root / "release", root / "evaluation")
    print(f"\ncandidates  {root / 'report' / 'index.html'}")
    print(f"audits      {root / 'report' / 'audits.html'}")
    print(f"release     {root / 'release'}")
    print(f"baselines   {root / 'evaluation' / 'report' / 'index.html'}")


def build(root: Path) -> None:
    """Make candidates from the sample, and audit them."""
    psychemme(root, "init", "--demo-key")
    psychemme(root, "clips", "add", SAMPLE, *SOURCE)
    psychemme(root, "prepare", "--plan", PLAN)
    psychemme(root, "generate", "--model", "signal", "--count", COUNT, "--plan", PLAN)
    Console().print(summary(json.loads(captured(root, "candidates", "list", "--json"))))
    psychemme(root, "coverage")
    psychemme(root, "audit", "--apply")
    psychemme(root, "report")


def review_and_freeze(root: Path, release: Path) -> None:
    """Import demonstration votes on the candidates, and freeze what they approve."""
    votes = root / "demonstration-votes.jsonl"
    psychemme(root, "review", "open", "--no-assign")
    demonstration_votes.main(root, votes)
    psychemme(root, "review", "import", votes, "--demonstration")
    psychemme(root, "agreement")
    psychemme(root, "review", "close")
    terms = ("--licence", "CC0-1.0", "--version", "1.0", "--name", "example", "--example")
    psychemme(root, "freeze", release, *terms)
    psychemme(root, "verify", release, "--media", SAMPLE)


def evaluate(release: Path, out: Path) -> None:
    """Run the baselines on the release, print their scores and write the report."""
    models = [word for name in BASELINES for word in ("--model", name)]
    psychemme(None, "evaluate", release, *models, "--media", SAMPLE, "--out", out / "runs")
    runs = sorted(path.parent for path in (out / "runs").glob("*/run.json"))
    # Open answers need a judge, and no baseline is one: their items are shown as bounds.
    psychemme(None, "score", *runs, "--intervals", "--allow-unscored")
    psychemme(None, "report", *runs, "--allow-unscored", "--out", out / "report")


def remove_earlier(root: Path) -> None:
    """Remove the workspace of an earlier demo; leave anything else alone."""
    if (root / FILE_NAME).exists():
        shutil.rmtree(root)
    elif root.exists() and any(root.iterdir()):
        sys.exit(f"{root} is no workspace and not empty: name another folder.")


def psychemme(root: Path | None, *words: object) -> None:
    """Show a command and run it, on a workspace if one is given; a failure ends the demo."""
    where = ["--workspace", str(root)] if root else []
    command = ["psychemme", *where, *map(str, words)]
    print("\n$", *command, flush=True)
    if code := subprocess.run(command, check=False).returncode:
        sys.exit(code)


def captured(root: Path, *words: str) -> str:
    """Return what a command prints."""
    command = ["psychemme", "--workspace", str(root), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def summary(candidates: list[dict[str, Any]]) -> Table:
    """Return candidates counted by capability; `refined` went through a round after the first."""
    table = Table("capability", "formats", *STATES, "refined", title="Summary", show_footer=True)
    for capability in Capability:
        held = [one for one in candidates if one["capability"] == capability]
        if held:
            table.add_row(capability, *_counts(held))
    for column, total in zip(table.columns, ("all", *_counts(candidates)), strict=True):
        column.footer = total
    return table


def _counts(candidates: list[dict[str, Any]]) -> list[str]:
    formats = [form for form in Format if any(one["format"] == form for one in candidates)]
    states = Counter(one["state"] for one in candidates)
    refined = sum(one["rounds"] > 0 for one in candidates)
    return [", ".join(formats), *(str(states[state]) for state in STATES), str(refined)]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-workspace"))
