"""What history does: seeds averaged within items, one cohort, and differences from matched."""

import pytest

from evaluation.analyses.history import analyse
from evaluation.analyses.values import NotApplicable
from evaluation.inputs import InputPolicy
from evaluation.scoring import ScoringError
from tests.support.studies import Item, Said, study_of

WRONG = Said("B")
PAST = {"history": [{"text": "She asked before.", "before": 60.0}]}


def run(history="matched", seed=None, model="m", **more):
    return {
        "model": model,
        "policy": InputPolicy(history=history, history_seed=seed, **more),
    }


RUNS = {
    "m": run(),
    "m none": run("none"),
    "m 42": run("mismatched", 42),
    "m 2026": run("mismatched", 2026),
}
ANSWERS = {
    "m": (Said(), Said(), Said(), WRONG),
    "m none": (Said(), WRONG, WRONG),
    "m 42": (Said(), WRONG, Said()),
    "m 2026": (WRONG, WRONG, Said(support="weak")),
}


def study(runs=RUNS, answers=ANSWERS, **more):
    """q1 to q3 are Memory items of three episodes with a history; q4 is another capability's."""
    places = (("q1", "e1", "M"), ("q2", "e2", "M"), ("q3", "e3", "M"), ("q4", "e4", "T"))
    items = [
        Item(name, episode, capability, "single", "A",
             {run: said[n] for run, said in answers.items() if n < len(said)})
        for n, (name, episode, capability) in enumerate(places)
    ]  # fmt: skip
    past = dict.fromkeys(("q1", "q2", "q3"), PAST)
    return study_of(items, runs=runs, questions=past, **more)


def points(row):
    return [None if cell is None else cell.point for cell in row[3:]]


def rows(analysis, nth=0):
    return {row[1].partition(" ")[0]: row for row in analysis.tables[nth].rows}


def test_seeds_are_averaged_within_items():
    analysis = analyse(study())
    found = rows(analysis)
    assert [row[2] for row in found.values()] == [3, 3, 3]
    assert points(found["matched"]) == [1, 1, None, None]
    assert points(found["none"]) == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    # q1 (1 + 0) / 2, q2 0, q3 (1 + 1) / 2 raw and (1 + 2/3) / 2 verified: means 1/2 and 4/9.
    assert points(found["mismatched"]) == pytest.approx([1 / 2, 4 / 9, 1 / 2, 5 / 9])
    assert found["mismatched"][1] == "mismatched (mean of seeds 42, 2026)"
    by_seed = rows(analysis, 1)
    assert points(by_seed["42"])[:2] == pytest.approx([2 / 3, 2 / 3])
    assert points(by_seed["2026"]) == pytest.approx([1 / 3, 2 / 9, 2 / 3, 7 / 9])
    assert "3407" in analysis.notes[-1]
    assert "3 episodes" in analysis.notes[1]


def test_the_average_is_drawn_once():
    # The seeds disagree on every item, and their mean is 1/2 on each: no draw differs.
    answers = {
        "m": (Said(), Said(), Said()),
        "m 42": (Said(), WRONG, Said()),
        "m 2026": (WRONG, Said(), WRONG),
    }
    runs = {name: RUNS[name] for name in answers}
    mean = rows(analyse(study(runs, answers)))["mismatched"]
    assert [(cell.low, cell.high) for cell in mean[3:]] == [(0.5, 0.5)] * 4


def test_models_and_other_conditions_are_apart():
    runs = {
        **RUNS,
        "k": run(model="k"),
        "k none": run("none", model="k"),
        "k asr none": run("none", model="k", condition="asr-only"),
    }
    answers = {**ANSWERS, "k": ANSWERS["m"], "k none": ANSWERS["m"][:3]}
    answers["k asr none"] = ANSWERS["m"][:3]
    found = analyse(study(runs, answers)).tables[0].rows
    assert [row[0] for row in found] == ["m"] * 3 + ["k"] * 2
    assert points(found[-1]) == [1, 1, 0, 0]


def test_a_mismatch_without_a_seed_is_left_out():
    runs = {**RUNS, "m ?": run("mismatched")}
    answers = {**ANSWERS, "m ?": ANSWERS["m"][:3]}
    assert rows(analyse(study(runs, answers))) == rows(analyse(study()))


def test_an_unscored_item_outside_the_cohort_does_not_matter():
    answers = {**ANSWERS, "m": (*ANSWERS["m"][:3], Said(support=None))}
    assert rows(analyse(study(RUNS, answers))) == rows(analyse(study()))
    answers = {**ANSWERS, "m": (Said(support=None), *ANSWERS["m"][1:])}
    with pytest.raises(ScoringError, match=r"1 of \d+ items are unscored"):
        analyse(study(RUNS, answers))


def test_faults_are_named():
    with pytest.raises(NotApplicable, match="matched history and one with none"):
        analyse(study({"m": run()}, {"m": ANSWERS["m"]}))
    answers = {**ANSWERS, "m none": ANSWERS["m none"][:2]}
    with pytest.raises(ScoringError, match="differ in 1 items, such as q3"):
        analyse(study(RUNS, answers))
    answers = {**ANSWERS, "m": ANSWERS["m"][:2]}
    with pytest.raises(ScoringError, match="m lacks 1 of the items"):
        analyse(study(RUNS, answers))
    with pytest.raises(ScoringError, match="m none and m 42 are of one model"):
        analyse(study({**RUNS, "m 42": RUNS["m none"]}))
    items = [Item("q1", "e1", "M", "single", "A", {"m": Said(), "m none": Said()})]
    with pytest.raises(NotApplicable, match="No Memory item has a history"):
        analyse(study_of(items, runs=RUNS))
