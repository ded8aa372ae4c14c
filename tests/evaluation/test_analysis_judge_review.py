"""Experts' reviews of the judge: measures against libraries, worked examples, published counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from evaluation.analyses.agreeing import (
    coincidences,
    joint_counts,
    kappa_of,
    nominal_alpha_of,
    ordinal_alpha_of,
    spearman_of,
)
from evaluation.analyses.endorsements import wilson
from evaluation.analyses.judge_review import analyse
from evaluation.analyses.values import Analysis, NotApplicable, Study
from evaluation.people.files import People
from evaluation.people.rows import Draw, EndorseRow, LabelRow
from evaluation.rater_agreement import ordinal_alpha, weighted_kappa
from evaluation.scoring import ScoringError
from tests.support.studies import Item, Said, study_of

SUPPORT = ("strong", "normal", "weak", "contradicted", "insufficient")
WHO = {"model": "m", "condition": "full", "judge": "judge"}


def label(expert: str, item: str, support: str, logic: str = "acceptable") -> LabelRow:
    labels = {"evidence_support": support, "logical_integrity": logic}
    return LabelRow(kind="label", expert=expert, item_id=item, **WHO, **labels)


def endorse(expert: str, item: str, endorses: bool, planted: bool = False, **how) -> EndorseRow:
    level = "contradicted" if planted else "strong"
    what = {"decision": "evidence_support", "shown": level} | how
    return EndorseRow(
        kind="endorse",
        expert=expert,
        item_id=item,
        planted=planted,
        endorses=endorses,
        **WHO,
        **what,
    )


def study(judged: list[str], people: People, **how) -> Study:
    """A run `m` of single-choice Grounding items q0, q1, ... with the judge's support labels."""
    items = [
        Item(f"q{n}", f"e{n}", "G", "single", "A", {"m": Said("A", support=support)})
        for n, support in enumerate(judged)
    ]
    made = study_of(items, **how)
    runs = [replace(run, judged={("judge", 0): run.judgements}) for run in made.runs]
    return replace(made, runs=tuple(runs), people=people)


def rows(analysis: Analysis, name: str) -> list[tuple]:
    return next(list(table.rows) for table in analysis.tables if table.name == name)


def by_pair(analysis: Analysis, subject: str = "evidence support") -> dict[str, tuple]:
    found = rows(analysis, "judge-review-agreement")
    return {row[0]: row[2:] for row in found if row[1] == subject}


LABELS = st.lists(st.tuples(*[st.integers(0, 4) | st.none()] * 3), min_size=3, max_size=20).filter(
    lambda rows: len({one for row in rows for one in row if one is not None}) > 1
)


@given(LABELS)
def test_measures_are_those_of_the_libraries(labels):
    import krippendorff

    table = np.array(labels, dtype=float).T
    shared = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    if len(np.unique(shared[~np.isnan(shared)])) < 2:
        return
    tables = coincidences(table, 5).sum(axis=0, keepdims=True)
    assert ordinal_alpha_of(tables)[0] == pytest.approx(ordinal_alpha(table, 5), abs=1e-9)
    nominal = krippendorff.alpha(table, value_domain=np.arange(5.0), level_of_measurement="nominal")
    assert nominal_alpha_of(tables)[0] == pytest.approx(nominal, abs=1e-9)
    two = table[:2, ~np.isnan(table[:2]).any(axis=0)]
    if len(np.unique(two)) < 2:
        return
    joint = joint_counts(table[0], table[1], 5).sum(axis=0, keepdims=True).astype(float)
    assert kappa_of(joint)[0] == pytest.approx(weighted_kappa(two, 5), abs=1e-9)
    if all(len(np.unique(row)) > 1 for row in two):
        assert spearman_of(joint)[0] == pytest.approx(spearmanr(*two).statistic, abs=1e-9)


