"""Which answers and ballots are accepted."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.review.rules import (
    ENOUGH_WATCHED,
    LONGEST_COMMENT,
    OTHER,
    answer_faults,
    ballot_faults,
    differs,
    reasons_for,
)
from psychemme.items import Answer
from psychemme.vocabulary import Approval, Capability, Format, SkipReason, Verdict, VoteKind
from psychology_kb.load import load_review
from state.review_values import Ballot, BlindAnswer, BlindItem, Revealed
from tests.support.reviews import approval, item_version, own_answer

FORM = load_review("psychemme8")
RIGHT: dict[Format, Answer] = {
    Format.SINGLE: "A",
    Format.MULTIPLE: ["A", "B"],
    Format.OPEN: "hold the ladder",
}
SEEN = {"position": 0, "is_unblinded": False, "is_closed": False, "is_calibration": False}


def item(form: Format = Format.SINGLE) -> BlindItem:
    shown = item_version("1-c0", form).model_dump(exclude={"revealed"})
    return BlindItem.model_validate(shown | SEEN)


def revealed(form: Format = Format.SINGLE, capability: Capability = Capability.GROUNDING) -> Any:
    return item_version("1-c0", form).revealed.model_copy(update={"capability": capability})


def faults(
    ballot: Ballot,
    own: BlindAnswer | None = None,
    shown: Revealed | None = None,
    form: Format = Format.SINGLE,
) -> list[str]:
    own = own or own_answer(RIGHT[form])
    return ballot_faults(FORM, item(form), shown or revealed(form), own, ballot)


def rejecting(*reasons: str, comment: str = "", of: Verdict = Verdict.QUESTION_VALIDITY) -> Ballot:
    verdicts = dict.fromkeys(Verdict, Approval.APPROVE) | {of: Approval.REJECT}
    return approval("r", verdicts=verdicts, reasons={of: reasons}, comment=comment)


@pytest.mark.parametrize("form", Format)
def test_an_approval_by_one_who_answered_right_is_accepted(form: Format) -> None:
    assert faults(approval("r"), form=form) == []


@pytest.mark.parametrize("missing", Verdict)
def test_all_three_verdicts_are_asked_for(missing: Verdict) -> None:
    given_ = {verdict: Approval.APPROVE for verdict in Verdict if verdict is not missing}
    (fault,) = faults(approval("r", verdicts=given_))
    assert missing.replace("_", " ") in fault
    assert len(faults(approval("r", verdicts={}))) == 3


@pytest.mark.parametrize("of", Verdict)
def test_a_rejection_needs_a_reason_of_that_verdict(of: Verdict) -> None:
    own = {verdict.id: verdict.reject_reasons[0].id for verdict in FORM.verdicts}
    assert faults(rejecting(own[of], of=of)) == []
    assert "Say why" in faults(rejecting(of=of))[0]
    for other in set(Verdict) - {of}:
        (fault,) = faults(rejecting(own[other], of=of))
        assert "is no reason" in fault


@pytest.mark.parametrize("capability", Capability)
def test_a_reason_counts_where_it_applies_to_the_capability(capability: Capability) -> None:
    for question in FORM.verdicts:
        for reason in question.reject_reasons:
            ballot = rejecting(reason.id, of=question.id)
            applies = not reason.applies_to or capability in reason.applies_to
            assert (faults(ballot, shown=revealed(capability=capability)) == []) == applies
            assert (reason in reasons_for(question, capability)) == applies


def test_another_reason_needs_words() -> None:
    assert faults(rejecting(OTHER, comment="The lamp hides her face.")) == []
    for comment in ("", " \n\t", "\u200b\u3164"):
        assert "what else is wrong" in faults(rejecting(OTHER, comment=comment))[0]


def test_reasons_do_not_belong_to_an_approval() -> None:
    reasons = {Verdict.QUESTION_VALIDITY: ("unclear_referent",)}
    assert "is approved" in faults(approval("r", reasons=reasons))[0]


@pytest.mark.parametrize(
    ("form", "answer"), [(Format.SINGLE, "B"), (Format.MULTIPLE, ["A"]), (Format.MULTIPLE, ["B"])]
)
def test_who_answered_otherwise_explains_an_approval(form: Format, answer: Answer) -> None:
    own = own_answer(answer)
    assert "differs from the reference" in faults(approval("r"), own, form=form)[0]
    assert faults(approval("r", comment="I misread B."), own, form=form) == []
    assert faults(rejecting("unclear_referent"), own) == []


@pytest.mark.parametrize(
    ("form", "answer", "expected"),
    [
        (Format.SINGLE, ["A"], False),
        (Format.MULTIPLE, ["B", "A", "A"], False),
        (Format.MULTIPLE, ["A", "B", "C"], True),
        (Format.OPEN, "something else", False),
    ],
)
def test_answers_differ_by_their_options_alone(
    form: Format, answer: Answer, expected: bool
) -> None:
    assert differs(item(form), revealed(form), own_answer(answer)) is expected


@pytest.mark.parametrize(
    ("before", "after", "enough"),
    [
        (1.0, 0.0, True),
        (0.0, 1.0, True),
        (ENOUGH_WATCHED, 0.0, True),
        (0.94, 0.94, False),
        (0.5, math.nan, False),
        (math.nan, 0.5, False),
        (math.nan, 1.0, True),
    ],
)
def test_the_whole_clip_is_watched_in_either_step(
    before: float, after: float, enough: bool
) -> None:
    own = own_answer("A").model_copy(update={"watched": before})
    assert (faults(approval("r", watched=after), own) == []) is enough


def test_a_verdict_needs_the_own_answer_and_the_reference() -> None:
    for shown, own in ((None, own_answer()), (revealed(), None)):
        found = ballot_faults(FORM, item(), shown, own, approval("r"))
        assert found == ["Commit your own answer first."]


def test_a_skip_needs_a_reason_and_gives_no_verdict() -> None:
    skip = approval("r", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
    assert ballot_faults(FORM, item(), None, None, skip) == []
    bare = skip.model_copy(update={"skip_reason": None})
    assert "why you skip" in ballot_faults(FORM, item(), None, None, bare)[0]
    both = approval("r", kind=VoteKind.SKIP, skip_reason=SkipReason.DISTRESS)
    assert "not both" in ballot_faults(FORM, item(), None, None, both)[0]


def test_a_withdrawal_needs_nothing() -> None:
    taken = Ballot(kind=VoteKind.WITHDRAWAL, request_id="r")
    assert ballot_faults(FORM, item(), None, None, taken) == []


@pytest.mark.parametrize("kind", VoteKind)
def test_comments_end_somewhere(kind: VoteKind) -> None:
    said = {
        VoteKind.VERDICT: approval("r"),
        VoteKind.SKIP: Ballot(kind=kind, skip_reason=SkipReason.DISTRESS, request_id="r"),
        VoteKind.WITHDRAWAL: Ballot(kind=kind, request_id="r"),
    }[kind]
    for length, count in ((LONGEST_COMMENT, 0), (LONGEST_COMMENT + 1, 1)):
        assert len(faults(said.model_copy(update={"comment": "x" * length}))) == count


@pytest.mark.parametrize(
    ("form", "answer", "is_sound"),
    [
        (Format.SINGLE, "C", True),
        (Format.SINGLE, "D", False),
        (Format.SINGLE, ["A", "B"], False),
        (Format.SINGLE, "", False),
        (Format.MULTIPLE, ["A"], True),
        (Format.MULTIPLE, ["A", "B", "C"], True),
        (Format.MULTIPLE, [], False),
        (Format.MULTIPLE, ["A", "Z"], False),
        (Format.OPEN, "my own words", True),
        (Format.OPEN, "A", True),
        (Format.OPEN, "  ", False),
        (Format.OPEN, "\u200b\u2800", False),
        (Format.OPEN, ["A"], False),
        (Format.OPEN, "x" * (LONGEST_COMMENT + 1), False),
    ],
)
def test_an_answer_fits_what_was_asked(form: Format, answer: Answer, is_sound: bool) -> None:
    assert (answer_faults(item(form), answer) == []) is is_sound


REASONS = tuple(
    st.lists(
        st.sampled_from([reason.id for reason in question.reject_reasons] + [OTHER, "made_up"]),
        max_size=3,
    ).map(tuple)
    for question in FORM.verdicts
)


@settings(deadline=None)
@given(
    st.tuples(*(st.sampled_from(Approval) for _ in Verdict)),
    st.tuples(*REASONS),
    st.sampled_from(["", "words"]),
    st.sampled_from("ABC"),
    st.sampled_from(Capability),
)
def test_what_is_accepted_always_explains_itself(
    given_: tuple[Approval, ...],
    reasons: tuple[tuple[str, ...], ...],
    comment: str,
    answer: str,
    capability: Capability,
) -> None:
    verdicts = dict(zip(Verdict, given_, strict=True))
    named = dict(zip(Verdict, reasons, strict=True))
    ballot = approval("r", verdicts=verdicts, reasons=named, comment=comment)
    if faults(ballot, own_answer(answer), revealed(capability=capability)):
        return
    for verdict, approved in verdicts.items():
        assert (approved is Approval.REJECT) == bool(named[verdict])
        assert "made_up" not in named[verdict]
        assert OTHER not in named[verdict] or comment
    assert set(given_) != {Approval.APPROVE} or answer == "A" or comment
