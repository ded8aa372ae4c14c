"""Each export is loaded by the tool it is for, in that tool's own environment.

`make test-exports` builds the environments; without them these tests are skipped.
"""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from construction.exports import FORMATS, export
from construction.exports.label_studio import LabelledVote, write_votes
from evaluation.score import score_files
from psychemme.release.read import read_release
from tests.support.clips import write_clip
from tests.support.releases import make_release

ROOT = Path(__file__).resolve().parents[2]
LOADERS = Path(__file__).parent / "loaders"
TASK = "psychemme_synthetic"
TOOLS, LMMS = ROOT / ".venv-exports", ROOT / ".venv-lmms"
BOTH = pytest.mark.parametrize("private", [False, True])
pytestmark = [
    pytest.mark.exports,
    pytest.mark.timeout(280),
    pytest.mark.skipif(
        not all((venv / "installed").exists() for venv in (TOOLS, LMMS)),
        reason="needs the tools' environments: `make test-exports`",
    ),
]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    root = tmp_path_factory.mktemp("tools")
    (root / "clips").mkdir()
    clip = write_clip(root / "clips" / "walk.mp4")
    sha256 = hashlib.sha256(clip.read_bytes()).hexdigest()
    facts = {"profile": "psychemme8", "licence": "CC-BY-4.0", "date": "2026-11-30"}
    return read_release(make_release(root / "release", 9, clip=clip.name, sha256=sha256, **facts))


@pytest.fixture(scope="module")
def folders(release, tmp_path_factory):
    root = tmp_path_factory.mktemp("exports")
    for to in FORMATS:
        media = None if to in ("hf", "croissant") else release.root.parent / "clips"
        for private in (False, True):
            out = root / f"{to}-{private}"
            export(release.root, to, out, with_references=private, media=media)
    return root


