"""From files and labels to what `score` and `compare` print."""

import json
import re
from pathlib import Path

import pytest

from evaluation.file_lines import LINES
from evaluation.judge import reference_digest
from evaluation.responses import Outcome
from evaluation.score import ScoredRun, refuse_unscored, score_files
from evaluation.score_json import as_json, compare_runs
from evaluation.scoring import EvidenceSupport, LogicalIntegrity, ScoringError
from psychemme.cli.tables import interval_text
from psychemme.errors import ConfigError
from psychemme.release.read import read_release
from psychemme.vocabulary import Capability, Format
from tests.support.releases import make_release

DOCS = Path(__file__).resolve().parents[2] / "docs" / "release-format.md"
TWO = (Capability.GROUNDING, Capability.TIMING)
RIGHT = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: "hold the ladder"}
SAID = "the request is said at 1 s"
LABELS = {
    "evidence_support": "normal",
    "logical_integrity": "acceptable",
    "evidence_reason": "shown",
    "logic_reason": "follows",
}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return make_release(tmp_path / "release", 12, TWO)


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def responses(release: Path, model: str = "m", wrong: int = 0, **fields: object) -> list[dict]:
    found = []
    for number, row in enumerate(read_release(release).questions.values()):
        answer = RIGHT[row.format] if number >= wrong else "D"
        raw = json.dumps({"answer": answer, "G": SAID} | fields)
        found.append({"item_id": row.id, "model": model, "condition": "full", "raw": raw})
    return found


def judgements(release: Path, model: str = "m") -> list[dict]:
    return [
        {"item_id": row.id, "model": model, "condition": "full"}
        | LABELS
        | {"answer_credit": None if row.format.is_choice else 1}
        for row in read_release(release).questions.values()
    ]


def scored(release: Path, rows: list[dict], labels: list[dict] | None = None) -> ScoredRun:
    labels = judgements(release) if labels is None else labels
    folder = release.parent
    files = write(folder / "r.jsonl", rows), write(folder / "j.jsonl", labels)
    (found,) = score_files(release, *files)
    return found


def test_all_right_with_ordinary_labels(release: Path) -> None:
    shown = as_json(scored(release, responses(release)), intervals=True)
    assert list(shown["capabilities"]) == ["G", "T"]
    assert (shown["model"], shown["condition"], shown["n"]) == ("m", "full", 12)
    assert shown["raw"] == 100
    assert shown["verified"] == pytest.approx(100 / 1.44)
    assert shown["failures"] == {}
    for place in (shown, *shown["capabilities"].values()):
        assert place["raw_ci"] == [100, 100]
        assert place["verified_ci"] == pytest.approx([100 / 1.44] * 2)
    assert shown["capabilities"]["G"]["retention"] == pytest.approx(100 / 1.44)


def test_parsed_fields_stand_for_a_raw_reply(release: Path) -> None:
    rows = responses(release)
    for row in rows:
        row |= json.loads(row.pop("raw"))
    assert scored(release, rows).items == scored(release, responses(release)).items


def test_the_lines_of_the_documentation_are_read(release: Path) -> None:
    fences = re.findall(r"^```jsonl\n(.*?)^```$", DOCS.read_text("utf-8"), re.M | re.S)
    kinds = ("response", "judgement")
    for kind, lines in zip(kinds, fences, strict=True):
        (release.parent / f"{kind}.jsonl").write_text(lines)
        known = LINES[kind].model_fields.keys() | set(Capability)
        for line in lines.splitlines():
            LINES[kind].model_validate_json(line)
            assert json.loads(line).keys() <= known
            assert all(f"`{field}`" in DOCS.read_text("utf-8") for field in known)
    (found,) = score_files(release, *(release.parent / f"{kind}.jsonl" for kind in kinds))
    shown = [(one.a, one.c, one.support, one.logic) for one in found.items[:4]]
    assert shown == [
        (1, 1, "strong", "acceptable"),
        (1, 1, None, None),
        (0.5, 1, "weak", "fully_coherent"),
        (0, 0, None, None),
    ]
    assert found.failures == {"declined": 1}
    assert found.unscored == {"missing": 8, "not_judged": 1}


