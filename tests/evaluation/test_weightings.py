import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.scoring import EvidenceSupport, ItemScore, LogicalIntegrity, score_run
from evaluation.weightings import (
    LOGIC_ONLY,
    MEAN,
    MINIMUM,
    PAPER,
    SOFT,
    STRICT,
    STRONGEST_ONLY,
    SUPPORT_ONLY,
    THRESHOLD,
    WEIGHTINGS,
)
from psychemme.vocabulary import Capability, Format

supports, logics = st.sampled_from(EvidenceSupport), st.sampled_from(LogicalIntegrity)
weightings = st.sampled_from(WEIGHTINGS)


def item(support, logic, a=1.0, c=1):
    return ItemScore(
        item_id="i",
        episode_id="e",
        recording_group="g",
        capability=Capability.NEED,
        format=Format.OPEN,
        a=a,
        c=c,
        support=support,
        logic=logic,
    )


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        (PAPER, 0.8 * 1.0 / 1.44),
        (SOFT, 0.9 * 1.0 / 1.21),
        (STRICT, 0.6 * 1.0 / 1.44),
        (MEAN, 0.9 / 1.2),
        (MINIMUM, 0.8 / 1.2),
        (SUPPORT_ONLY, 0.8 / 1.2),
        (LOGIC_ONLY, 1.0 / 1.2),
        (THRESHOLD, 0.0),
        (STRONGEST_ONLY, 0.0),
    ],
)
def test_weak_support_with_acceptable_logic_by_hand(weighting, expected):
    found = weighting.weight(EvidenceSupport.WEAK, LogicalIntegrity.ACCEPTABLE)
    assert found == pytest.approx(expected, abs=1e-15)


def test_contradictions_by_hand():
    labels = EvidenceSupport.CONTRADICTED, LogicalIntegrity.CONTRADICTORY
    assert SOFT.weight(*labels) == pytest.approx(0.49 / 1.21)
    assert STRICT.weight(*labels) == pytest.approx(0.09 / 1.44)


def test_thresholds_by_hand():
    normal = EvidenceSupport.NORMAL, LogicalIntegrity.ACCEPTABLE
    assert THRESHOLD.weight(*normal) == 1
    assert STRONGEST_ONLY.weight(*normal) == 0
    assert THRESHOLD.weight(EvidenceSupport.STRONG, LogicalIntegrity.WEAK) == 0


@given(weightings, supports, logics)
def test_every_weighting_is_bounded_and_strict_about_nothing(weighting, support, logic):
    best = weighting.weight(EvidenceSupport.STRONG, LogicalIntegrity.FULLY_COHERENT)
    assert 0 <= weighting.weight(support, logic) <= best == 1
    assert weighting.weight(EvidenceSupport.INSUFFICIENT, logic) == 0
    assert weighting.weight(support, LogicalIntegrity.UNEVALUABLE) == 0
    assert weighting.credit(item(support, logic, c=0)) == 0
    assert weighting.credit(item(support, logic, a=0.0)) == 0


@given(weightings, supports, logics)
def test_every_weighting_grows_with_the_labels(weighting, support, logic):
    over_support = [weighting.weight(label, logic) for label in EvidenceSupport]
    over_logic = [weighting.weight(support, label) for label in LogicalIntegrity]
    assert over_support == sorted(over_support, reverse=True)
    assert over_logic == sorted(over_logic, reverse=True)


@given(supports, logics, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_papers_weighting_is_v(support, logic, a):
    score = item(support, logic, a)
    assert PAPER.credit(score) == score.v


def test_scores_under_other_weights_keep_raw():
    items = [item("weak", "acceptable")]
    scores = score_run(items, [Capability.NEED], SOFT.credit)
    assert (scores.raw, scores.verified) == pytest.approx((1, 0.9 / 1.21))
    silent = item(None, None, c=0)
    assert SOFT.credit(silent) == 0
