import pytest

from evaluation.analyses.registry import find
from evaluation.analyses.retention import analyse, lowest
from evaluation.analyses.values import NotApplicable
from evaluation.comparisons import Figure, Measure, compare
from evaluation.episode_table import EpisodeTable
from evaluation.scoring import ScoringError
from tests.support.studies import FAILED, Item, Said, rows_of, study_of

ONE_SET = ("retention", "labels", "stages", "open-answers", "sensitivity", "strata")
WEAK = Said(support="weak", logic="acceptable")  # v = 0.8 / 1.44 = 0.5556


@pytest.fixture(scope="module")
def found():
    # Timing:    careful keeps 1 + 0.5556 of 2, plain 2 of 2, failing has no credit to keep.
    # Grounding: careful keeps 0.5 of 0.5 (open), plain 2 of 2; single-choice is wrong for careful.
    says = {
        "q1": (Said(), Said(), FAILED),
        "q2": (WEAK, Said(), FAILED),
        "q3": (Said("B"), Said(), FAILED),
        "q4": (Said("half", a=0.5), Said("all", a=1), FAILED),
    }
    rows = [
        ("q1", "e1", "T", "single"),
        ("q2", "e2", "T", "single"),
        ("q3", "e3", "G", "single"),
        ("q4", "e3", "G", "open"),
    ]
    names = ("careful", "plain", "failing")
    items = [Item(*row, "A", dict(zip(names, says[row[0]], strict=True))) for row in rows]
    return analyse(study_of(items))


def test_retention_is_the_share_of_answer_credit_that_is_left(found):
    careful, plain, failing, everyone = rows_of(found, "retention")
    assert careful["T (n=2)"].point == pytest.approx((1 + 0.8 / 1.44) / 2)
    assert careful["G (n=2)"].point == pytest.approx(1)
    assert plain["T (n=2)"].point == plain["G (n=2)"].point == pytest.approx(1)
    assert failing["T (n=2)"].point is None
    assert everyone["T (n=2)"].point == pytest.approx((3 + 0.8 / 1.44) / 4)


def test_single_choice_leaves_open_items_out(found):
    careful, *_ = rows_of(found, "retention-single-choice")
    assert careful["G (n=1)"].point is None
    assert careful["T (n=2)"].point == pytest.approx((1 + 0.8 / 1.44) / 2)


def test_the_lowest_capability_is_named_and_ties_are_counted_apart(found):
    assert [row["lowest"] for row in rows_of(found, "retention")] == ["T", "G = T", None, "T"]
    grounding, timing = rows_of(found, "retention-lowest")
    assert timing["retention, all formats"] == "1 of 2, 1 tied"
    assert grounding["retention, all formats"] == "0 of 2, 1 tied"
    # careful has Verified 0.25 in G and 0.78 in T; the other two runs tie at 1 and at 0.
    assert grounding["Verified, all formats"] == "1 of 3, 2 tied"
    assert timing["Verified, all formats"] == "0 of 3, 2 tied"


def test_a_capability_with_one_episode_is_flagged_where_draws_miss_it(found):
    cell = rows_of(found, "retention")[1]["G (n=2)"]
    # A draw of 3 episodes misses one with probability (2/3)^3 = 0.30.
    assert 0.2 < cell.excluded < 0.4
    assert cell.is_flagged


def test_figures_and_intervals_are_those_of_the_comparison_of_runs():
    says = (Said(), WEAK, Said("B"), Said(c=0), FAILED)
    items = [
        Item(f"q{n:02}", f"e{n % 7}", "GT"[n % 2], "single", "A", {"m": says[n % 5], "n": WEAK})
        for n in range(20)
    ]
    study = study_of(items)
    row = rows_of(analyse(study), "retention")[0]
    table = EpisodeTable.of({run.name: run.scored.items for run in study.runs}, study.declared)
    figure = Figure(measure=Measure.RETENTION, capability=study.declared[1])
    estimate = compare(table, [figure], study.draws).runs[0].estimate
    found = (row["T (n=10)"].point, row["T (n=10)"].low, row["T (n=10)"].high)
    assert found == pytest.approx((estimate.point, estimate.low, estimate.high))


def test_lowest_needs_two_known_figures():
    assert lowest([0.5, None]) == ()
    assert lowest([0.5, None, 0.4, 0.4]) == (2, 3)


@pytest.mark.parametrize("name", ONE_SET)
def test_runs_over_different_items_are_refused(name):
    items = [
        Item("q1", "e1", "T", "single", "A", {"m": Said(), "n": Said()}),
        Item("q2", "e2", "T", "open", "A", {"m": Said()}),
    ]
    with pytest.raises(ScoringError, match="differ in 1 items, such as q2"):
        find(name)(study_of(items))


@pytest.mark.parametrize("name", ONE_SET)
def test_unscored_items_are_refused(name):
    items = [Item("q1", "e1", "T", "open", "A", {"m": Said(support=None)})]
    with pytest.raises(ScoringError, match=r"1 of \d+ items are unscored \(not_judged 1\)"):
        find(name)(study_of(items))


@pytest.mark.parametrize("name", ONE_SET)
def test_no_run_is_no_analysis(name):
    with pytest.raises(NotApplicable, match="no run"):
        find(name)(study_of([]))


@pytest.mark.parametrize("name", ONE_SET)
def test_the_order_of_items_and_hostile_names_change_no_number(name):
    hostile = "</svg><script>alert(1)</script>\u202e"
    items = [
        Item(f"q{n}", f"e{n // 2}", "GT"[n % 2], form, "A", {hostile: Said(), "n": said})
        for n, (form, said) in enumerate(
            [("single", WEAK), ("open", Said(a=0.5)), ("open", FAILED), ("single", Said())]
        )
    ]
    one, other = (find(name)(study_of(rows)) for rows in (items, items[::-1]))
    assert one == other
    assert one.drawings
    assert all("<script" not in drawing.svg for drawing in one.drawings)
