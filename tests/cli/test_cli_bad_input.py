"""Every clip is either prepared or refused with a reason and a next action; none stops the rest."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import SAMPLE, read, run

SPEECH = "1\n00:00:01,000 --> 00:00:03,000\n{}Could you hold the ladder for me?\n"


def ffmpeg(*arguments: object) -> None:
    import imageio_ffmpeg

    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *map(str, arguments)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def talking(folder: Path, name: str, *options: object, sidecar: str | None = SPEECH) -> Path:
    """Make a variant of a sample clip with its own bytes, and a transcript beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    ffmpeg("-i", SAMPLE / "desk.mp4", "-t", 12, *options, f"file:{target}")
    if sidecar is not None:
        target.with_suffix(".srt").write_text(sidecar.format(""))
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bad") / "clips"
    talking(root, "whole.mp4")
    talking(root, 'it\'s a "clip" – naïve 世界.mp4', "-metadata", "title=a")
    talking(root, "-dash.mp4", "-metadata", "title=b")
    talking(root / "one", "video.mp4", "-metadata", "title=c")
    talking(root / "two", "video.mp4", "-metadata", "title=d")
    talking(root, "silent track.mp4", "-af", "volume=0", sidecar=None)
    talking(root, "no track.mp4", "-an", sidecar=None)
    talking(root, "broken sidecar.mp4", "-metadata", "title=e", sidecar="no times here")
    talking(root, "turned.mp4", "-vf", "scale=240:426", "-c:v", "libx265", "-metadata", "title=f")
    shutil.copy(root / "whole.mp4", root / "same again.mp4")
    (root / "empty.mp4").write_bytes(b"")
    (root / "cut off.mp4").write_bytes((root / "whole.mp4").read_bytes()[:9000])
    ffmpeg("-f", "lavfi", "-i", "sine=d=12", f"file:{root / 'sound only.mp4'}")
    (root / "notes.txt").write_text("not a clip")
    (root / "folder.mp4").mkdir()
    return root


@pytest.fixture(scope="module")
def clips(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    workspace = tmp_path_factory.mktemp("bad") / "workspace"
    run(workspace, "init", "--demo-key")
    added = run(workspace, "clips", "add", str(folder)).stdout
    assert "same again.mp4" in added
    assert "known" in added
    run(workspace, "prepare", "--asr", "off")
    listed = read(workspace, "clips", "list")
    assert len({clip["id"] for clip in listed}) == len(listed) == 12
    return {str(Path(clip["path"]).relative_to(folder)): clip for clip in listed}


@pytest.mark.parametrize(
    "name",
    [
        'it\'s a "clip" – naïve 世界.mp4',
        "-dash.mp4",
        "one/video.mp4",
        "two/video.mp4",
        "turned.mp4",
    ],
)
def test_odd_but_sound_clips_are_prepared(clips: dict[str, dict[str, str]], name: str) -> None:
    assert (clips[name]["status"], clips[name]["reason"]) == ("prepared", None)


def test_the_same_bytes_are_one_clip(clips: dict[str, dict[str, str]]) -> None:
    twins = [name for name in ("whole.mp4", "same again.mp4") if name in clips]
    assert len(twins) == 1
    assert clips[twins[0]]["status"] == "prepared"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("empty.mp4", "empty"),
        ("cut off.mp4", ""),
        ("sound only.mp4", "video"),
        ("silent track.mp4", "no speech"),
        ("no track.mp4", "no speech"),
        ("broken sidecar.mp4", "broken sidecar.srt"),
    ],
)
def test_the_rest_is_refused_with_reason_and_action(
    clips: dict[str, dict[str, str]], name: str, why: str
) -> None:
    clip = clips[name]
    assert clip["status"] == "refused"
    assert why in clip["reason"]
    assert clip["action"]


def test_a_changed_or_missing_file_is_refused(folder: Path, tmp_path: Path) -> None:
    workspace, own = tmp_path / "workspace", tmp_path / "own"
    own.mkdir()
    for name in ("changes.mp4", "goes.mp4"):
        talking(own, name, "-metadata", f"title={name}")
    run(workspace, "init")
    run(workspace, "clips", "add", str(own))
    with (own / "changes.mp4").open("ab") as file:
        file.write(b"more")
    (own / "goes.mp4").unlink()
    run(workspace, "prepare", "--asr", "off")
    reasons = sorted(clip["reason"] for clip in read(workspace, "clips", "list"))
    assert "has changed since it was added" in reasons[0]
    assert "is no longer there" in reasons[1]
