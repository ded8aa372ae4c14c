"""The demo runs, again where it ran before, and shows what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from psychemme.release.read import read_release
from psychemme.vocabulary import EVER_ACCEPTED

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
ENVIRONMENT = os.environ | {"PATH": f"{SCRIPTS}:{os.environ['PATH']}", "COLUMNS": "100"}


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.slow
def test_the_demo_goes_from_clips_to_scored_baselines(tmp_path):
    workspace = tmp_path / "demo"
    workspace.mkdir()
    (workspace / "psychemme.toml").touch()  # as an earlier demo leaves it
    demo = run(sys.executable, ROOT / "examples" / "demo.py", workspace)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Summary" in demo.stdout
    assert "Coverage" in demo.stdout
    assert "index.html" in demo.stdout.splitlines()[-1]
    assert "0 candidates gated" in demo.stdout, "a sound item was blocked"
    assert (workspace / "report" / "audits.html").exists()
    assert 'id="audits-title"' in (workspace / "report" / "index.html").read_text()
    listed = run("psychemme", "-w", workspace, "candidates", "list", "--json")
    found = json.loads(listed.stdout)
    accepted = [one for one in found if one["state"] in EVER_ACCEPTED]
    assert len({one["capability"] for one in accepted}) >= 5
    assert {one["format"] for one in accepted} == {"single", "multiple", "open"}
    assert any(one["rounds"] > 0 for one in found)
    assert any(one["state"] == "discarded" for one in found)
    assert not any(one["state"] in ("failed", "pending") for one in found)
    assert {one["state"] for one in accepted} == {"frozen", "rejected"}
    release = read_release(workspace / "release")
    assert release.manifest.example
    assert len(release.questions) == sum(one["state"] == "frozen" for one in found)
    assert len(list((workspace / "evaluation" / "runs").glob("*/run.json"))) == 5
    assert (workspace / "evaluation" / "report" / "index.html").exists()


def test_the_demo_leaves_other_folders_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    demo = run(sys.executable, ROOT / "examples" / "demo.py", tmp_path)
    assert demo.returncode != 0
    assert "name another folder" in demo.stderr
    assert (tmp_path / "thesis.txt").read_text() == "mine"
