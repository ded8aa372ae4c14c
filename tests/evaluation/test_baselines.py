"""Baselines: what they may know, and what chance earns."""

import json
from pathlib import Path

import pytest

from evaluation.baselines import (
    BASELINES,
    expected_accuracy,
    majority_positions,
    most_frequent_answers,
    possible_answers,
    random_answers,
    reply_text,
)
from evaluation.responses import parse_response
from psychemme.answers import fits, same_choice
from psychemme.release.read import Release, read_release
from psychemme.vocabulary import Capability, Format
from tests.support.releases import make_release, question


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return read_release(make_release(tmp_path_factory.mktemp("release"), 90))


@pytest.mark.parametrize("name", BASELINES)
def test_every_answer_fits_its_question_and_explains_nothing(release: Release, name: str) -> None:
    answers = BASELINES[name](release, 42)
    assert answers.keys() == release.questions.keys()
    assert answers == BASELINES[name](release, 42)
    for row in release.questions.values():
        answer = answers[row.id]
        parsed = parse_response(reply_text(answer), "stop", row.format, row.options)
        assert not any(parsed.rationales.values())
        if answer is None:
            assert parsed.reason == "no_answer"
        else:
            assert parsed.answer == answer
            assert fits(row.format, answer, [option.id for option in row.options])
        if name != "signal":
            assert (answer is None) is (row.format is Format.OPEN)


def test_chance_earns_its_expected_accuracy(release: Release) -> None:
    references = release.references()
    choice = [q for q in release.questions.values() if q.format.is_choice]
    seeds = 200
    right = sum(
        same_choice(q.format, answers[q.id], references[q.id].answer)
        for answers in (random_answers(release, seed) for seed in range(seeds))
        for q in choice
    )
    expected = expected_accuracy(choice)
    assert right / (seeds * len(choice)) == pytest.approx(expected, abs=0.02)
    assert expected_accuracy([]) is None


def test_a_multiple_answer_is_a_proper_set_of_two_or_more() -> None:
    row = question(0, Capability.GROUNDING, Format.MULTIPLE)
    sets = possible_answers(row)
    assert len(sets) == 6 + 4
    assert {len(one) for one in sets} == {2, 3}
    assert possible_answers(question(0, Capability.GROUNDING, Format.OPEN)) == []


@pytest.mark.parametrize("baseline", [majority_positions, most_frequent_answers])
def test_a_baseline_never_uses_the_answers_of_its_own_episode(
    release: Release, baseline, tmp_path: Path
) -> None:
    """Changing the references of one episode changes no answer of that episode."""
    before = baseline(release, 0)
    path = make_release(tmp_path / "changed", 90) / "private" / "references.jsonl"
    changed = read_release(tmp_path / "changed")
    mine = {q.id for q in changed.questions.values() if q.episode_id == "e0000"}
    references = {
        name: row.model_copy(update={"answer": "D"}) if name in mine and row.answer == "A" else row
        for name, row in changed.references().items()
    }
    assert path.exists()
    object.__setattr__(changed, "references", lambda: references)
    after = baseline(changed, 0)
    assert {name: after[name] for name in mine} == {name: before[name] for name in mine}


def test_positions_and_answers_are_those_most_often_right(release: Release) -> None:
    for baseline in (majority_positions, most_frequent_answers):
        answers = baseline(release, 0)
        expected = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: None}
        assert all(answers[q.id] == expected[q.format] for q in release.questions.values())


def test_the_longest_option_is_taken(release: Release) -> None:
    answers = BASELINES["longest-option"](release, 0)
    expected = {Format.SINGLE: "B", Format.MULTIPLE: ["A", "B"], Format.OPEN: None}
    assert all(answers[q.id] == expected[q.format] for q in release.questions.values())


def test_signal_sees_what_a_model_may_see_and_no_reference(
    release: Release, tmp_path: Path
) -> None:
    public = make_release(tmp_path / "release", 90)
    for file in (public / "private").iterdir():
        file.unlink()
    assert BASELINES["signal"](read_release(public), 0) == BASELINES["signal"](release, 0)
    assert json.loads(reply_text("A"))["G"] is None
