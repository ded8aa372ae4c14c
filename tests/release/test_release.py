"""A release is read only when it is whole, known and consistent."""

import json
from pathlib import Path
from typing import Any

import pytest

from psychemme.errors import ReleaseError
from psychemme.items import Cue, KeyPoint, Option
from psychemme.release.read import read_release
from psychemme.release.rows import EpisodeRow, QuestionRow, ReferenceRow, ReleaseFacts
from psychemme.release.write import write_release

FACTS = ReleaseFacts(name="small", version="1.0.0", profile="p", canary="c0ffee")
OPTIONS = tuple(Option(id=letter, text=f"option {letter}") for letter in "ABC")


def question(name: str, form: str = "single", **changes: Any) -> QuestionRow:
    fields = {
        "id": name,
        "episode_id": "e1",
        "capability": "G",
        "subcategory": "sequence",
        "format": form,
        "question": "Who speaks first?",
        "options": OPTIONS if form != "open" else (),
    }
    return QuestionRow.model_validate(fields | changes)


def episode(name: str = "e1") -> EpisodeRow:
    return EpisodeRow(
        id=name,
        source="s",
        source_group="s",
        source_video_id="v",
        recording_group="v",
        clip="clip.mp4",
        sha256="0" * 64,
        start=0,
        end=20,
        duration=20,
    )


CUE = Cue(start=1, end=2, modality="speech", description="the first words")
REFERENCES = (
    ReferenceRow(id="q1", answer="A", cues=(CUE,)),
    ReferenceRow(id="q2", answer=["A", "C"], cues=(CUE,)),
    ReferenceRow(id="q3", answer="the host", cues=(CUE,), key_points=(KeyPoint(text="host"),)),
)
QUESTIONS = (question("q3", "open"), question("q1"), question("q2", "multiple"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_release(tmp_path, FACTS, QUESTIONS, [episode()], REFERENCES)
    return tmp_path


def test_what_was_written_is_read(root: Path) -> None:
    release = read_release(root)
    assert list(release.questions) == ["q1", "q2", "q3"]
    assert release.references() == {row.id: row for row in REFERENCES}
    assert release.manifest.counts == {"questions": 3, "episodes": 1, "G": 3}


def test_the_same_rows_give_the_same_bytes(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_release(other, FACTS, QUESTIONS[::-1], [episode()], REFERENCES[::-1])
    for name in ("SHA256SUMS", "public/questions.jsonl", "private/manifest.json"):
        assert (root / name).read_bytes() == (other / name).read_bytes()
    assert read_release(root).checksum == read_release(other).checksum


def test_only_what_a_model_sees_makes_the_checksum(root: Path, tmp_path: Path) -> None:
    cards = {"README.md": b"c0ffee"}
    write_release(tmp_path / "card", FACTS, QUESTIONS, [episode()], REFERENCES, cards)
    assert read_release(tmp_path / "card").checksum == read_release(root).checksum
    asked = (question("q1", question="Who leaves?"), *QUESTIONS[::2])
    write_release(tmp_path / "asked", FACTS, asked, [episode()], REFERENCES)
    assert read_release(tmp_path / "asked").checksum != read_release(root).checksum


def test_a_release_of_format_1_0_is_read(root: Path) -> None:
    new = {"models", "gates", "review", "licence", "languages", "date", "citation"}
    for part in ("public", "private"):
        path = root / part / "manifest.json"
        said = json.loads(path.read_text())
        old = {key: value for key, value in said.items() if key not in new}
        path.write_text(json.dumps(old | {"format_version": "1.0", "canary": "any -- text"}))
    (root / "SHA256SUMS").unlink()
    assert read_release(root).references().keys() == {"q1", "q2", "q3"}


def test_a_manifest_lists_the_rows(root: Path) -> None:
    edit(root / "public" / "manifest.json", files={})
    with pytest.raises(ReleaseError, match=r"does not list episodes\.jsonl"):
        read_release(root)


def test_every_row_carries_the_canary_and_the_public_part_no_reference(root: Path) -> None:
    for file in root.rglob("*.jsonl"):
        assert all(json.loads(line)["canary"] == "c0ffee" for line in file.open())
    public = "".join(file.read_text() for file in (root / "public").iterdir() if file.is_file())
    assert "the host" not in public
    assert "the first words" not in public


def test_a_public_copy_can_be_read_alone(root: Path, tmp_path: Path) -> None:
    (root / "public").rename(tmp_path / "copy-public")
    (tmp_path / "alone").mkdir()
    (tmp_path / "copy-public").rename(tmp_path / "alone" / "public")
    release = read_release(tmp_path / "alone")
    with pytest.raises(ReleaseError, match=r"private.*manifest\.json"):
        release.references()


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_an_altered_file_is_refused(root: Path) -> None:
    with (root / "public" / "questions.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(ReleaseError, match=r"questions\.jsonl has SHA-256"):
        read_release(root)


def test_an_unknown_major_version_is_refused_and_a_minor_one_is_not(root: Path) -> None:
    edit(root / "public" / "manifest.json", format_version="1.7", news=True)
    assert read_release(root).questions
    edit(root / "public" / "manifest.json", format_version="2.0")
    with pytest.raises(ReleaseError, match=r"format version 2\.0"):
        read_release(root)


def test_a_manifest_cannot_name_files_outside(root: Path) -> None:
    edit(root / "public" / "manifest.json", files={"../private/references.jsonl": "0" * 64})
    with pytest.raises(ReleaseError, match="outside"):
        read_release(root)


@pytest.mark.parametrize(
    ("questions", "references", "fault"),
    [
        ([question("q1", episode_id="e9")], [ReferenceRow(id="q1", answer="A")], "'e9' is not in"),
        ([question("q1")], [ReferenceRow(id="q1", answer="D")], "does not fit"),
        ([question("q1")], [ReferenceRow(id="q1", answer=["A", "B"])], "does not fit"),
        ([question("q1")], [], "q1: has no reference"),
        (
            [question("q1", "multiple")],
            [ReferenceRow(id="q1", answer=["A", "B", "C"])],
            "fewer than all",
        ),
        ([question("q1", "open")], [ReferenceRow(id="q1", answer="x")], "required key point"),
        (
            [question("q1")],
            [ReferenceRow(id="q1", answer="A", cues=(CUE.model_copy(update={"end": 30}),))],
            "cue 0 lies outside",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path,
    questions: list[QuestionRow],
    references: list[ReferenceRow],
    fault: str,
) -> None:
    write_release(tmp_path, FACTS, questions, [episode()], references)
    with pytest.raises(ReleaseError, match=fault):
        read_release(tmp_path).references()


def test_options_must_fit_the_format() -> None:
    with pytest.raises(ValueError, match="option ids repeat"):
        question("q", options=(OPTIONS[0], OPTIONS[0]))
    with pytest.raises(ValueError, match="has 0 options"):
        question("q", options=())
