"""N distinct reviewers, all three verdicts, nobody against; and which votes count at all."""

from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.review.unanimity import counted_votes, is_unanimous, outcome_of, wanted
from psychemme.vocabulary import Approval, Closing, SetKind, SkipReason, Verdict, VoteKind
from state.review_values import AssignmentRecord, ReviewedVersion, SetRecord, Vote
from tests.support.reviews import REVIEWERS, approval, item_version

YES, NO, SKIP, BACK = "yes", "no", "skip", "back"
ACTS = (YES, NO, SKIP, BACK)


def of_set(wanted: int = 3, discussed_at: int | None = None) -> SetRecord:
    return SetRecord(
        name="main",
        kind=SetKind.CALIBRATION,
        reviewers_per_item=wanted,
        opened_at=0,
        discussed_at=discussed_at,
    )


def vote(act: str, revision: int) -> Vote:
    """Return a vote cast at `revision` microseconds."""
    given_ = {
        YES: {},
        NO: {
            "verdicts": dict.fromkeys(Verdict, Approval.APPROVE) | {"answer_correctness": "reject"}
        },
        SKIP: {"kind": VoteKind.SKIP, "verdicts": {}, "skip_reason": SkipReason.DISTRESS},
        BACK: {"kind": VoteKind.WITHDRAWAL, "verdicts": {}},
    }[act]
    ballot = approval(f"r{revision}", **given_)
    return Vote(**dict(ballot), revision=revision, committed_at=revision)


def version(votes: Mapping[str, Sequence[str]], asked: Collection[str] = ()) -> ReviewedVersion:
    return ReviewedVersion(
        item=item_version("1-c0"),
        set_name="main",
        opened_at=0,
        assigned=tuple(
            AssignmentRecord(candidate_key="1-c0", version=1, reviewer_id=name, position=0)
            for name in asked
        ),
        votes={
            name: tuple(vote(act, number) for number, act in enumerate(acts, 1))
            for name, acts in votes.items()
        },
    )


def outcome(votes: Mapping[str, Sequence[str]], **facts: int) -> Closing | None:
    return outcome_of(version(votes), of_set(**facts), ())


def test_all_who_are_wanted_approve() -> None:
    assert outcome({"ada": [YES], "ben": [YES], "cleo": [YES]}) is Closing.APPROVED
    assert outcome({"ada": [YES], "ben": [YES]}) is None
    assert outcome({}) is None


def test_one_verdict_against_rejects() -> None:
    assert outcome({"ada": [YES], "ben": [NO], "cleo": [YES]}) is Closing.REJECTED


def test_nobody_is_outvoted() -> None:
    many = {name: [YES] for name in REVIEWERS[:4]}
    assert outcome(many) is Closing.APPROVED
    assert outcome(many | {"eli": [NO]}) is Closing.REJECTED


def test_everybody_who_was_asked_is_waited_for() -> None:
    three = {name: [YES] for name in REVIEWERS[:3]}
    assert outcome_of(version(three, REVIEWERS), of_set(), ()) is None
    assert wanted(version(three, REVIEWERS), of_set(), ()) == 5
    skipped = three | {"dev": [SKIP], "eli": [NO]}
    assert outcome_of(version(skipped, REVIEWERS), of_set(), ()) is Closing.REJECTED
    assert outcome_of(version(three | {"dev": [NO, BACK]}, REVIEWERS), of_set(), {"eli"}) is None


def test_whoever_is_revoked_is_not_waited_for_and_a_verdict_stays() -> None:
    held = version({name: [YES] for name in REVIEWERS[:3]}, REVIEWERS)
    assert outcome_of(held, of_set(), {"dev"}) is None
    assert outcome_of(held, of_set(), {"dev", "eli"}) is Closing.APPROVED
    against = version({"ada": [NO], "ben": [YES], "cleo": [YES]}, REVIEWERS)
    assert outcome_of(against, of_set(), {"ada", "dev", "eli"}) is Closing.REJECTED
    few = version({"ada": [YES], "ben": [YES]}, REVIEWERS)
    assert outcome_of(few, of_set(), {"cleo", "dev", "eli"}) is None


def test_nobody_is_waited_for_after_a_discussion() -> None:
    held = version({name: [YES] for name in REVIEWERS[:3]}, REVIEWERS)
    assert outcome_of(held, of_set(discussed_at=1), ()) is Closing.APPROVED


def test_one_reviewer_who_votes_often_is_one() -> None:
    assert outcome({"ada": [YES, YES, YES], "ben": [YES]}) is None


def test_a_skip_is_replaced_and_never_counted() -> None:
    held = {"ada": [YES], "ben": [YES], "cleo": [SKIP]}
    assert outcome(held) is None
    assert outcome(held | {"dev": [YES]}) is Closing.APPROVED
    assert outcome({name: [SKIP] for name in REVIEWERS}) is None


def test_a_withdrawn_vote_is_none_until_another_is_cast() -> None:
    held = {"ada": [YES], "ben": [YES]}
    assert outcome(held | {"cleo": [YES, BACK]}) is None
    assert outcome(held | {"cleo": [NO, BACK, YES]}) is Closing.APPROVED
    assert outcome(held | {"cleo": [SKIP, BACK]}) is None
    assert outcome(held | {"cleo": [SKIP, BACK, YES]}) is Closing.APPROVED
    assert outcome(held | {"cleo": [YES, NO]}) is Closing.REJECTED
    assert outcome(held | {"cleo": [YES, SKIP]}) is None


@pytest.mark.parametrize(
    ("acts", "stands"),
    [
        ([YES, NO], YES),
        ([NO, YES], NO),
        ([YES, BACK], YES),
        ([YES, SKIP], YES),
        ([SKIP, YES], None),
        ([BACK, YES], None),
    ],
)
def test_after_a_discussion_the_vote_before_it_stands(acts: list[str], stands: str | None) -> None:
    counted = counted_votes(version({"ada": acts}), of_set(discussed_at=1))
    expected = {} if stands is None else {"ada": vote(stands, 1)}
    assert counted == expected


def test_a_first_vote_after_the_discussion_counts_for_nothing() -> None:
    late = version({"ada": [YES], "ben": [YES]})
    assert outcome_of(late, of_set(wanted=2, discussed_at=1), ()) is Closing.APPROVED
    assert counted_votes(late, of_set(wanted=2, discussed_at=0)) == {}
    assert outcome_of(late, of_set(wanted=2, discussed_at=0), ()) is None


HISTORIES = st.dictionaries(
    st.sampled_from(REVIEWERS), st.lists(st.sampled_from(ACTS), min_size=1, max_size=4)
)


@settings(deadline=None)
@given(HISTORIES, st.integers(1, 5), st.none() | st.integers(0, 4))
def test_approved_means_that_every_last_word_that_counts_approves(
    votes: dict[str, list[str]], wanted: int, discussed_at: int | None
) -> None:
    last = [acts[:discussed_at][-1] for acts in votes.values() if acts[:discussed_at]]
    judged = [act for act in last if act in (YES, NO)]
    reviewed, record = version(votes), of_set(wanted, discussed_at)
    counted = counted_votes(reviewed, record)
    assert len(counted) == len(judged)
    unanimous = len(judged) >= wanted and set(judged) == {YES}
    assert is_unanimous(counted, record) is unanimous
    assert (outcome_of(reviewed, record, ()) is Closing.APPROVED) is unanimous
    assert (outcome_of(reviewed, record, ()) is None) is (len(judged) < wanted)