def test_the_schemas_take_what_is_read_and_name_every_label(release: Path) -> None:
    for line, kind in zip((responses(release), judgements(release)), LINES, strict=True):
        for row in line:
            LINES[kind].model_validate(row)
    text = DOCS.read_text("utf-8")
    for kind in (EvidenceSupport, LogicalIntegrity, Outcome):
        assert all(f"`{value}`" in text for value in kind)


def test_no_judgement_changes_a_choice_answer(release: Path) -> None:
    rows, labels = responses(release, wrong=2), judgements(release)
    found = {item.item_id: item for item in scored(release, rows, labels).items}
    assert [found[row["item_id"]].a for row in rows[:2]] == [0.0, 0.0]
    labels[0]["answer_credit"] = 1
    with pytest.raises(ScoringError, match="choice item with an `answer_credit`"):
        scored(release, rows, labels)


def test_what_the_model_is_to_blame_for_scores_zero_and_is_counted(release: Path) -> None:
    rows = responses(release)
    rows[0]["raw"] = "I'm sorry, but I can't help with that."
    rows[1] |= {"raw": '{"answer": "A', "finish_reason": "length"}
    rows[2]["raw"] = ""
    found = scored(release, rows, judgements(release)[3:])
    assert found.failures == {"empty": 1, "refusal": 1, "truncated": 1}
    assert found.unscored == {}
    assert len(found.items) == 12
    assert sum(item.a for item in found.items) == 9


def test_a_missing_rationale_needs_no_judge_but_an_open_answer_does(release: Path) -> None:
    found = scored(release, responses(release, G=None), [])
    count = sum(not q.format.is_choice for q in read_release(release).questions.values())
    assert found.unscored == {"not_judged": count}
    assert all(item.v == 0 for item in found.items if item.scored)


def test_unscored_items_stop_scoring_or_give_bounds(release: Path) -> None:
    rows = responses(release)[:-1]
    found = scored(release, rows, judgements(release)[:-1])
    assert found.unscored == {"missing": 1}
    with pytest.raises(ScoringError, match=r"1 of 12 items are unscored \(missing 1\)"):
        refuse_unscored([found])
    with pytest.raises(ScoringError, match=r"(?s)^(?!.*--allow-unscored)"):
        refuse_unscored([found], has_bounds=False)
    shown = as_json(found, intervals=True)
    assert shown["raw"] is None
    low, high = shown["raw_bounds"]
    assert (high, shown["raw_ci"]) == (100, None)
    assert 0 < low < high
    assert shown["capabilities"]["G"]["raw"] == 100
    assert shown["unscored"] == {"missing": 1}


def test_missing_judgements_leave_raw_of_choice_items_known(release: Path) -> None:
    choice = make_release(release.parent / "choice", 2, TWO)  # items 0 and 1 are choice items
    shown = as_json(scored(choice, responses(choice), []))
    assert shown["raw"] == 100
    assert shown["verified_bounds"] == [0, 100]


def test_an_undeclared_subset_has_no_macro(release: Path) -> None:
    found = scored(release, responses(release))
    half = ScoredRun(**vars(found) | {"items": found.items[::2]})
    shown = as_json(half)
    assert shown["raw"] is None
    assert shown["capabilities"]["T"] == {
        "n": 0, "raw": None, "verified": None, "retention": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"item_id": "nobody"}, "no item 'nobody'"),
        ({"model": ""}, "lacks"),
        ({"raw": 3}, "no text"),
        ({"raw": None}, "neither"),
        ({"raw": None, "outcome": "odd"}, "outcome"),
        ({"finish_reason": 3}, "finish_reason"),
        ({"raw": None, "answer": "A", "rationales": "oops"}, "rationales"),
        ({"raw": None, "answer": "A", "rationales": []}, "rationales"),
    ],
)
def test_a_faulty_line_is_named(release: Path, change: dict, fault: str) -> None:
    rows = responses(release)
    rows[4] |= change
    with pytest.raises(ScoringError, match=rf"r.jsonl:5.*{fault}"):
        scored(release, rows)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answer_credit": "1"}, "answer_credit"),
        ({"answer_credit": True}, "answer_credit"),
        ({"answer_credit": 0.7}, "answer_credit"),
        ({"evidence_reason": 5}, "evidence_reason"),
        ({"repeat": "0"}, "repeat"),
        ({"judge": None}, "judge"),
    ],
)
def test_a_faulty_judgement_is_named(release: Path, change: dict, fault: str) -> None:
    labels = judgements(release)
    place = next(n for n, row in enumerate(labels) if row["answer_credit"] is not None)
    labels[place] |= change
    with pytest.raises(ScoringError, match=rf"j.jsonl:{place + 1}.*{fault}"):
        scored(release, responses(release), labels)


