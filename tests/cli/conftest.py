"""A workspace prepared once from the bundled sample, its transcripts taken from ground truth."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import SAMPLE, run


def stamp(seconds: float) -> str:
    """Return a SubRip time."""
    whole = round(seconds * 1000)
    hours, minutes, rest = whole // 3_600_000, whole // 60_000 % 60, whole % 60_000
    return f"{hours:02}:{minutes:02}:{rest // 1000:02},{rest % 1000:03}"


def write_sidecars(folder: Path) -> None:
    """Write every sample clip's true words beside it, so that no speech is recognised."""
    clips = json.loads((SAMPLE / "ground_truth.json").read_text())["clips"]
    for clip in clips:
        lines = [
            f"{i + 1}\n{stamp(said['start'])} --> {stamp(said['end'])}\n{said['text']}\n"
            for i, said in enumerate(clip["utterances"])
        ]
        (folder / clip["file"]).with_suffix(".srt").write_text("\n".join(lines))


@pytest.fixture(scope="session")
def sample_clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sample clips and their true transcripts."""
    folder = tmp_path_factory.mktemp("clips")
    for clip in SAMPLE.glob("*.mp4"):
        shutil.copy(clip, folder)
    write_sidecars(folder)
    return folder


@pytest.fixture(scope="session")
def prepared(sample_clips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a prepared workspace; copy it before changing it."""
    workspace = tmp_path_factory.mktemp("prepared") / "workspace"
    run(workspace, "init", "--demo-key")
    run(workspace, "clips", "add", str(sample_clips), "--source", "sample")
    run(workspace, "prepare")
    return workspace


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path) -> Path:
    """Return a copy of the prepared workspace."""
    return Path(shutil.copytree(prepared, tmp_path / "workspace"))
