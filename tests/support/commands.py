"""Run `psychemme` as its users do, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples" / "sample"


def environment(**extra: str) -> dict[str, str]:
    """Return an environment without settings of the machine's own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PSYCHEMME_", "COV_CORE"))}
    return kept | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"} | extra


def command(workspace: Path, *words: str) -> list[str]:
    """Return the command line of a verb on `workspace`."""
    return [sys.executable, "-m", "psychemme", "--workspace", str(workspace), *words]


def run(
    workspace: Path, *words: str, expect: int = 0, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a verb and assert its exit code."""
    done = subprocess.run(
        command(workspace, *words),
        capture_output=True,
        text=True,
        env=environment(**extra),
        timeout=240,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def read(workspace: Path, *words: str) -> Any:
    """Return what a reporting verb prints as JSON."""
    return json.loads(run(workspace, *words, "--json").stdout)
