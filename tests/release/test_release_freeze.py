"""Freezing: the same rows give the same bytes, whole or not at all, and no secret is public."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from psychemme.errors import ReleaseError
from psychemme.release import write
from psychemme.release.faults import Fault, Rule
from psychemme.release.freeze import (
    ReleaseFacts,
    ReleaseRefused,
    ReviewFacts,
    derived_canary,
    write_frozen,
)
from psychemme.release.read import Release, read_release
from psychemme.release.statistics import Composition
from psychemme.release.verify import verify_release
from psychemme.vocabulary import Capability, DurationBand, Format
from tests.support.releases import FACTS, make_rows

SAID = ReleaseFacts.model_validate(FACTS)
UNANIMOUS = Fault(file="review", where="q0007", rule=Rule.REVIEW, problem="4 of 5 approve")
HOSTILE = "<script>x</script> | $y_1$ `z` [a](b)\n# =1+1 \x1b[31m 日常"


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("frozen") / "release"
    write_frozen(root, SAID, *make_rows())
    return root


def test_the_same_rows_in_any_order_give_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    rows = [held[::-1] for held in make_rows()]
    write_frozen(tmp_path / "again", SAID, *rows)  # type: ignore[arg-type]
    assert files(tmp_path / "again") == files(whole)


def test_every_file_carries_the_canary_and_no_public_one_a_reference(whole: Path) -> None:
    for name, data in files(whole).items():
        assert SAID.canary.encode() in data, name
        if not name.startswith("private/"):
            assert b"PRIVATE" not in data
            assert not name.startswith("public/") or b'"answer"' not in data


def test_both_manifests_name_every_file_of_their_part(whole: Path) -> None:
    for part in ("public", "private"):
        held = {path.relative_to(whole / part).as_posix() for path in (whole / part).rglob("*.*")}
        said = json.loads((whole / part / "manifest.json").read_text())
        assert said["files"].keys() | {"manifest.json"} == held
        assert said["counts"]["questions"] == 24


@pytest.mark.usefixtures("undrawn")
def test_a_target_that_holds_something_is_refused(whole: Path, tmp_path: Path) -> None:
    before = files(whole)
    with pytest.raises(ReleaseError, match="is not empty"):
        write_frozen(whole, SAID, *make_rows())
    assert files(whole) == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="not a folder"):
        write_frozen(tmp_path / "file", SAID, *make_rows())
    (tmp_path / "empty").mkdir()
    write_frozen(tmp_path / "empty", SAID, *make_rows())
    assert verify_release(tmp_path / "empty").faults == ()


@pytest.mark.usefixtures("undrawn")
def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(write.Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_frozen(tmp_path / "out", SAID, *make_rows())
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden names as well


def test_every_reason_is_listed_and_nothing_written(tmp_path: Path) -> None:
    questions, episodes, references = make_rows()
    episodes[0] = episodes[0].model_copy(update={"licence": None, "end": 30.0})
    references[0] = references[0].model_copy(update={"answer": "Z"})
    facts = SAID.model_copy(update={"example": False})
    with pytest.raises(ReleaseRefused) as refused:
        write_frozen(
            tmp_path / "out", facts, questions, episodes, references[:-1], faults=[UNANIMOUS]
        )
    assert {(fault.where, fault.rule) for fault in refused.value.faults} == {
        ("source test", Rule.LICENCE),
        ("e0000", Rule.WINDOW),
        ("q0000", Rule.ANSWER),
        ("q0023", Rule.LINK),
        ("", Rule.REVIEW),
        ("q0007", Rule.REVIEW),
    }
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("review", "refused"),
    [
        (None, True),
        (ReviewFacts(reviewers_per_item=0, items_reviewed=0), True),
        (ReviewFacts(reviewers_per_item=5, items_reviewed=40, demonstration=True), True),
        (ReviewFacts(reviewers_per_item=5, items_reviewed=40), False),
    ],
)
def test_only_an_example_may_be_unreviewed(
    tmp_path: Path, review: ReviewFacts | None, refused: bool
) -> None:
    facts = SAID.model_copy(update={"example": False, "review": review})
    if refused:
        with pytest.raises(ReleaseRefused, match="example release"):
            write_frozen(tmp_path / "out", facts, *make_rows())
    else:
        write_frozen(tmp_path / "out", facts, *make_rows())
        assert "40 items went to review" in (tmp_path / "out/public/README.md").read_text()


def test_no_question_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="there is no question"):
        write_frozen(tmp_path / "out", SAID, [], [], [])


@pytest.mark.usefixtures("undrawn")
def test_a_version_has_three_numbers(tmp_path: Path) -> None:
    write_frozen(tmp_path / "out", SAID.model_copy(update={"version": "1.0"}), *make_rows())
    assert read_release(tmp_path / "out").manifest.version == "1.0.0"
    with pytest.raises(ReleaseError, match="is not a version"):
        write_frozen(tmp_path / "no", SAID.model_copy(update={"version": "one"}), *make_rows())


@pytest.mark.usefixtures("undrawn")
def test_more_public_files_are_made_from_the_release(tmp_path: Path) -> None:
    def more(release: Release) -> dict[str, bytes]:
        assert (release.root / "public" / "README.md").exists()
        return {"more.json": json.dumps([release.manifest.canary, *release.questions]).encode()}

    write_frozen(tmp_path / "out", SAID, *make_rows(), more=more)
    assert "more.json" in read_release(tmp_path / "out").manifest.files
    assert verify_release(tmp_path / "out").faults == ()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in which every free text of curators and sources is hostile."""
    questions, episodes, references = make_rows()
    texts = {"source": HOSTILE, "licence": HOSTILE, "consent": HOSTILE, "url": "javascript:x"}
    episodes = [row.model_copy(update=texts) for row in episodes]
    questions = [row.model_copy(update={"subcategory": HOSTILE}) for row in questions]
    facts = SAID.model_copy(update={"name": HOSTILE, "citation": "```\n<script>", "gates": {}})
    root = tmp_path_factory.mktemp("hostile") / "release"
    write_frozen(root, facts, questions, episodes, references)
    return root