def test_one_judge_of_several_is_chosen(release: Path) -> None:
    def by(judge: str, repeat: int, **labels: object) -> list[dict]:
        who = {"judge": judge, "repeat": repeat}
        return [row | who | labels for row in judgements(release)]

    strong = {"evidence_support": "strong"}
    found = [*by("x", 0), *by("y", 0, **strong), *by("y", 1)]
    files = (
        write(release.parent / "r.jsonl", responses(release)),
        write(release.parent / "j.jsonl", found),
    )
    with pytest.raises(ConfigError, match="judged by x, y"):
        score_files(release, *files)
    support = {
        key: {item.support for item in score_files(release, *files, *key)[0].items}
        for key in (("x", 0), ("y", 0), ("y", 1))
    }
    assert support == {("x", 0): {"normal"}, ("y", 0): {"strong"}, ("y", 1): {"normal"}}
    (unjudged,) = score_files(release, *files, "x", 1)
    assert unjudged.unscored == {"not_judged": 12}


def test_a_judgement_under_another_reference_is_none(release: Path) -> None:
    references = read_release(release).references()
    labels = [
        row | {"reference": reference_digest(references[row["item_id"]])}
        for row in judgements(release)
    ]
    assert scored(release, responses(release), labels).unscored == {}
    labels[0]["reference"] = "0" * 64
    assert scored(release, responses(release), labels).unscored == {"not_judged": 1}


def test_undefined_draws_are_told(release: Path) -> None:
    found = scored(release, responses(release, wrong=3))
    # T stands in one episode of these four: undefined in the draws without it.
    items = [i for i in found.items if i.capability == "G" or i.episode_id == "e0000"]
    shown = as_json(ScoredRun(**vars(found) | {"items": tuple(items)}), intervals=True)
    assert shown["capabilities"]["G"]["raw_excluded"] == 0
    assert shown["capabilities"]["T"]["raw_excluded"] == pytest.approx((3 / 4) ** 4, abs=0.02)
    assert interval_text([1.0, 2.0], 0.04) == " [1.0, 2.0]"
    assert interval_text(shown["capabilities"]["T"]["raw_ci"], 0.31).endswith("]†")
    assert interval_text(None, 0.51) == " [withheld]†"


def test_rows_are_joined_by_id_and_stand_once(release: Path) -> None:
    rows, labels = responses(release, wrong=3), judgements(release)
    found = scored(release, rows, labels)
    assert scored(release, rows[::-1], labels[::-1]).items == found.items
    with pytest.raises(ScoringError, match="stands twice"):
        scored(release, [*rows, rows[0]])
    with pytest.raises(ScoringError, match="judged twice"):
        scored(release, rows, [*labels, labels[0]])
    with pytest.raises(ScoringError, match="no response"):
        scored(release, rows, judgements(release, "stranger"))
    (release.parent / "r.jsonl").write_text("{")
    with pytest.raises(ScoringError, match=r"r.jsonl:1 is not JSON"):
        score_files(release, release.parent / "r.jsonl", None)


def test_differences_are_paired(release: Path) -> None:
    one = scored(release, responses(release))
    other = scored(release, responses(release, wrong=6))
    shown = compare_runs(one, other)
    assert shown["n"] == 12
    assert shown["differences"]["overall"]["raw"]["difference"] == pytest.approx(100 / 3)
    low, high = shown["differences"]["overall"]["raw"]["ci"]
    assert low < 100 / 3 < high
    same = compare_runs(one, one)["differences"]["G"]["verified"]
    assert (same["difference"], same["ci"]) == (0, [0, 0])
    stranger = ScoredRun(**vars(other) | {"checksum": "x"})
    with pytest.raises(ScoringError, match="different releases"):
        compare_runs(one, stranger)


def test_the_same_inputs_give_the_same_bytes(release: Path) -> None:
    def text() -> str:
        return json.dumps(as_json(scored(release, responses(release, wrong=5)), intervals=True))

    assert text() == text()
