from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from construction.coverage import CoverageReport, Outcome, Tally, by, coverage
from construction.plan import Target
from psychemme.vocabulary import EVER_ACCEPTED, CandidateState, Capability, DurationBand, Format

TARGETS = (
    Target(capability="G", format="single", count=5),
    Target(capability="G", format="single", source_group="vlog", count=2),
    Target(capability="T", format="single", duration_band=">60", count=1),
)


def outcome(state="accepted", **more):
    fields = {
        "episode_id": "e",
        "capability": "G",
        "format": "single",
        "source_group": "vlog",
        "duration_band": "<=30",
        "state": state,
    }
    return Outcome(**fields | more)


outcomes = st.lists(
    st.builds(
        Outcome,
        episode_id=st.sampled_from("abc"),
        capability=st.sampled_from([Capability.GROUNDING, Capability.TIMING]),
        format=st.sampled_from(Format),
        source_group=st.sampled_from(["vlog", "interview", "*", ""]),
        duration_band=st.sampled_from(DurationBand),
        state=st.sampled_from(CandidateState),
        reason=st.sampled_from([None, "rounds_spent", "declined"]),
    ),
    max_size=60,
)


@given(outcomes)
@settings(deadline=None)
def test_every_candidate_is_counted_once(found):
    report = coverage(TARGETS, found)
    totals = report.to_json()["totals"]
    fates = ("accepted", "discarded", "failed", "pending")
    assert totals["started"] == len(found) == sum(totals[fate] for fate in fates)
    for fate in fates:
        assert sum(getattr(row.tally, fate) for row in report.rows) == totals[fate]
    assert sum(row.target for row in report.rows) == 8
    assert totals["accepted"] == sum(o.state in EVER_ACCEPTED for o in found)
    assert sum(report.reasons.values()) == totals["discarded"]
    assert sum((Counter(row.reasons) for row in report.rows), Counter()) == report.reasons


@given(outcomes, st.randoms())
@settings(deadline=None)
def test_the_order_of_outcomes_does_not_matter(found, random):
    shuffled = random.sample(found, len(found))
    assert coverage(TARGETS, shuffled) == coverage(TARGETS, found)


@given(outcomes, st.sampled_from(["capability", "format", "source_group", "duration_band"]))
@settings(deadline=None)
def test_a_breakdown_counts_every_candidate_once(found, dimension):
    rows = by(dimension, TARGETS, found)
    assert sum(row.tally.started for row in rows) == len(found)
    assert len({getattr(row, dimension) for row in rows}) == len(rows)


def test_a_candidate_counts_in_the_most_specific_target_and_others_get_a_row():
    found = [outcome(), outcome(source_group="interview"), outcome(format="open")]
    rows = coverage(TARGETS, found).to_json()["cells"]
    assert [(r["format"], r["source_group"], r["duration_band"], r["target"]) for r in rows] == [
        ("single", "*", "*", 5),
        ("single", "vlog", "*", 2),
        ("open", "vlog", "<=30", 0),
        ("single", "*", ">60", 1),
    ]
    assert [r["accepted"] for r in rows] == [1, 1, 1, 0]
    assert [r["deficit"] for r in rows] == [4, 1, 0, 1]


def test_the_json_has_the_promised_keys():
    report = coverage(TARGETS, [outcome("discarded", reason="declined")]).to_json()
    assert list(report) == ["totals", "cells"]
    assert list(report["totals"]) == ["started", "accepted", "discarded", "failed", "pending"]
    assert list(report["cells"][0]) == [
        *("capability", "format", "source_group", "duration_band", "target"),
        *("attempts", "accepted", "discarded", "failed", "yield", "deficit"),
    ]


def test_yield_leaves_failures_and_pending_out():
    found = [outcome(), outcome("frozen"), outcome("discarded"), outcome("failed")]
    row = coverage((), [*found, outcome("pending")]).rows[0]
    assert (row.tally.attempts, row.acceptance) == (3, pytest.approx(2 / 3))
    assert coverage((), [outcome("failed")]).to_json()["cells"][0]["yield"] is None


def test_discards_are_counted_by_reason():
    found = [outcome("discarded", reason="declined"), outcome("discarded"), outcome(reason="x")]
    assert coverage((), found).reasons == {"declined": 1, "unexplained": 1}


def test_a_surplus_hides_no_deficit():
    targets = (
        Target(capability="G", format="single", count=1),
        Target(capability="G", format="open", count=3),
    )
    (row,) = by("capability", targets, [outcome()] * 5)
    assert (row.target, row.tally.accepted, row.deficit) == (4, 5, 3)


def test_a_report_that_does_not_reconcile_cannot_be_made():
    with pytest.raises(ValidationError, match="started 2"):
        CoverageReport(started=2, totals=Tally(accepted=1), rows=(), reasons={})


def test_nothing_started_is_all_targets_and_zeros():
    report = coverage(TARGETS, [])
    assert report.totals.started == 0
    assert [row.deficit for row in report.rows] == [5, 2, 1]