def test_a_hostile_text_is_no_markup_in_the_card(hostile: Path) -> None:
    text = (hostile / "public" / "README.md").read_text()
    body, fenced = text.split("---", 2)[2].split("````", 1)
    assert "<script>" not in body.replace("\\<script\\>", "")
    assert "(b)" not in body.replace("\\[a\\](b)", "")
    assert "\x1b" not in text
    assert fenced.startswith("\n```\n<script>\n````")
    row = next(line for line in body.splitlines() if "javascript" in line)
    assert row.replace("\\|", "").count("|") == 7
    assert yaml.safe_load(text.split("---")[1])["pretty_name"] == f"{HOSTILE} 1.0.0"


def test_a_hostile_text_is_text_in_figures_and_tables(hostile: Path) -> None:
    for path in (hostile / "public" / "figures").iterdir():
        names = {element.tag.split("}")[1] for element in ElementTree.parse(path).iter()}
        assert "script" not in names
    table = list(csv.DictReader((hostile / "public" / "licences.csv").open(newline="")))
    assert [row["source"] for row in table] == [HOSTILE]
    assert verify_release(hostile).faults == ()


@pytest.mark.usefixtures("undrawn")
def test_no_text_ends_a_row_of_the_table_or_is_computed(tmp_path: Path) -> None:
    questions, episodes, references = make_rows()
    given = {
        "source": '=HYPERLINK("x")\rX',
        "licence": "CC0\r=1+1",
        "consent": '-\n,;\t"',
        "url": "@x",
    }
    episodes = [row.model_copy(update=given) for row in episodes]
    write_frozen(tmp_path / "out", SAID, questions, episodes, references)
    path = tmp_path / "out/public/licences.csv"
    (row,) = csv.DictReader(path.open(newline="", encoding="utf-8"))
    formula = {"source", "consent", "url"}
    assert {name: row[name] for name in given} == {
        name: f"'{text}" if name in formula else text for name, text in given.items()
    }
    assert read_release(tmp_path / "out").episodes["e0000"].source == given["source"]


@pytest.mark.usefixtures("undrawn")
def test_the_table_of_licences_has_a_row_for_each_terms(tmp_path: Path) -> None:
    questions, episodes, references = make_rows()
    episodes[0] = episodes[0].model_copy(update={"licence": "CC-BY-4.0", "url": "https://x.org/"})
    write_frozen(tmp_path / "out", SAID, questions, episodes, references)
    text = (tmp_path / "out/public/licences.csv").read_text()
    rows = [list(row.values())[:-1] for row in csv.DictReader(io.StringIO(text))]
    assert rows == [
        ["test", "CC-BY-4.0", "synthetic", "https://x.org/", "1", "3"],
        ["test", "CC0-1.0", "synthetic", "", "1", "21"],
    ]
    assert "| <https://x.org/> |" in (tmp_path / "out/public/README.md").read_text()


def test_the_composition_is_counted_from_public_rows(whole: Path) -> None:
    questions, episodes, _ = make_rows(7)
    episodes[1] = episodes[1].model_copy(update={"duration": 30.001})
    held = Composition(questions, episodes)
    assert held.formats == {Format.SINGLE: 3, Format.MULTIPLE: 2, Format.OPEN: 2}
    assert held.cells["test", Capability.GROUNDING, Format.SINGLE] == 1
    assert held.bands == {
        DurationBand.SHORT: (2, 4),
        DurationBand.MEDIUM: (1, 3),
        DurationBand.LONG: (0, 0),
    }
    assert held.lengths[Format.MULTIPLE] == (7, 7)
    said = json.loads((whole / "public" / "statistics.json").read_text())
    assert said["episode_seconds"]["sum"] == 160.0
    assert said["frequent_words"] == [["asked", 24], ["scene", 24]]


def test_a_canary_is_the_same_for_all_versions() -> None:
    assert derived_canary("a") == derived_canary("a") != derived_canary("b")
    with pytest.raises(ValueError, match="canary"):
        ReleaseFacts(name="a", version="1.0.0", profile="p", canary="--> <script>")
