import pytest

from evaluation.analyses.labels import analyse
from evaluation.analyses.values import NotApplicable
from evaluation.report.formats import text
from tests.support.studies import FAILED, Item, Said, rows_of, study_of

BOTH = Said(a=1, support="weak", logic="contradictory")
SUPPORT = Said(support="contradicted")
LOGIC = Said(logic="weak")
BARE = Said(c=0)
APART = ("insufficient or unevaluable", "no label (c = 0)")
LOST = Said(support="insufficient", logic="unevaluable")


def of(capability, says, runs=1):
    """Return single-choice items to which `runs` runs say these, and what is wrong to fill up."""
    said = [*says, *[Said("B")] * (-len(says) % runs)]
    return [
        Item(
            f"{capability}{n:05}",
            f"{capability}-e{n}",
            capability,
            "single",
            "A",
            {f"m{run}": said[n + run] for run in range(runs)},
        )
        for n in range(0, len(said), runs)
    ]


@pytest.fixture(scope="module")
def published():
    """The paper's counts over 17 runs: 569 correct Timing responses, 10,988 correct others."""
    timing = [BOTH] * 182 + [SUPPORT] * 101 + [Said()] * 286
    others = [BOTH] * 561 + [SUPPORT] * 276 + [Said()] * 10_151
    return analyse(study_of([*of("T", timing, 17), *of("G", others, 17)], draws=5))


def test_the_published_rates_of_adverse_labels(published):
    timing, grounding = rows_of(published, "labels-support")
    assert (timing["correct"], timing["adverse"]) == (569, 283)
    assert (timing["others correct"], timing["others adverse"]) == (10_988, 837)
    assert (grounding["correct"], grounding["others correct"]) == (10_988, 569)
    assert round(100 * timing["rate"].point, 2) == 49.74
    assert round(100 * timing["others rate"].point, 2) == 7.62
    assert round(100 * timing["difference"].point, 2) == 42.12
    assert grounding["difference"].point == pytest.approx(-timing["difference"].point)
    logic, _ = rows_of(published, "labels-logic")
    shares = (logic[name].point for name in ("rate", "others rate", "difference"))
    assert [round(100 * share, 2) for share in shares] == [31.99, 5.11, 26.88]


def test_the_published_joint_table_sums_to_the_correct_responses(published):
    timing, _ = rows_of(published, "labels-joint")
    parts = [timing[name] for name in ("both", "support only", "logic only", "neither")]
    assert parts == [182, 101, 0, 286]
    assert sum(parts) == timing["correct"] == 569
    assert timing["both, share"].point == pytest.approx(182 / 569)


@pytest.fixture(scope="module")
def found():
    # Of Timing 4 of 6 are right: adverse both, logic, no label, and labels without credit.
    items = of("T", [BOTH, LOGIC, BARE, LOST, Said("B", support="weak"), FAILED])
    items += of("N", [Said(), Said(support="weak", logic="acceptable")])
    items += [Item(form, "N-e0", "N", form, "A", {"m0": BOTH}) for form in ("open", "multiple")]
    return analyse(study_of(items))


def test_only_correct_single_choice_responses_count(found):
    timing, need = rows_of(found, "labels-support")
    assert [timing[name] for name in ("capability", "correct", "adverse")] == ["T Timing", 4, 1]
    assert [need[name] for name in ("capability", "correct", "adverse")] == ["N Need", 2, 1]
    assert text(timing["difference"]).startswith("−25.0 [")


def test_what_has_no_adverse_label_stays_in_the_denominator(found):
    timing, _ = rows_of(found, "labels-retention")
    assert [timing[name] for name in ("no label (c = 0)", "insufficient", "unevaluable")] == [1] * 3
    # v: 0.8 * 0.5 / 1.44, 0.8 / 1.2, 0, 0 over four correct responses; others 1 and 0.8 / 1.44.
    assert timing["retention"].point == pytest.approx((0.4 / 1.44 + 0.8 / 1.2) / 4)
    assert timing["others"].point == pytest.approx((1 + 0.8 / 1.44) / 2)
    joint = rows_of(found, "labels-joint")[0]
    parts = ("both", "support only", "logic only", "neither", *APART)
    assert [joint[name] for name in parts] == [1, 0, 1, 0, 1, 1]
    assert sum(joint[f"{name}, share"].point for name in parts) == pytest.approx(1)


def test_rates_over_runs_are_ratios_of_sums_and_every_run_has_its_own():
    items = [
        Item("q1", "e1", "T", "single", "A", {"m": BOTH, "n": Said()}),
        Item("q2", "e2", "T", "single", "A", {"m": Said("B"), "n": Said()}),
        Item("q3", "e3", "G", "single", "A", {"m": Said(), "n": SUPPORT}),
    ]
    found = analyse(study_of(items))
    timing, _ = rows_of(found, "labels-support")
    assert timing["rate"].point == pytest.approx(1 / 3)  # not the mean of 1/1 and 0/2
    rates = {
        (row["run"], row["capability"]): (row["correct"], row["adverse support"].point)
        for row in rows_of(found, "labels-runs")
    }
    assert rates == {
        ("m", "T Timing"): (1, 1),
        ("m", "G Grounding"): (1, 0),
        ("n", "T Timing"): (2, 0),
        ("n", "G Grounding"): (1, 1),
    }


def test_a_difference_over_runs_can_be_the_runs_own():
    # In each run Timing is justified as well as the rest, but `bad`, which is adverse in 1 of 2,
    # supplies 8 of 9 right answers to Timing and `good`, never adverse, 8 of 10 of the others.
    bad, right, wrong = Said(support="weak"), Said(), Said("B")
    timing = [(bad if n % 2 else right, wrong) for n in range(8)]
    timing += [(wrong, right)]
    others = [(bad, right), (right, right), *[(wrong, right)] * 6]
    items = [
        Item(f"{code}{n}", f"e{code}{n}", code, "single", "A", {"bad": one, "good": other})
        for code, said in (("T", timing), ("G", others))
        for n, (one, other) in enumerate(said)
    ]
    row, _ = rows_of(analyse(study_of(items)), "labels-support")
    assert row["difference"].point == pytest.approx(4 / 9 - 1 / 10)
    assert row["mean difference within runs"].point == pytest.approx(0)
    assert row["mean difference within runs"].low < 0 < row["mean difference within runs"].high


def test_runs_without_right_answers_to_both_are_no_part_of_the_mean():
    items = [
        Item("q1", "e1", "T", "single", "A", {"m": SUPPORT, "n": Said("B")}),
        Item("q2", "e2", "G", "single", "A", {"m": Said(), "n": SUPPORT}),
    ]
    row, _ = rows_of(analyse(study_of(items)), "labels-support")
    assert row["mean difference within runs"].point == 1


def test_a_single_capability_has_no_others():
    row = rows_of(analyse(study_of(of("T", [BOTH, Said()]))), "labels-support")[0]
    assert (row["others correct"], row["others rate"].point, row["difference"].point) == (
        0,
        None,
        None,
    )


@pytest.mark.parametrize("says", [[FAILED], [BARE], [Said("B")]])
def test_no_labelled_correct_answer_is_no_analysis(says):
    with pytest.raises(NotApplicable, match="has labels"):
        analyse(study_of(of("T", says)))