def test_experts_and_their_majority_beside_the_judge():
    # Majority: strong, weak, none (two labels), weak; the judge: strong, weak, strong, normal.
    given = {"ada": "s w s w", "ben": "s w n w", "cyd": "s s - w"}
    names = {"s": "strong", "w": "weak", "n": "normal"}
    labels = [
        label(expert, f"q{n}", names[sign])
        for expert, signs in given.items()
        for n, sign in enumerate(signs.split())
        if sign in names
    ]
    found = analyse(study(["strong", "weak", "strong", "normal"], People(labels=tuple(labels))))
    pairs = by_pair(found)
    cases, same, kappa, *_ = pairs["majority of experts / judge"]
    assert (cases, same.point) == (3, pytest.approx(2 / 3))
    # Places 0 2 2 by 0 2 1: observed 1; expected (2 * (0 + 1 + 4) + ...): rows {0: 1, 2: 2},
    # columns {0, 1, 2: 1 each}: (0 + 1 + 4 + 2 * (4 + 1 + 0)) / 3 = 5; kappa = 1 - 1/5.
    assert kappa.point == pytest.approx(0.8)
    assert pairs["expert ada / judge"][:2] == (4, pairs["expert ada / judge"][1])
    assert pairs["expert ada / judge"][1].point == 0.75
    assert pairs["expert cyd / judge"][0] == 3
    assert pairs["between experts"][0] == 4
    # Pairs of labels: 3 of 3, 1 of 3, 0 of 1, 3 of 3, each case weighing by its labels.
    assert pairs["between experts"][1].point == pytest.approx((3 + 1 + 0 + 3) / 11)
    confusion = rows(found, "judge-review-confusion-evidence-support")
    assert confusion[0] == ("judge: strong", 4, 1, 0, 0, 0)
    assert confusion[1] == ("judge: normal", 0, 0, 3, 0, 0)
    assert confusion[2] == ("judge: weak", 1, 0, 2, 0, 0)
    note = next(one.note for one in found.tables if one.name == "judge-review-agreement")
    assert "evidence support 1 of 4" in note


def test_two_experts_have_no_majority():
    labels = tuple(label(who, "q0", "strong") for who in ("ada", "ben"))
    pairs = by_pair(analyse(study(["strong"], People(labels=labels))))
    assert list(pairs) == [
        "expert ada / judge",
        "expert ben / judge",
        "expert ada / expert ben",
        "between experts",
    ]


def test_cases_of_one_episode_are_redrawn_together():
    given = study(["strong", "weak", "strong", "weak"], People())
    asked = given.release.questions
    one = {name: row.model_copy(update={"episode_id": "e0"}) for name, row in asked.items()}
    labels = tuple(label("ada", f"q{n}", "strong") for n in range(4))
    judged = ("strong", "weak")
    endorsed = tuple(endorse("ada", f"q{n}", n % 2 == 0, shown=judged[n % 2]) for n in range(4))
    made = replace(
        given,
        release=replace(given.release, questions=one),
        people=People(labels=labels, endorsements=endorsed),
    )
    analysis = analyse(made)
    for cell in (
        by_pair(analysis)["expert ada / judge"][1],
        rows(analysis, "judge-review-endorsed")[0][3],
    ):
        assert (cell.point, cell.low, cell.high, cell.episodes) == (0.5, 0.5, 0.5, 1)


def test_one_label_of_one_rater_leaves_the_rank_correlation_undefined():
    labels = tuple(label("ada", f"q{n}", "strong") for n in range(2))
    found = by_pair(analyse(study(["strong", "weak"], People(labels=labels))))["expert ada / judge"]
    assert (found[2].point, found[4].point) == (0, None)
    assert found[5].startswith("one rater gave a single label")


def test_how_cases_were_drawn_is_told():
    for draw, said in (("even", "evenly"), ("random", "at random"), (None, "do not say")):
        row = label("ada", "q0", "strong").model_copy(update={"draw": draw and Draw(draw)})
        notes = analyse(study(["strong"], People(labels=(row,)))).notes
        assert sum(said in note for note in notes) == 1


def test_experts_who_saw_nothing_planted_are_not_said_to_catch_half():
    said = (endorse("ada", "q0", True), endorse("ben", "q1", False, planted=True))
    found = analyse(study(["strong"] * 2, People(endorsements=said)))
    endorsed = {row[0]: row[2] for row in rows(found, "judge-review-endorsed")}
    assert endorsed["experts who catch at least half of what is planted"] == 0
    planted = {row[0]: row for row in rows(found, "judge-review-planted")}
    assert planted["ada"][-1] == "saw nothing planted"


def test_the_order_of_the_factor_is_compared_too():
    labels = tuple(label("ada", f"q{n}", support) for n, support in enumerate(SUPPORT))
    found = analyse(study(list(SUPPORT), People(labels=labels)))
    cases, _, kappa, alpha, rho, _ = by_pair(found, "factor e·l")["expert ada / judge"]
    assert (cases, kappa, alpha) == (5, None, None)
    assert rho.point == pytest.approx(1)


def test_an_expert_may_be_called_judge():
    labels = (label("judge", "q0", "weak"), label("judge", "q1", "strong"))
    pairs = by_pair(analyse(study(["strong", "strong"], People(labels=labels))))
    assert pairs["expert judge / judge"][1].point == 0.5


def test_one_label_throughout_leaves_agreement_undefined():
    labels = tuple(label("ada", f"q{n}", "strong") for n in range(3))
    found = by_pair(analyse(study(["strong"] * 3, People(labels=labels))))["expert ada / judge"]
    assert found[1].point == 1.0
    assert [cell.point for cell in found[2:5]] == [None] * 3
    assert found[5].startswith("all labels are the same")


