import re
from itertools import combinations, product
from statistics import mean
from typing import get_args

import pytest

from psychemme.vocabulary import Capability
from psychology_kb.load import Trigger, load_profile

NORMS = load_profile("psychemme8").norms
EACH_NORM = pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.id)


def hits(text, markers):
    return sum(bool(re.search(rf"\b{re.escape(marker)}\b", text.lower())) for marker in markers)


def longest_is_fitting(norm):
    """Return how often the fitting text is the longest beside each three unfitting ones."""
    longest = [max(map(len, others)) for others in combinations(norm.unfitting, 3)]
    pairs = product(map(len, norm.fitting), longest)
    return mean(0.5 if own == other else float(own > other) for own, other in pairs)


@pytest.mark.parametrize("trigger", get_args(Trigger))
@pytest.mark.parametrize("capability", [Capability.RESPONSE, Capability.ACTION, Capability.RISK])
def test_every_trigger_has_one_norm_for_each_kind_of_response(trigger, capability):
    found = [norm for norm in NORMS if norm.trigger == trigger and capability in norm.applies_to]
    assert len(found) == 1


def test_norms_are_found_by_capability():
    kb = load_profile("psychemme8")
    assert {norm.trigger for norm in kb.norms_for(Capability.RISK)} == set(get_args(Trigger))
    assert kb.norms_for(Capability.GROUNDING) == ()


@EACH_NORM
def test_there_are_enough_texts_and_none_counts_as_both(norm):
    assert len(norm.fitting) >= 6
    assert len(norm.unfitting) >= 6
    texts = [text.lower() for text in norm.fitting + norm.unfitting]
    assert len(set(texts)) == len(texts)


@EACH_NORM
def test_length_does_not_give_the_fitting_text_away(norm):
    assert 0.1 <= longest_is_fitting(norm) <= 0.4


def test_over_all_norms_the_longest_option_is_right_about_as_often_as_chance():
    assert mean(map(longest_is_fitting, NORMS)) == pytest.approx(0.25, abs=0.05)


@EACH_NORM
def test_markers_tell_fitting_from_unfitting(norm):
    for text in norm.fitting:
        assert hits(text, norm.restrained_markers) > hits(text, norm.intrusive_markers)
    for text in norm.unfitting:
        assert hits(text, norm.restrained_markers) < hits(text, norm.intrusive_markers)


@EACH_NORM
def test_markers_are_distinct_lower_case_phrases(norm):
    markers = norm.intrusive_markers + norm.restrained_markers
    assert len(set(markers)) == len(markers)
    assert all(marker == " ".join(marker.lower().split()) for marker in markers)
