import pytest

from evaluation.analyses.open_answers import analyse
from evaluation.analyses.values import NotApplicable
from tests.support.studies import FAILED, Item, Said, rows_of, study_of


def credits_of(full, half, total):
    """Return what a run says to `total` open items, with these full and half credits."""
    none = total - full - half
    return [Said(a=credit) for credit in [1.0] * full + [0.5] * half + [0.0] * none]


@pytest.fixture(scope="module")
def need():
    """The paper's 35 open Need items under Gemini 3.6 Flash and Claude Opus 5, and two choices."""
    flash, claude = credits_of(10, 20, 35), credits_of(24, 7, 35)
    items = [
        Item(f"q{n:02}", f"e{n}", "N", "open", "A", {"flash": one, "claude": other})
        for n, (one, other) in enumerate(zip(flash, claude, strict=True))
    ]
    choices = [(Said(), Said("B")), (Said(), Said())]
    items += [
        Item(f"c{n}", f"e{n}", "N", "multiple" if n else "single", "A", {"flash": f, "claude": c})
        for n, (f, c) in enumerate(choices)
    ]
    return analyse(study_of(items))


def test_the_published_completeness_of_open_need_answers(need):
    flash, claude = rows_of(need, "open-answers-formats")
    names = ("open full credit", "open any credit", "open Raw")
    assert [round(100 * flash[name].point, 2) for name in names] == [28.57, 85.71, 57.14]
    assert [round(100 * claude[name].point, 2) for name in names] == [68.57, 88.57, 78.57]
    assert flash["open n"] == claude["open n"] == 35


def test_formats_of_one_capability_may_order_runs_differently(need):
    flash, claude = rows_of(need, "open-answers-formats")
    assert flash["choice n"] == 2
    assert [flash["choice Raw"].point, claude["choice Raw"].point] == [1, 0.5]
    pair = rows_of(need, "open-answers-format-pairs")[0]
    assert (pair["run"], pair["other"]) == ("flash", "claude")
    assert pair["choice"].point == pytest.approx(0.5)
    assert 100 * pair["open"].point == pytest.approx(100 * (20 - 27.5) / 35)
    assert pair["open"].is_difference


@pytest.fixture(scope="module")
def found():
    # Both right: q1 (1 against 0.8333) and q2 (both 1), and the choice q5 (0.6944 against 1).
    normal = Said(support="normal", logic="acceptable")
    acceptable = Said(logic="acceptable", words=4)
    rows = [
        ("q1", "e1", "open", Said(words=3, a=1), acceptable._replace(a=1)),
        ("q2", "e1", "open", Said(words=8, a=1), Said("two words", a=1)),
        ("q3", "e2", "open", Said("我要水 now", a=0.5), FAILED),
        ("q4", "e3", "open", FAILED, Said(a=1)),
        ("q5", "e4", "single", normal, Said()),
    ]
    items = [
        Item(name, episode, "N", form, "A", {"m": one, "n": other})
        for name, episode, form, one, other in rows
    ]
    return analyse(study_of(items))


def test_credit_and_words_of_open_answers(found):
    one, other = rows_of(found, "open-answers")
    assert [one[name] for name in ("n", "answered")] == [4, 3]
    # 3, 8 and, each Han character being a word, 4.
    assert [one["words, mean"].point, one["words, median"].point] == [5.0, 4]
    assert [other["words, mean"].point, other["words, median"].point] == [7 / 3, 2]
    assert [one[name].point for name in ("full credit", "any credit")] == [0.5, 0.75]
    assert one["Raw (micro)"].point == pytest.approx(2.5 / 4)
    assert other["Verified (micro)"].point == pytest.approx((1 / 1.2 + 1 + 0 + 1) / 4)


def test_rationales_are_compared_where_both_are_fully_right(found):
    of_open, of_all = (
        rows_of(found, f"open-answers-jointly-{name}")[0] for name in ("open", "all")
    )
    assert [of_open["n"], of_open["episodes"]] == [2, 1]
    assert of_open["weight"].point == pytest.approx(1)
    assert of_open["weight of other"].point == pytest.approx((1 / 1.2 + 1) / 2)
    assert [of_all["n"], of_all["episodes"]] == [3, 2]
    assert of_all["difference"].point == pytest.approx((2 + 1 / 1.44) / 3 - (1 / 1.2 + 2) / 3)


def test_a_pair_that_is_never_right_together_has_no_figure():
    items = [
        Item("q1", "e1", "N", "open", "A", {"m": Said(a=1), "n": FAILED}),
        Item("q2", "e2", "N", "open", "A", {"m": Said(a=0.5), "n": FAILED}),
    ]
    found = analyse(study_of(items))
    row = rows_of(found, "open-answers-jointly-all")[0]
    assert [row["n"], row["episodes"], row["difference"].point] == [0, 0, None]
    failing = rows_of(found, "open-answers")[1]
    assert [failing["answered"], failing["words, mean"], failing["Raw (micro)"].point] == [
        0,
        None,
        0,
    ]


def test_one_run_is_compared_with_nobody():
    found = analyse(study_of([Item("q1", "e1", "N", "open", "A", {"m": Said()})]))
    assert [table.name for table in found.tables] == ["open-answers"]


def test_choice_items_alone_are_no_analysis():
    with pytest.raises(NotApplicable, match="No item is open"):
        analyse(study_of([Item("q1", "e1", "N", "single", "A", {"m": Said()})]))
