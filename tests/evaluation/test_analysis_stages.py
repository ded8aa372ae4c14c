import numpy as np
import pytest

from evaluation.analyses.stages import BINS, CREDITS, LOSSES, analyse, bins_of
from tests.support.studies import FAILED, Item, Said, rows_of, study_of

HEADS = (*CREDITS, *(f"lost: {stage}" for stage in LOSSES))
WEAK = Said(support="weak", logic="acceptable")  # 1, 1, 0.6667, 0.5556
BARE = Said(c=0)  # 1, 0, 0, 0


@pytest.fixture(scope="module")
def found():
    items = [
        Item("q1", "e1", "T", "single", "A", {"m": WEAK, "failing": FAILED}),
        Item("q2", "e2", "G", "single", "A", {"m": BARE, "failing": FAILED}),
        Item("q3", "e2", "G", "open", "A", {"m": Said(a=0.5), "failing": FAILED}),
        Item("q4", "e3", "G", "single", "A", {"m": Said("B"), "failing": FAILED}),
        Item("q5", "e3", "G", "single", "A", {"m": Said(), "failing": FAILED}),
    ]
    return analyse(study_of(items))


def points(row, names=HEADS):
    return [row[name].point for name in names]


def test_credits_and_losses_by_capability(found):
    grounding, timing, *_ = rows_of(found, "stages-capabilities")
    assert (grounding["capability"], grounding["n"]) == ("G Grounding", 4)
    # a: (1 + 0.5 + 0 + 1) / 4; the bare answer loses 1/4 for want of a rationale.
    assert points(grounding) == pytest.approx([0.625, 0.375, 0.375, 0.375, 0.375, 0.25, 0, 0])
    assert points(timing) == pytest.approx([1, 1, 0.8 / 1.2, 0.8 / 1.44, 0, 0, 1 / 3, 1 / 9])


def test_macro_weighs_capabilities_equally_and_parts_sum_to_one(found):
    run, failing = rows_of(found, "stages-macro")
    assert points(run, ["a", "v"]) == pytest.approx([(0.625 + 1) / 2, (0.375 + 0.8 / 1.44) / 2])
    for row in (run, failing):
        assert sum(points(row, HEADS[3:])) == pytest.approx(1)
    assert points(failing) == pytest.approx([0, 0, 0, 0, 1, 0, 0, 0])


def test_the_distribution_weighs_items_equally(found):
    run, failing = rows_of(found, "stages-distribution")
    # v: 0.5556, 0, 0.5, 0, 1; 0.5 is in the bin that it closes.
    assert [cell.point for cell in list(run.values())[2:]] == pytest.approx(
        [0.4, 0, 0.2, 0.2, 0, 0.2]
    )
    assert [cell.point for cell in list(failing.values())[2:]] == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("v", "name"),
    [
        (0, "0"),
        (0.1, "(0, 0.25]"),
        (0.25, "(0, 0.25]"),
        (0.5, "(0.25, 0.5]"),
        (0.75, "(0.5, 0.75]"),
        (0.76, "(0.75, 1)"),
        (1, "1"),
    ],
)
def test_every_credit_is_in_one_bin(v, name):
    assert BINS[int(bins_of(np.array(v)))] == name


def test_a_declared_capability_without_items_leaves_macro_credit_undefined():
    items = [Item("q1", "e1", "T", "single", "A", {"m": WEAK})]
    found = analyse(study_of(items, declared="TG"))
    assert points(rows_of(found, "stages-macro")[0], ["a", "v"]) == [None, None]
    assert [one.name for one in found.drawings] == ["stages-distribution"]
