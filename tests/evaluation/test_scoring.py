import csv
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evaluation.scoring import (
    E,
    EvidenceSupport,
    ItemScore,
    L,
    LogicalIntegrity,
    Losses,
    ScoringError,
    Stages,
    macro,
    macro_mean,
    pool,
    ratio,
    score_run,
    stage_credits,
    stage_losses,
    strata,
    verified_credit,
)
from psychemme.vocabulary import Capability, Format

REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"
G, T = Capability.GROUNDING, Capability.TIMING

item_scores = st.builds(
    ItemScore,
    item_id=st.just("i"),
    episode_id=st.just("e"),
    recording_group=st.just("g"),
    capability=st.sampled_from(Capability),
    format=st.sampled_from(Format),
    a=st.sampled_from([0.0, 0.5, 1.0]),
    c=st.sampled_from([0, 1]),
    support=st.sampled_from(EvidenceSupport),
    logic=st.sampled_from(LogicalIntegrity),
)


def item(a=1.0, support="strong", logic="fully_coherent", **more):
    fields = {
        "item_id": "i",
        "episode_id": "e",
        "recording_group": "g",
        "capability": G,
        "format": "open",
        "a": a,
        "c": 1,
        "support": support,
        "logic": logic,
    }
    return ItemScore(**fields | more)


def rows(name):
    path = REFERENCE / name
    if not path.exists():
        pytest.skip("the reference tables are not here")
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("symbols", "percent"),
    [
        ((1, 1, 1.2, 1.2), "100.00"),
        ((1, 1, 1.0, 1.0), "69.44"),
        ((1, 1, 0.8, 1.2), "66.67"),
        ((1, 1, 1.2, 0.5), "41.67"),
        ((0.5, 1, 0.8, 0.5), "13.89"),
        ((1, 0, 1.2, 1.2), "0.00"),
        ((0, 1, 1.2, 1.2), "0.00"),
    ],
)
def test_verified_credit_by_hand(symbols, percent):
    assert f"{100 * verified_credit(*symbols):.2f}" == percent


def test_the_papers_scoring_cases_are_exact():
    for row in rows("psychemme_scoring_cases.csv"):
        v = verified_credit(*(float(row[symbol]) for symbol in "acel"))
        assert f"{100 * v:.2f}" == row["verified_percent"], row["case"]


def test_labels_weigh_what_the_paper_says():
    assert [E[label] for label in EvidenceSupport] == [1.2, 1.0, 0.8, 0.5, 0.0]
    assert [L[label] for label in LogicalIntegrity] == [1.2, 1.0, 0.8, 0.5, 0.0]


def test_stages_and_losses_by_hand():
    stages, losses = stage_credits(0.5, 1, 0.6, 0.6), stage_losses(0.5, 1, 0.6, 0.6)
    assert stages == pytest.approx(Stages(0.5, 0.5, 0.25, 0.125))
    assert losses == pytest.approx(Losses(0.5, 0.0, 0.25, 0.125))
    assert stage_losses(1, 0, 1.2, 1.2) == Losses(0, 1, 0, 0)


@given(item_scores)
def test_credit_is_bounded_and_losses_are_complete(score):
    assert 0 <= score.v <= score.a <= 1
    assert all(loss >= 0 for loss in score.losses)
    assert isclose(sum(score.losses) + score.v, 1, abs_tol=1e-15)
    assert score.stages[-1] == score.v
    assert all(x >= y - 1e-15 for x, y in zip(score.stages, score.stages[1:], strict=False))


@given(item_scores)
def test_a_better_label_never_costs_credit(score):
    """Each ladder starts with the strongest label."""
    ladders = {"a": [1.0, 0.5, 0.0], "c": [1, 0], "support": EvidenceSupport}
    for field, ladder in {**ladders, "logic": LogicalIntegrity}.items():
        credits_ = [score.model_copy(update={field: value}).v for value in ladder]
        assert credits_ == sorted(credits_, reverse=True)


def test_scores_by_hand():
    """G: a 1, 1 and v 1, 0.5/1.2; T: a 0.5 and v 0.5 (1/1.44)."""
    items = [
        item(),
        item(logic="contradictory"),
        item(a=0.5, capability=T, support="normal", logic="acceptable"),
    ]
    scores = score_run(items, [G, T])
    g, t = scores.capabilities[G], scores.capabilities[T]
    assert (g.n, t.n, scores.n) == (2, 1, 3)
    assert (g.raw, t.raw, scores.raw) == (1.0, 0.5, 0.75)
    v_g, v_t = (1 + 0.5 / 1.2) / 2, 0.5 / 1.44
    assert (g.verified, t.verified) == pytest.approx((v_g, v_t))
    assert scores.verified == pytest.approx((v_g + v_t) / 2)
    assert (g.retention, t.retention) == pytest.approx((v_g, 1 / 1.44))
    assert scores.retention == pytest.approx((v_g + v_t) / 2 / 0.75)
    assert scores.extent == "2 of 8"
    assert pool(items).raw == pytest.approx(2.5 / 3)