def loaded(venv: Path, loader: str, home: Path, *words: object):
    offline = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        [str(venv / "bin" / "python"), str(LOADERS / loader), *map(str, words)],
        env=kept | offline | {"HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])


def options(release):
    return {q.id: [o.text for o in q.options] for q in release.questions.values()}


def answers(release, *, with_open):
    found = {name: row.answer for name, row in release.references().items()}
    listed = {name: [a] if isinstance(a, str) else a for name, a in found.items()}
    is_kept = {q.id: with_open or q.format.is_choice for q in release.questions.values()}
    return {name: answer for name, answer in listed.items() if is_kept[name]}


@BOTH
def test_hugging_face_datasets_loads_it(private, release, folders, tmp_path):
    shown = loaded(TOOLS, "hf.py", tmp_path, folders / f"hf-{private}")
    rows = {"questions": len(release.questions), "episodes": len(release.episodes)}
    assert shown["rows"] == rows | ({"references": len(release.questions)} if private else {})
    assert shown["options"] == options(release)
    assert shown["answers"] == (answers(release, with_open=True) if private else {})
    assert "'decision_time': Value('float64')" in shown["types"]["questions"]


@BOTH
@pytest.mark.parametrize("to", ["hf", "croissant"])
def test_mlcroissant_validates_and_loads_it(to, private, release, folders, tmp_path):
    metadata = folders / f"{to}-{private}" / "croissant.json"
    shown = loaded(TOOLS, "croissant.py", tmp_path, metadata)
    assert shown["issues"] == []
    assert shown["date"].startswith("2026-11-30")
    assert shown["rows"]["questions"] == len(release.questions)
    assert shown["options"] == options(release)
    assert shown["answers"] == (answers(release, with_open=True) if private else {})


@BOTH
def test_lmms_eval_loads_and_runs_it(private, release, folders, tmp_path):
    folder = folders / f"lmms-eval-{private}"
    shown = loaded(LMMS, "lmms_eval_run.py", tmp_path, folder, TASK, tmp_path / "logs")
    assert shown["count"] == len(release.questions)
    assert shown["options"] == options(release)
    assert shown["answers"] == (answers(release, with_open=False) if private else {})
    assert private or set(shown["targets"].values()) == {""}
    assert all(Path(video).is_file() for (video,) in shown["videos"])
    assert shown["cluster"] == "episode_id"
    assert ("choice_accuracy,none" in shown["results"]) == private
    if private:
        right = [answer == ["A"] for answer in answers(release, with_open=False).values()]
        assert float(shown["results"]["choice_accuracy,none"]) == pytest.approx(
            sum(right) / len(right)
        )
        assert float(shown["results"]["choice_accuracy_stderr_clustered,none"]) > 0
    (samples,) = (tmp_path / "logs").rglob(f"*_samples_{TASK}.jsonl")
    assert scored(release, LMMS, folder / "utils.py", samples, tmp_path) == ["A"]


@BOTH
def test_inspect_runs_it(private, release, folders, tmp_path):
    folder = folders / f"inspect-{private}"
    shown = loaded(TOOLS, "inspect_run.py", tmp_path, folder, tmp_path / "logs")
    assert shown["count"] == len(release.questions)
    assert shown["options"] == options(release)
    assert shown["answers"] == (answers(release, with_open=False) if private else {})
    assert shown["videos"] == ["text", "video"]
    right = [answer == ["A"] for answer in answers(release, with_open=False).values()]
    assert shown["scores"] == {"readable": len(release.questions)} | (
        {"choice_accuracy": len(right)} if private else {}
    )
    if private:
        accuracy = shown["metrics"]["choice_accuracy"]
        assert accuracy["mean"] == pytest.approx(sum(right) / len(right))
        assert accuracy["stderr"] > 0
    assert scored(release, TOOLS, folder / "task.py", shown["log"], tmp_path) == ["A"]


@BOTH
def test_the_class_for_vlmevalkit_reads_its_table(private, release, folders, tmp_path):
    folder = folders / f"vlmevalkit-{private}"
    shown = loaded(TOOLS, "vlmevalkit.py", tmp_path, folder, TASK, tmp_path)
    assert shown["count"] == len(release.questions)
    assert shown["options"] == options(release)
    assert shown["answers"] == (answers(release, with_open=False) if private else {})
    assert all(Path(video).is_file() for video in shown["videos"])
    assert shown["frames"] == ["text", "image", "text"]
    assert ("choice_accuracy" in shown["scores"]) == private
    assert (shown["scores"]["n"], shown["scores"]["failed"]) == (len(release.questions), 1)
    lines = shown["responses"].splitlines()
    assert len(lines) == len(release.questions) - 1


def test_label_studio_takes_tasks_and_votes(release, folders, tmp_path):
    folder = folders / "label-studio-True"
    answered = LabelledVote("q0000", 1, "r1@lab", ("A",), comment="sure")
    told = LabelledVote("q0005", 1, "r1@lab", "a text", comment="sure")
    reasons = {"question_validity": ("unclear_referent",)}
    voted = LabelledVote("q0000", 1, "r1@lab", None, {"question_validity": "reject"}, reasons)
    write_votes([answered, told], folder / "votes-answer.json")
    write_votes([voted], folder / "votes-verdict.json")
    shown = loaded(TOOLS, "label_studio.py", tmp_path, folder)
    for step in ("answer", "verdict"):
        assert shown[step]["tasks"] == [True] * len(release.questions)
        assert set(shown[step]["results"].values()) == {True}
    assert set(shown["answer"]["controls"]) == {"answer", "answer_text", "comment", "skipped"}


def scored(release, venv, converter, log, tmp_path):
    """Turn a tool's log into responses, and return the answers `psychemme score` reads there."""
    words = [str(venv / "bin" / "python"), str(converter), str(log), "tool"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    responses = tmp_path / "responses.jsonl"
    responses.write_text(done.stdout, "utf-8")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(row["item_id"] for row in rows) == sorted(release.questions)
    (run,) = score_files(release.root, responses, None)
    assert len(run.items) == len(release.questions)
    return sorted({row["raw"].replace('{"answer": "A"}', "A") for row in rows})
