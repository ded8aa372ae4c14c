"""What inputs are worth: changes from full, paired by item, per capability and over all."""

import pytest

from evaluation.analyses.modality import analyse
from evaluation.analyses.values import NotApplicable
from evaluation.inputs import InputPolicy
from evaluation.scoring import ScoringError
from tests.support.studies import FAILED, Item, Said, study_of

WEAK = Said("A", support="weak")
WRONG = Said("B")


def run(model, condition, **more):
    return {"model": model, "policy": InputPolicy(condition=condition, **more)}


RUNS = {
    "m": run("m", "full"),
    "m asr": run("m", "asr-only"),
    "m blind": run("m", "question-only"),
    "k": run("k", "full"),
    "k still": run("k", "single-image"),
}


def items(**changed):
    """G has two items, T one; by run the answers of q1, q2 (G) and q3 (T)."""
    said = {
        "m": (Said(), Said(), Said()),
        "m asr": (Said(), WRONG, WEAK),
        "m blind": (FAILED, FAILED, FAILED),
        "k": (Said(), WRONG, Said()),
        "k still": (WRONG, Said(), Said()),
    } | changed
    places = (("q1", "e1", "G"), ("q2", "e2", "G"), ("q3", "e3", "T"))
    return [
        Item(name, episode, capability, "single", "A", {run: each[n] for run, each in said.items()})
        for n, (name, episode, capability) in enumerate(places)
    ]


def rows(analysis, nth=0):
    return {row[: 2 + nth]: row[2 + nth :] for row in analysis.tables[nth].rows}


def points(cells):
    return [None if cell is None else cell.point for cell in cells]


def test_changes_are_from_the_models_own_full_run():
    analysis = analyse(study_of(items(), runs=RUNS))
    found = rows(analysis)
    assert points(found["m", "full"][1:]) == [1, 1, None, None]
    # asr-only: G 1/2, T 1 raw and 0.8 / 1.2 verified; macro (1/2 + 1) / 2 and (1/2 + 2/3) / 2.
    assert points(found["m", "asr-only"][1:]) == pytest.approx([3 / 4, 7 / 12, -1 / 4, -5 / 12])
    assert points(found["m", "question-only"][1:]) == [0, 0, -1, -1]
    assert points(found["k", "single-image"][1:3]) == pytest.approx([3 / 4, 3 / 4])
    # q1 lost and q2 won: the change is 0, but not in every draw.
    change = found["k", "single-image"][3]
    assert change.point == 0
    assert change.low < 0 < change.high
    by_capability = rows(analysis, 1)
    assert points(by_capability["m", "asr-only", "G Grounding"][1:]) == [
        1 / 2,
        1 / 2,
        -1 / 2,
        -1 / 2,
    ]
    # One episode: no draw without it differs.
    change = by_capability["m", "asr-only", "T Timing"][4]
    assert (change.low, change.point, change.high) == pytest.approx([-1 / 3] * 3)
    assert change.excluded > 0
    assert by_capability["m", "asr-only", "T Timing"][0] == 1


def test_order_of_runs_and_conditions_changes_nothing():
    turned = dict(reversed(RUNS.items()))
    said = [item._replace(said=dict(reversed(item.said.items()))) for item in items()]
    one, other = (analyse(study_of(x, runs=y)) for x, y in ((items(), RUNS), (said, turned)))
    assert rows(one) == rows(other)


def test_what_else_a_model_has_is_left_out():
    runs = RUNS | {
        "few": run("m", "full", frames=4),
        "lone": run("lone", "full"),
        "blind": run("no-full", "question-only"),
        "turned": run("m", "asr-only", order=1, order_seed=42),
    }
    more = dict.fromkeys(("few", "lone", "blind", "turned"), (Said(), Said(), Said()))
    analysis = analyse(study_of(items(**more), runs=runs))
    assert rows(analysis) == rows(analyse(study_of(items(), runs=RUNS)))
    assert any("lone, no-full" in note for note in analysis.notes)


def test_native_media_under_full_are_told():
    runs = RUNS | {"m": RUNS["m"] | {"card": {"name": "m", "native_video": True}}}
    (note,) = analyse(study_of(items(), runs=runs)).notes
    assert note.startswith("m took native video under full")


def test_a_declared_capability_without_items_leaves_no_macro():
    found = rows(analyse(study_of(items(), runs=RUNS, declared=("G", "T", "R"))))
    assert points(found["m", "asr-only"][1:]) == [None] * 4
    assert found["m", "asr-only"][0] == 3


def test_faults_are_named():
    with pytest.raises(NotApplicable, match="condition full and one under another"):
        analyse(study_of(items(), runs={**RUNS, "m": run("x", "full"), "k": run("y", "full")}))
    with pytest.raises(ScoringError, match="k and k still are of one model and condition"):
        analyse(study_of(items(), runs={**RUNS, "k still": RUNS["k"]}))
    fewer = Item("q4", "e4", "T", "single", "A", {"m": Said()})
    with pytest.raises(ScoringError, match="differ in 1 items, such as q4"):
        analyse(study_of([*items(), fewer], runs=RUNS))
