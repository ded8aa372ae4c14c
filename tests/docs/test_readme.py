"""The README, its commands, its shapes, its layout and its links say what is so."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from docs.generate import ROOT, outdated
from tests.support.model_server import ModelServer

README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHAPES = ("clips.json", "coverage.json", "candidates.json")
ENDPOINT = "http://127.0.0.1:8000/v1"


def fences(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.M | re.S)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_generated_file_is_current():
    assert outdated() == []


def test_the_layout_lists_every_top_level_entry_with_a_phrase():
    lines = next(text for text in fences("text") if "pyproject.toml" in text).splitlines()
    listed = [re.fullmatch(r"(\S+?)/? +(\S.+)", line) for line in lines]
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    entries = {name.partition("/")[0] for name in found.stdout.splitlines()}
    assert [line and line[1] for line in listed] == sorted(entries, key=str)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            there = (page.parent / path) if path else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


def test_decisions_are_numbered_without_gaps():
    numbers = [int(p.name[:4]) for p in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers[0] == 1
    assert all(after == before + 1 for before, after in pairwise(numbers))


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"make ([a-z-]+)", "".join(fences("sh"))):
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.slow
def test_the_commands_run_and_print_the_shapes_shown(tmp_path):
    """In one shell, on the sample, with a model on the loopback."""
    clips = tmp_path / "clips"
    clips.mkdir()
    for clip in (ROOT / "examples" / "sample").glob("*.mp4"):
        shutil.copy(clip, clips)
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}", "COLUMNS": "100"}
    with ModelServer() as server:
        script = "set -eu\n" + "".join(fences("bash")).replace(ENDPOINT, server.url)
        ran = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert server.count() > 0
    workspace = tmp_path / "my-benchmark"
    assert (workspace / "report" / "index.html").exists()
    for name, shown in zip(SHAPES, fences("json"), strict=True):
        printed = json.loads((workspace / name).read_text("utf-8"))
        assert same_keys(json.loads(shown), printed), name


def same_keys(shown: object, real: object) -> bool:
    """Tell whether `real` has the keys of `shown` at every depth; one entry of a list is enough."""
    if isinstance(shown, list) and shown and isinstance(real, list):
        return any(same_keys(shown[0], one) for one in real)
    if isinstance(shown, dict) and isinstance(real, dict):
        return shown.keys() == real.keys() and all(same_keys(shown[k], real[k]) for k in shown)
    return isinstance(shown, list) == isinstance(real, list)
