from random import Random

import pytest
from scipy.stats import kendalltau

from evaluation.analyses.sensitivity import analyse
from evaluation.analyses.values import NotApplicable
from evaluation.report.formats import text
from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from tests.support.studies import FAILED, Item, Said, rows_of, study_of

SUPPORTED = Said(logic="weak")  # product 1.2 * 0.8 / 1.44, support alone 1
EVEN = Said(support="normal", logic="acceptable")  # product 1 / 1.44, support alone 1 / 1.2
ACCEPTED = Said(support="normal")  # in Timing, both runs: product 1.2 / 1.44


@pytest.fixture(scope="module")
def found():
    items = [
        Item("q1", "e1", "G", "single", "A", {"supported": SUPPORTED, "even": EVEN}),
        Item("q2", "e2", "T", "single", "A", {"supported": ACCEPTED, "even": ACCEPTED}),
    ]
    return analyse(study_of(items))


def test_verified_under_other_weights(found):
    supported, even = rows_of(found, "sensitivity-verified")
    expected = {
        "paper": (0.96 / 1.44 + 1.2 / 1.44) / 2,
        "soft": (1.1 * 0.9 / 1.21 + 1.1 / 1.21) / 2,
        "strict": (1.2 * 0.6 / 1.44 + 1.2 / 1.44) / 2,
        "mean": (2.0 / 2.4 + 2.2 / 2.4) / 2,
        "minimum": (0.8 / 1.2 + 1 / 1.2) / 2,
        "support only": (1 + 1 / 1.2) / 2,
        "logic only": (0.8 / 1.2 + 1) / 2,
        "threshold": 0.5,
        "strongest only": 0.0,
    }
    assert {name: supported[name].point for name in expected} == pytest.approx(expected)
    assert even["support only"].point == pytest.approx(1 / 1.2)


def test_an_order_that_turns_is_told(found):
    rows = {row["weighting"]: row for row in rows_of(found, "sensitivity-persistence")}
    kept, turned = rows["paper"], rows["support only"]
    # Nothing is compared with itself.
    assert list(kept.values())[1:5] == [None] * 4
    assert [text(turned["Kendall's tau-b"]), turned["neighbours swapped"]] == ["−1.000", "1 of 1"]
    assert turned["pairs in the same order"].point == 0
    # Strongest only gives nobody anything.
    assert rows["strongest only"]["Kendall's tau-b"] is None
    assert rows["strongest only"]["pairs in the same order"].point == 0.5
    assert rows["strongest only"]["neighbours swapped"] == "0 of 1"
    ranks = {row["run"]: row for row in rows_of(found, "sensitivity-ranks")}
    assert [ranks["supported"][name] for name in ("paper", "support only", "strongest only")] == [
        2,
        1,
        1,
    ]
    ahead = rows_of(found, "sensitivity-neighbours")[0]
    assert ahead["runs"] == "even less supported"
    assert ahead["paper"].point == pytest.approx((1 / 1.44 - 0.96 / 1.44) / 2)
    assert ahead["support only"].point == pytest.approx((1 / 1.2 - 1) / 2)


def test_the_capability_that_retains_least_may_change(found):
    rows = {row["weighting"]: row for row in rows_of(found, "sensitivity-persistence")}
    stays, which = "lowest retention stays", "lowest retention (runs)"
    assert [rows["paper"][stays], rows["paper"][which]] == [None, "G 2"]
    # Support alone: `supported` keeps 1 in G and 0.83 in T; `even` 0.83 in both.
    assert [rows["support only"][stays], rows["support only"][which]] == ["0 of 2", "G = T 1, T 1"]
    assert rows["strongest only"][which] == "G = T 2"


def test_tau_is_scipys_with_ties():
    chance = Random(5)
    labels = [(e, ell) for e in EvidenceSupport for ell in LogicalIntegrity]

    def said():
        support, logic = chance.choice(labels)
        return Said(support=support, logic=logic)

    items = [
        Item(f"q{n}", f"e{n}", "T", "single", "A", {f"m{run}": said() for run in range(7)})
        for n in range(4)
    ]
    found = analyse(study_of(items, draws=20))
    scores = rows_of(found, "sensitivity-verified")
    for row in rows_of(found, "sensitivity-persistence")[1:]:
        one, other = ([run[name].point for run in scores] for name in ("paper", row["weighting"]))
        assert row["Kendall's tau-b"].point == pytest.approx(
            kendalltau(one, other).statistic, abs=1e-9
        )


def test_one_run_has_no_order_and_failures_have_no_retention():
    items = [Item(f"q{c}", f"e{c}", c, "single", "A", {"m": FAILED}) for c in "GT"]
    found = analyse(study_of(items))
    assert {table.name for table in found.tables} == {
        "sensitivity-verified",
        "sensitivity-persistence",
    }
    row = rows_of(found, "sensitivity-persistence")[1]
    assert list(row.values())[1:] == [None, None, "0 of 0", "0 of 0", None]


def test_equal_runs_are_no_neighbours_to_swap():
    items = [
        Item("q1", "e1", "G", "single", "A", {"m": ACCEPTED, "n": EVEN}),
        Item("q2", "e2", "T", "single", "A", {"m": EVEN, "n": ACCEPTED}),
    ]
    row = rows_of(analyse(study_of(items)), "sensitivity-persistence")[1]
    assert [row["Kendall's tau-b"], row["neighbours swapped"]] == [None, "0 of 0"]


def test_an_undefined_macro_score_is_no_analysis():
    items = [Item("q1", "e1", "T", "single", "A", {"m": Said()})]
    with pytest.raises(NotApplicable, match="no item"):
        analyse(study_of(items, declared="TG"))