def test_a_declared_capability_without_items_leaves_the_macro_undefined():
    scores = score_run([item()], [G, T])
    assert scores.capabilities[T] is None
    assert (scores.raw, scores.verified, scores.retention) == (None, None, None)
    assert macro([item()], [G, T], lambda one: one.losses.logic) is None


def test_retention_of_nothing_is_undefined_not_zero():
    scores = score_run([item(a=0.0)], [G])
    assert (scores.raw, scores.verified, scores.retention) == (0.0, 0.0, None)
    assert scores.capabilities[G].retention is None
    assert ratio(1.0, 0.0) is ratio(None, 1.0) is None
    assert macro_mean([]) is None


def test_no_item_raises_and_an_undeclared_capability_is_named():
    with pytest.raises(ScoringError, match="no item"):
        score_run([], [G])
    with pytest.raises(ScoringError, match="no item"):
        pool([])
    with pytest.raises(ScoringError, match="capability T"):
        score_run([item(capability=T)], [G])


def test_strata_weigh_items_equally():
    items = [item(format="single", a=0.0), item(format="single"), item(a=0.5)]
    found = strata(items, lambda one: one.format)
    assert found[Format.SINGLE].raw == found[Format.OPEN].raw == 0.5
    assert (found[Format.SINGLE].n, found[Format.OPEN].n) == (2, 1)


@pytest.mark.parametrize(
    ("missing", "low", "high"),
    [
        ({"a": None, "c": None, "support": None, "logic": None}, (0, 0), (1, 1)),
        ({"support": None, "logic": None}, (1, 0), (1, 1)),
        ({"logic": None, "support": "weak"}, (1, 0), (1, 0.8 / 1.2)),
        ({"a": None, "c": 0}, (0, 0), (1, 0)),
    ],
)
def test_an_unscored_item_has_bounds_and_no_score(missing, low, high):
    unscored = item(**missing)
    assert not unscored.scored
    for read in ("v", "stages", "losses"):
        with pytest.raises(ScoringError, match="unscored"):
            getattr(unscored, read)
    with pytest.raises(ScoringError, match="unscored"):
        score_run([unscored], [G])
    for bound, expected in ((0, low), (1, high)):
        filled = unscored.filled(bound)
        assert (filled.a, filled.v) == pytest.approx(expected)
        assert filled.filled(bound) is filled


def test_without_coverage_no_judgement_is_needed():
    silent = item(c=0, support=None, logic=None)
    assert silent.scored
    assert silent.v == 0


def test_credit_is_one_of_three():
    with pytest.raises(ValidationError, match=r"not 0, 0\.5 or 1"):
        item(a=0.7)


def published(rate, n, capability):
    """Return items that earn the credit a published rate stands for, in halves."""
    halves = round(2 * rate * n / 100)
    earned = [1.0] * (halves // 2) + [0.5] * (halves % 2)
    return [item(a=a, capability=capability) for a in earned + [0.0] * (n - len(earned))]


def test_published_raw_scores_reproduce_from_counts():
    counts = {
        row["capability"]: int(row["questions"]) for row in rows("psychemme_capability_counts.csv")
    }
    for row in rows("psychemme_adaptation_raw.csv"):
        items = [one for name, n in counts.items() for one in published(float(row[name]), n, name)]
        scores = score_run(items, list(Capability))
        assert scores.n == 1000
        for name, found in scores.capabilities.items():
            assert f"{100 * found.raw:.2f}" == row[name], (row["model"], name)
        assert f"{100 * scores.raw:.2f}" == row["raw_macro"], row["model"]


def test_a_published_row_by_hand():
    """Base in Table 13: 29 of 72 Timing items, 119 of 186 Grounding items."""
    assert f"{100 * pool(published(40.28, 72, T)).raw:.2f}" == "40.28"
    scores = score_run([*published(63.98, 186, G), *published(40.28, 72, T)], [G, T])
    assert scores.raw == pytest.approx((119 / 186 + 29 / 72) / 2, abs=1e-15)


@given(st.lists(item_scores, min_size=1, max_size=40), st.randoms())
def test_the_order_of_items_changes_no_bit(items, random):
    shuffled = random.sample(items, len(items))
    assert score_run(items, list(Capability)) == score_run(shuffled, list(Capability))
