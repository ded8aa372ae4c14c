"""Where review stands, and what a curator should ask reviewers about."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construction.review.assigning import wanting
from construction.review.desk import (
    Stage,
    disagreements,
    disputed,
    item_status,
    item_statuses,
    set_statuses,
)
from construction.review.workload import (
    ENOUGH_VERDICTS,
    RULES,
    Flag,
    seconds_to_verdict,
    vote_flags,
    workloads,
)
from psychemme.vocabulary import (
    Approval,
    Capability,
    Closing,
    Format,
    SetKind,
    SkipReason,
    Verdict,
    VoteKind,
)
from state.review_values import AssignmentRecord, Board, ReviewedVersion, SetRecord, Vote
from tests.support.reviews import item_version, own_answer, reviewer
from tests.support.states import EPISODE_ID

MAIN = SetRecord(name="main", kind=SetKind.REVIEW, reviewers_per_item=3, opened_at=0)
SETS = {"main": MAIN}
DURATIONS = {(EPISODE_ID, 1): 20.0}
NAMES = ("ada", "ben", "cleo")
OK = dict.fromkeys(Verdict, Approval.APPROVE)
BAD = OK | {Verdict.ANSWER_CORRECTNESS: Approval.REJECT}


def vote(verdicts: Mapping[Verdict, Approval] | None = None, **changes: object) -> Vote:
    facts = {
        "kind": VoteKind.VERDICT if verdicts else VoteKind.SKIP,
        "verdicts": verdicts or {},
        "skip_reason": None if verdicts else SkipReason.DISTRESS,
        "seconds": 30.0,
        "watched": 1.0,
        "request_id": "r",
        "revision": 1,
        "committed_at": 1,
    }
    return Vote.model_validate(facts | changes)


def version(
    key: str = "1-c0", answers: Mapping[str, object] = {}, **votes: Vote
) -> ReviewedVersion:
    """A version assigned to all of NAMES, with one vote of each reviewer named."""
    return ReviewedVersion(
        item=item_version(key),
        set_name="main",
        opened_at=0,
        assigned=tuple(
            AssignmentRecord(candidate_key=key, version=1, reviewer_id=name, position=0)
            for name in NAMES
        ),
        answers={name: own_answer(given) for name, given in answers.items()},
        votes={name: (one,) for name, one in votes.items()},
    )


def closed(one: ReviewedVersion, outcome: Closing) -> ReviewedVersion:
    return one.model_copy(update={"closing": outcome})


def loads(*versions: ReviewedVersion):
    found = workloads(versions, [reviewer(name) for name in NAMES], DURATIONS)
    return {load.reviewer.id: load for load in found}


def test_an_item_is_open_until_its_verdicts_are_in_and_then_complete():
    half = item_status(version(ada=vote(OK), ben=vote(BAD)), MAIN)
    assert (half.stage, half.voted, half.approving, half.outcome) == (Stage.OPEN, 2, 1, None)
    full = item_status(version(ada=vote(OK), ben=vote(BAD), cleo=vote(OK)), MAIN)
    assert (full.stage, full.outcome) == (Stage.COMPLETE, Closing.REJECTED)
    same = item_status(version(ada=vote(OK), ben=vote(OK), cleo=vote(OK)), MAIN)
    assert (same.stage, same.outcome) == (Stage.COMPLETE, Closing.APPROVED)
    assert item_status(closed(same.version, Closing.APPROVED), MAIN).stage is Stage.APPROVED


def test_a_skip_is_no_verdict_and_leaves_a_reviewer_to_assign():
    skipped = version(ada=vote(OK), ben=vote())
    board = Board(sets=SETS, versions=(skipped,))
    (status,) = item_statuses(board.versions, SETS, wanting(board))
    assert (status.voted, status.skipped, status.lacking) == (1, 1, 1)
    (in_set,) = set_statuses([status], SETS)
    assert in_set.total.lacking == 1


def test_a_withdrawn_vote_counts_for_nothing():
    one = version(ada=vote(OK))
    gone = vote(kind=VoteKind.WITHDRAWAL, skip_reason=None, revision=2)
    withdrawn = one.model_copy(update={"votes": {"ada": (vote(OK), gone)}})
    assert item_status(withdrawn, MAIN).voted == 0
    assert loads(withdrawn)["ada"].done == 0


def test_a_set_counts_current_versions_by_stage_and_capability():
    complete = version("1-c1", ada=vote(OK), ben=vote(OK), cleo=vote(OK))
    replaced = closed(version("1-c2", ada=vote(OK)), Closing.REPLACED)
    (status,) = set_statuses(item_statuses([version(), complete, replaced], SETS), SETS)
    total = status.total
    assert (total.items, total.voted, total.wanted, total.progress) == (2, 3, 6, 0.5)
    assert total.stages[Stage.REPLACED] == 1
    assert status.by_capability == {Capability.GROUNDING: total}


def test_progress_of_nothing_is_zero():
    (status,) = set_statuses([], SETS)
    assert (status.total.items, status.total.progress) == (0, 0.0)


def test_disagreements_name_their_dimensions_and_leave_out_what_was_replaced():
    split = version("1-c1", ada=vote(OK), ben=vote(BAD))
    agreed = version("1-c2", ada=vote(BAD), ben=vote(BAD))
    replaced = closed(version("1-c3", ada=vote(OK), ben=vote(BAD)), Closing.REPLACED)
    (found,) = disagreements(item_statuses([split, agreed, replaced], SETS), SETS)
    assert found.status.place == ("1-c1", 1)
    assert found.dimensions == (Verdict.ANSWER_CORRECTNESS,)
    assert set(found.votes) == {"ada", "ben"}


def test_a_vote_after_the_discussion_is_no_disagreement():
    discussed = MAIN.model_copy(update={"discussed_at": 5})
    late = version(ada=vote(OK), ben=vote(BAD, committed_at=9))
    assert disagreements([item_status(late, discussed)], {"main": discussed}) == []


@given(st.lists(st.tuples(*[st.sampled_from(Approval)] * len(Verdict)), max_size=5))
def test_a_dimension_is_disputed_exactly_where_both_verdicts_occur(cast):
    votes = [vote(dict(zip(Verdict, one, strict=True))) for one in cast]
    for at, verdict in enumerate(Verdict):
        assert (verdict in disputed(votes)) == (len({one[at] for one in cast}) == 2)


def test_workload_counts_what_stands_and_leaves_out_replaced_versions():
    done = version("1-c1", {"ada": "A"}, ada=vote(OK, seconds=30))
    skipped = version("1-c2", ada=vote())
    replaced = closed(version("1-c3", ada=vote(OK)), Closing.REPLACED)
    ada = loads(done, skipped, replaced)["ada"]
    assert (ada.assigned, ada.done, ada.skipped) == (2, 1, 1)
    assert ada.seconds == 33.0  # 3 s before the own answer, 30 s after it
    assert (ada.blind, ada.matching) == (1, 1.0)
    ben = loads(done)["ben"]
    assert (ben.done, ben.seconds, ben.matching, dict(ben.flags)) == (0, None, None, {})


def test_seconds_run_to_the_first_verdict_only():
    one = version(answers={"ada": "A"}, ada=vote(OK, seconds=30))
    later = vote(BAD, seconds=500, revision=2)
    revised = one.model_copy(update={"votes": {"ada": (*one.votes["ada"], later)}})
    assert seconds_to_verdict(revised, "ada") == 33.0
    assert seconds_to_verdict(revised, "ben") is None


def test_who_is_faster_than_the_episode_is_flagged():
    hasty = version(ada=vote(OK, seconds=19.9), ben=vote(OK, seconds=20.0))
    found = loads(hasty)
    assert found["ada"].flags == {Flag.TOO_FAST: 1}
    assert found["ben"].flags == {}
    assert vote_flags(hasty, "ada", 20.0) == (Flag.TOO_FAST,)
    assert vote_flags(hasty, "cleo", 20.0) == ()


def test_a_pace_far_below_everybody_elses_is_flagged_though_the_episode_was_played():
    paces = (100, 110, 120, 130, 140, 150)
    usual = [version(f"1-c{n}", ben=vote(OK, seconds=s)) for n, s in enumerate(paces)]
    assert loads(*usual, version("1-c9", ada=vote(OK, seconds=24)))["ada"].flags == {
        Flag.TOO_FAST: 1
    }
    assert loads(*usual, version("1-c9", ada=vote(OK, seconds=95)))["ada"].flags == {}


def test_watching_less_than_the_whole_episode_is_flagged():
    cut = version(ada=vote(OK, watched=0.94), ben=vote(OK, watched=0.95))
    assert loads(cut)["ada"].flags == {Flag.HALF_WATCHED: 1}
    assert loads(cut)["ben"].flags == {}
    # What was played before the own answer counts as well.
    before = version(answers={"ada": "A"}, ada=vote(OK, watched=0.1))
    assert loads(before)["ada"].flags == {}


@pytest.mark.parametrize(
    ("count", "differs", "flagged"),
    [
        (ENOUGH_VERDICTS, True, True),
        (ENOUGH_VERDICTS, False, False),
        (ENOUGH_VERDICTS - 1, True, False),
    ],
)
def test_one_verdict_for_everything_is_flagged_where_others_differ(count, differs, flagged):
    other = BAD if differs else OK
    many = [version(f"1-c{n}", ada=vote(OK)) for n in range(count - 1)]
    many.append(version("1-c99", ada=vote(OK), ben=vote(other)))
    assert (Flag.ALWAYS_THE_SAME in loads(*many)["ada"].flags) is flagged


def test_blind_answers_far_from_the_reference_are_flagged_against_the_others():
    def many(wrong: int) -> list[ReviewedVersion]:
        return [
            version(f"1-c{n}", {"ada": "B" if n < wrong else "A", "ben": "A", "cleo": "A"})
            for n in range(12)
        ]

    assert loads(*many(3))["ada"].flags == {Flag.BLIND_DIFFERS: 3}
    assert loads(*many(2))["ada"].flags == {}
    assert loads(*many(12))["ben"].flags == {}


def test_unblinded_and_open_answers_match_nothing():
    seen = version(answers={"ada": "A"})
    own = seen.answers["ada"].model_copy(update={"is_unblinded": True})
    text = version("1-c1").model_copy(
        update={"item": item_version("1-c1", Format.OPEN), "answers": {"ada": own_answer("tea")}}
    )
    assert loads(seen.model_copy(update={"answers": {"ada": own}}), text)["ada"].blind == 0


def test_every_flag_states_its_rule():
    assert set(RULES) == set(Flag)


def test_a_vote_without_seconds_says_nothing_of_the_pace():
    cast_elsewhere = version("1-c0", ada=vote(OK, seconds=0))
    assert seconds_to_verdict(cast_elsewhere, "ada") is None
    assert vote_flags(cast_elsewhere, "ada", 20.0) == ()
    timed = version("1-c1", ada=vote(OK, seconds=40))
    ada = loads(cast_elsewhere, timed)["ada"]
    assert (ada.done, ada.seconds, ada.flags) == (2, 40.0, {})


@pytest.mark.parametrize(
    ("changes", "flags"),
    [({"watched": 0.94}, 1), ({"watched": 0.95}, 0), ({"watched": 0, "is_unblinded": True}, 0)],
)
def test_a_blind_answer_before_the_clip_was_watched_is_flagged(changes, flags):
    own = own_answer("A").model_copy(update=changes)
    early = version(ada=vote(OK)).model_copy(update={"answers": {"ada": own}})
    assert loads(early)["ada"].flags == ({Flag.ANSWERED_EARLY: flags} if flags else {})
    assert vote_flags(early, "ada", 20.0) == (Flag.ANSWERED_EARLY,) * flags
    waiting = early.model_copy(update={"votes": {}})
    assert vote_flags(waiting, "ada", 20.0) == (Flag.ANSWERED_EARLY,) * flags
