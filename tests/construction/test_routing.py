"""Routing is pure: every verdict has one route, and only a named reasoning defect re-answers."""

from hypothesis import given
from hypothesis import strategies as st

from construction.routing import MOST_ROUNDS, after_check, after_critique, agreement
from psychemme.items import Critique, Defect, IndependentAnswer, Reference
from psychemme.vocabulary import AnswerFlag, Format, ProposalDefect, ReasoningDefect, Route

CRITIQUES = st.builds(
    Critique,
    cue_support=st.booleans(),
    logical_coherence=st.booleans(),
    capability_alignment=st.booleans(),
    proposal_defects=st.lists(
        st.builds(Defect, code=st.sampled_from(ProposalDefect)), max_size=2
    ).map(tuple),
    reasoning_defects=st.lists(st.sampled_from(ReasoningDefect), max_size=2).map(tuple),
)
SOUND = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)


@given(CRITIQUES, st.booleans(), st.sampled_from([None, *AnswerFlag]), st.integers(0, 2))
def test_acceptance_needs_everything_and_discard_needs_spent_rounds(
    critique: Critique, agreed: bool, flag: AnswerFlag | None, at: int
) -> None:
    decision = after_critique(critique, agreed, flag, at)
    sound = critique.cue_support and critique.logical_coherence and critique.capability_alignment
    accepts = sound and agreed and flag is None and not critique.proposal_defects
    assert (decision.route is Route.ACCEPT) == accepts
    assert (decision.route is Route.DISCARD) == (not accepts and at == MOST_ROUNDS)


@given(CRITIQUES, st.booleans(), st.sampled_from([None, *AnswerFlag]), st.integers(0, 1))
def test_only_a_named_reasoning_defect_leads_to_another_answer(
    critique: Critique, agreed: bool, flag: AnswerFlag | None, at: int
) -> None:
    decision = after_critique(critique, agreed, flag, at)
    if decision.route is Route.REANSWER:
        assert critique.reasoning_defects
        assert not critique.proposal_defects
        assert flag is None
        assert decision.answer_feedback
        assert not decision.question_feedback
    if decision.route is Route.REVISE_QUESTION:
        assert decision.question_feedback
        assert not decision.answer_feedback


def test_bare_disagreement_revises_the_question() -> None:
    decision = after_critique(SOUND, agreed=False, flag=None, at=0)
    assert decision.route is Route.REVISE_QUESTION
    assert [d.code for d in decision.question_feedback] == [ProposalDefect.NOT_REPRODUCED]


def test_a_flag_is_a_defect_of_the_proposal() -> None:
    decision = after_critique(SOUND, agreed=False, flag=AnswerFlag.AMBIGUOUS, at=1)
    assert decision.route is Route.REVISE_QUESTION
    assert decision.reason == ProposalDefect.AMBIGUOUS_REFERENT


def test_a_failed_check_uses_a_round() -> None:
    defects = (Defect(code=ProposalDefect.CUE_DEFECT, cue_index=0),)
    assert after_check(defects, 1).route is Route.REVISE_QUESTION
    assert after_check(defects, 2).route is Route.DISCARD


def test_code_decides_agreement_on_choice_and_credits_on_open() -> None:
    reference = Reference(answer=["A", "B"], cues=())
    assert agreement(Format.MULTIPLE, reference, IndependentAnswer(answer=["B", "A"]), SOUND)
    assert not agreement(Format.MULTIPLE, reference, IndependentAnswer(answer=["A"]), SOUND)
    text = Reference(answer="the ladder", cues=())
    half = SOUND.model_copy(update={"reference_given_answer": 1.0, "answer_given_reference": 0.5})
    full = SOUND.model_copy(update={"reference_given_answer": 1.0, "answer_given_reference": 1.0})
    assert not agreement(Format.OPEN, text, IndependentAnswer(answer="a ladder"), half)
    assert agreement(Format.OPEN, text, IndependentAnswer(answer="a ladder"), full)
