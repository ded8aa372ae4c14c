"""Reviews go to Label Studio and come back whole, with their reviewers, or are refused by name."""

import json
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction.exports.label_studio import (
    LabelledVote,
    ReviewTask,
    read_label_studio,
    write_tasks,
    write_votes,
)
from psychemme.errors import UserError
from psychemme.items import Option
from psychemme.release.rows import Line
from psychemme.vocabulary import Format
from psychology_kb.load import load_review, profiles

FORM = load_review(profiles()[-1])
TASK = ReviewTask(
    candidate_id="c1",
    version=2,
    question='<View> & "who"?',
    options=(Option(id="A", text="hold. it"), Option(id="B", text="<b>leave</b>")),
    format=Format.SINGLE,
    video="/data/local-files/?d=videos/e1.mp4",
    transcript=(Line(start=1, end=2.5, text="Hold\nit."),),
    reference="Answer: B, SECRET",
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


@st.composite
def votes(draw):
    kind = draw(st.sampled_from(["answer", "vote", "skip"]))
    key = {
        "candidate_id": draw(st.sampled_from(["c1", "c2"])),
        "version": draw(st.integers(1, 2)),
        "reviewer": draw(st.sampled_from(["r1@lab", "r2@lab", "7", "Ægir <x>"])),
        "comment": draw(TEXT | st.just("")),
    }
    ids = st.sets(st.sampled_from("ABCD"), min_size=1).map(lambda found: tuple(sorted(found)))
    if kind == "answer":
        return LabelledVote(**key, blind_answer=draw(ids | TEXT))
    if kind == "skip":
        return LabelledVote(**key, skipped=str(FORM.skip_reasons[0].id))
    said = {str(v.id): draw(st.sampled_from(["approve", "reject"])) for v in FORM.verdicts}
    reasons = {
        str(v.id): tuple(
            sorted(draw(st.sets(st.sampled_from([r.id for r in v.reject_reasons]), min_size=1)))
        )
        for v in FORM.verdicts
        if said[str(v.id)] == "reject"
    }
    return LabelledVote(
        **key, verdicts=said, reasons=reasons, blind_answer=draw(st.none() | ids | TEXT)
    )


@given(st.lists(votes(), max_size=6, unique_by=lambda vote: vote.key))
def test_what_is_written_is_read_back(tmp_path_factory, cast):
    path = tmp_path_factory.mktemp("votes") / "votes.json"
    write_votes(cast, path)
    assert read_label_studio(path) == sorted(cast, key=lambda vote: vote.key)
    again = path.with_name("again.json")
    write_votes(reversed(cast), again)
    assert again.read_bytes() == path.read_bytes()


def test_tasks_of_step_one_hold_no_reference(tmp_path):
    write_tasks([TASK], FORM, tmp_path)
    for name in ("answer.json", "answer.xml"):
        assert "SECRET" not in (tmp_path / name).read_text("utf-8")
        assert "reference" not in (tmp_path / name).read_text("utf-8")
    (informed,) = json.loads((tmp_path / "verdict.json").read_bytes())
    assert informed["data"]["reference"] == TASK.reference


def test_without_references_there_is_no_second_step(tmp_path):
    write_tasks([ReviewTask(**vars(TASK) | {"reference": ""})], FORM, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "answer.xml"]


def test_the_configuration_asks_all_of_the_form_and_nothing_of_an_item(tmp_path):
    write_tasks([TASK], FORM, tmp_path)
    verdict = fromstring((tmp_path / "verdict.xml").read_text("utf-8"))
    asked = {tag.get("name"): tag for tag in verdict.iter("Choices")}
    for item in FORM.verdicts:
        assert [choice.get("alias") for choice in asked[item.id]] == ["approve", "reject"]
        reasons = asked[f"{item.id}_reasons"]
        assert [choice.get("alias") for choice in reasons] == [r.id for r in item.reject_reasons]
        assert reasons.get("whenTagName") == item.id
    assert TASK.question not in (tmp_path / "answer.xml").read_text("utf-8")
    (task,) = json.loads((tmp_path / "answer.json").read_bytes())
    assert task["data"]["question"] == TASK.question
    assert task["data"]["transcript"] == "[1-2.5] Hold it."


def exported(path, *annotations, **data):
    task = {"data": {"candidate_id": "c1", "version": 2} | data, "annotations": list(annotations)}
    path.write_text(json.dumps([task]), "utf-8")
    return path


def annotation(by=7, cancelled=False, **given):
    texts = ("comment", "answer_text")
    results = [
        {
            "id": "x",
            "from_name": name,
            "to_name": "question",
            "type": "textarea" if name in texts else "choices",
            "value": {"text" if name in texts else "choices": value},
        }
        for name, value in given.items()
    ]
    return {"completed_by": by, "result": results, "was_cancelled": cancelled, "lead_time": 3.2}


def test_the_two_steps_make_one_vote(tmp_path):
    one = exported(
        tmp_path / "1.json", annotation({"id": 7, "email": "r@lab"}, answer=["B. leave"])
    )
    two = exported(
        tmp_path / "2.json",
        annotation({"email": "r@lab"}, answer_correctness=["approve"], comment=["fine"]),
        annotation(8, cancelled=True),
    )
    whole = LabelledVote(
        "c1", 2, "r@lab", ("B",), {"answer_correctness": "approve"}, comment="fine"
    )
    skipped = LabelledVote("c1", 2, "8", skipped="unstated")
    assert read_label_studio(one, two) == read_label_studio(two, one) == [skipped, whole]


@pytest.mark.parametrize(
    ("fault", "annotations"),
    [
        ("voted twice", [annotation(answer=["A"]), annotation(answer=["B"])]),
        ("voted twice", [annotation(answer=["A"], v=["approve"]), annotation(v=["approve"])]),
        ("names no option", [annotation(answer=["hold it"])]),
        ("neither approve nor reject", [annotation(question_validity=["maybe"])]),
        ("reject of question_validity", [annotation(question_validity=["reject"])]),
        ("reasons for v and no verdict", [annotation(v_reasons=["x"])]),
        ("has 2 values", [annotation(v=["approve", "reject"])]),
        ("submitted nothing", [annotation()]),
        ("something else than texts", [annotation(answer=[1])]),
        ("something else than texts", [annotation(comment=[])]),
        ("without 'choices'", [annotation() | {"result": [
            {"from_name": "v", "type": "rating", "value": {"rating": 3}}]}]),
        ("'v' twice", [annotation(v=["reject"], v_reasons=["x"]) | {"result": [
            *annotation(v=["reject"])["result"], *annotation(v=["approve"])["result"]]}]),
        ("completed_by", [annotation(True, answer=["A"])]),
        ("completed_by", [annotation("7", answer=["A"])]),
        ("was_cancelled", [annotation(cancelled="yes", answer=["A"])]),
        ("names nobody", [annotation({"email": ""}, answer=["A"])]),
        ("completed_by", [{"result": []}]),
        ("annotations", [[]]),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_task(tmp_path, fault, annotations):
    path = exported(tmp_path / "export.json", *annotations)
    with pytest.raises(UserError, match=f"export.json: task 1.*{fault}"):
        read_label_studio(path)


@pytest.mark.parametrize("version", ["2", 2.0, True, None])
def test_a_version_of_another_type_is_refused(tmp_path, version):
    path = exported(tmp_path / "export.json", annotation(answer=["A"]), version=version)
    with pytest.raises(UserError, match="version"):
        read_label_studio(path)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"version": 2', '"version": 1, "version": 2', "stands twice"),
        ('"fine"', '"\\ud800"', "surrogate"),
        ('"fine"', "NaN", "finite"),
    ],
)
def test_what_readers_may_take_differently_is_refused(tmp_path, old, new, fault):
    path = exported(tmp_path / "export.json", annotation(comment=["fine"]))
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(UserError, match=rf"export\.json.*{fault}"):
        read_label_studio(path)


def test_a_task_of_no_version_says_so_and_its_votes_are_refused_by_name(tmp_path):
    write_tasks([ReviewTask(**vars(TASK) | {"version": None})], FORM, tmp_path)
    (task,) = json.loads((tmp_path / "answer.json").read_bytes())
    assert "version" not in task["data"]
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task | {"annotations": [annotation(answer=["A"])]}]), "utf-8")
    with pytest.raises(UserError, match=r"task 1.*'c1' does not say of which version it is"):
        read_label_studio(path)


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"data": {}}]', "[" * 100_000, "\xff"])
def test_what_is_no_export_is_refused(tmp_path, text):
    path = tmp_path / "export.json"
    path.write_text(text, "latin-1")
    with pytest.raises(UserError, match=r"export\.json"):
        read_label_studio(path)
    with pytest.raises(UserError, match=r"missing\.json"):
        read_label_studio(tmp_path / "missing.json")