def test_labels_of_no_run_at_hand_are_named():
    stranger = label("ada", "q0", "strong").model_copy(update={"model": "other"})
    with pytest.raises(ScoringError, match=r"reviewed other \(full\) on item q0"):
        analyse(study(["strong"], People(labels=(stranger,))))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (
            endorse("ada", "q0", True, shown="normal"),
            "'normal' as its own, where the judge decided",
        ),
        (endorse("ada", "q0", True, planted=True, shown="normal"), "'normal' as planted"),
        (endorse("ada", "q0", True, planted=True, shown="strong"), "'strong' as planted"),
        (endorse("ada", "q0", True).model_copy(update={"judge": "zzz"}), "which zzz did not"),
        (endorse("ada", "q0", True).model_copy(update={"model": "zzz"}), "reviewed zzz"),
    ],
)
def test_what_experts_saw_is_what_the_judge_decided(row, fault):
    with pytest.raises(ScoringError, match=fault):
        analyse(study(["strong"], People(endorsements=(row,))))


def test_reviews_of_two_judges_are_not_pooled():
    rows_of_two = (label("ada", "q0", "strong"), endorse("ada", "q0", True))
    other = rows_of_two[1].model_copy(update={"judge": "other"})
    with pytest.raises(ScoringError, match="2 judges: judge, other"):
        analyse(study(["strong"], People(labels=rows_of_two[:1], endorsements=(other,))))


def test_a_review_endorses_where_every_decision_is_endorsed():
    logic = {"decision": "logical_integrity", "shown": "fully_coherent"}
    moved = {"decision": "logical_integrity", "shown": "weak"}
    said = (
        endorse("ada", "q0", True),
        endorse("ada", "q0", False, **logic),
        endorse("ben", "q0", True),
        endorse("ben", "q0", True, **logic),
        # What else is said of a case with a planted decision is no part of the reviews.
        endorse("ada", "q1", True),
        endorse("ada", "q1", False, planted=True, **moved),
        endorse("ben", "q1", True),
        endorse("ben", "q1", True, planted=True, **moved),
    )
    found = analyse(study(["strong", "strong"], People(endorsements=said)))
    rates = {row[0]: (row[2], row[3].point) for row in rows(found, "judge-review-endorsed")}
    assert rates["all reviews"] == (2, 0.5)
    # Ben caught nothing of what was planted.
    assert rates["experts who catch at least half of what is planted"] == (1, 0.0)
    assert rates["evidence support"] == (2, 1.0)
    assert rates["logical integrity"] == (2, 0.5)
    assert rates["capability G"] == (4, 0.75)
    assert rates["logical integrity: fully coherent"] == (2, 0.5)
    planted = {row[0]: row[1:] for row in rows(found, "judge-review-planted")}
    assert planted["all"][:2] == (2, 1)
    assert planted["ada"][:3] == (1, 1, wilson(1, 1))
    assert planted["ben"][-1] == "catches fewer than half"


def test_where_all_is_planted_nothing_is_endorsed():
    said = (endorse("ada", "q0", False, planted=True), endorse("ben", "q0", True, planted=True))
    found = analyse(study(["strong"], People(endorsements=said)))
    assert [(row[2], row[3].point) for row in rows(found, "judge-review-endorsed")] == [
        (0, None),
        (0, None),
    ]
    assert rows(found, "judge-review-planted")[0][3].point == 0.5


def test_wilson_intervals():
    # 8 of 10: (0.4902, 0.9433), as in Newcombe (1998) and scipy.
    found = wilson(8, 10)
    assert (found.point, round(found.low, 4), round(found.high, 4)) == (0.8, 0.4902, 0.9433)
    assert wilson(0, 0).point is None


def test_the_published_endorsement():
    # Five experts, 300 cases, 1,352 of 1,500 endorsed (paper, Appendix L).
    said = tuple(endorse(f"expert {n % 5}", f"q{n // 5}", n < 1352) for n in range(1500))
    found = analyse(study(["strong"] * 300, People(endorsements=said)))
    _, _, n, rate, cases = rows(found, "judge-review-endorsed")[0]
    assert (n, cases) == (1500, 300)
    assert f"{100 * rate.point:.2f}" == "90.13"
    # A case's reviews are drawn together: wider than 1,500 independent ones would be.
    assert rate.high - rate.low > 2 * 1.96 * (0.9013 * 0.0987 / 1500) ** 0.5


def test_without_reviews_there_is_nothing_to_report():
    with pytest.raises(NotApplicable, match="No expert"):
        analyse(study(["strong"], People()))
