"""Number and choice of frames: changes from the largest number, and from as many spread evenly."""

import pytest

from evaluation.analyses.frames import analyse
from evaluation.analyses.values import NotApplicable
from evaluation.inputs import InputPolicy
from evaluation.scoring import ScoringError
from tests.support.studies import Item, Said, study_of

WRONG = Said("B")


def run(frames, keyframes="uniform", model="m", **more):
    policy = InputPolicy(frames=frames, keyframes=keyframes)
    return {"model": model, "policy": policy, **more}


RUNS = {"m8": run(8), "m0": run(0), "m8b": run(8, "bolt"), "m64": run(64)}
ANSWERS = {
    "m8": (Said(), WRONG, WRONG),
    "m0": (WRONG, WRONG, WRONG),
    "m8b": (Said(), Said(support="weak"), WRONG),
    "m64": (Said(), Said(), Said()),
}


def study(runs=RUNS, answers=ANSWERS):
    """q1 and q2 are G, q3 is T, in an episode each."""
    items = [
        Item(f"q{n}", f"e{n}", "GGT"[n - 1], "single", "A",
             {run: said[n - 1] for run, said in answers.items()})
        for n in (1, 2, 3)
    ]  # fmt: skip
    return study_of(items, runs=runs)


def points(row):
    return [None if cell is None else cell.point for cell in row[3:]]


def test_numbers_ascend_and_are_compared_with_the_largest():
    number, choice = analyse(study()).tables
    assert [row[:3] for row in number.rows] == [("m", "0", 3), ("m", "8", 3), ("m", "64", 3)]
    # 8 frames: G 1/2, T 0, macro 1/4; 64: 1.
    assert [points(row) for row in number.rows] == [
        [0, 0, -1, -1],
        [1 / 4, 1 / 4, -3 / 4, -3 / 4],
        [1, 1, None, None],
    ]
    # Chosen: G 1 and (1 + 2/3) / 2, T 0: macro 1/2 and 5/12, against 1/4 of as many evenly.
    assert choice.rows[0][:3] == ("m", "8", 3)
    assert points(choice.rows[0]) == pytest.approx([1 / 2, 5 / 12, 1 / 4, 1 / 6])


def test_a_choice_without_its_counterpart_has_no_change():
    runs = {"m4b": run(4, "bolt"), "m8": RUNS["m8"], "m64": RUNS["m64"]}
    answers = {"m4b": ANSWERS["m8b"], "m8": ANSWERS["m8"], "m64": ANSWERS["m64"]}
    _, choice = analyse(study(runs, answers)).tables
    assert points(choice.rows[0])[2:] == [None, None]


def test_one_number_chosen_in_two_ways_is_enough():
    pair = ("m8", "m8b")
    analysis = analyse(study({n: RUNS[n] for n in pair}, {n: ANSWERS[n] for n in pair}))
    assert points(analysis.tables[1].rows[0])[2] == pytest.approx(1 / 4)


def test_a_model_that_takes_fewer_is_named():
    runs = RUNS | {"m64": run(64, card={"name": "m", "images": {"most": 16}})}
    assert "m64 took 16 frames" in analyse(study(runs)).notes[-1]


def test_faults_are_named():
    with pytest.raises(NotApplicable, match="two runs that differ in their number"):
        analyse(study({"m": {"policy": InputPolicy()}, "k": run(4, model="k")},
                      {"m": ANSWERS["m8"], "k": ANSWERS["m8"]}))  # fmt: skip
    with pytest.raises(ScoringError, match="m8 and m0 are of one model"):
        analyse(study({**RUNS, "m0": RUNS["m8"]}))
