"""Where a candidate goes after its critique: pure, and the only place that decides it.

Acceptance needs cue support, logical coherence, capability alignment and agreement of the two
answers (paper, Appendix C.2). Bare disagreement never leads to a re-answer: that would select on
the reference, so the critic must name a reasoning defect.
"""

from dataclasses import dataclass

from psychemme.answers import same_choice
from psychemme.items import Critique, Defect, IndependentAnswer, Reference
from psychemme.vocabulary import (
    LOOK_AGAIN,
    AnswerFlag,
    Format,
    LookAgain,
    ProposalDefect,
    Route,
)

MOST_ROUNDS = 2
"""Refinement rounds a candidate may use; then it is discarded."""

_FLAGGED = {
    AnswerFlag.AMBIGUOUS: ProposalDefect.AMBIGUOUS_REFERENT,
    AnswerFlag.INSUFFICIENT_SUPPORT: ProposalDefect.UNSUPPORTED_PREMISE,
}


@dataclass(frozen=True)
class Decision:
    """A route, why, and the closed feedback that goes with it."""

    route: Route
    reason: str
    question_feedback: tuple[Defect, ...] = ()
    answer_feedback: tuple[LookAgain, ...] = ()


def agreement(
    form: Format, reference: Reference, independent: IndependentAnswer, critique: Critique
) -> bool:
    """Return whether the two answers agree.

    Code decides on choice formats; on open ones the critic's credits must be full both ways.
    """
    if independent.answer is None:
        return False
    if form.is_choice:
        return same_choice(form, reference.answer, independent.answer)
    return critique.reference_given_answer == critique.answer_given_reference == 1.0


def after_check(defects: tuple[Defect, ...], at: int) -> Decision:
    """Decide for a proposal that fails a code check: no answer, no critique, a round used."""
    return _revise(defects, at)


def after_critique(critique: Critique, agreed: bool, flag: AnswerFlag | None, at: int) -> Decision:
    """Decide for a criticised round `at` (0 is the first pass)."""
    if flag is not None:
        return _revise((Defect(code=_FLAGGED[flag]), *critique.proposal_defects), at)
    if critique.proposal_defects:
        return _revise(critique.proposal_defects, at)
    sound = critique.cue_support and critique.logical_coherence and critique.capability_alignment
    if sound and agreed:
        return Decision(Route.ACCEPT, "agreed")
    if critique.reasoning_defects:
        codes = tuple(dict.fromkeys(LOOK_AGAIN[d] for d in critique.reasoning_defects))
        return _unless_spent(at, Decision(Route.REANSWER, critique.reasoning_defects[0], (), codes))
    return _revise((Defect(code=_implied_defect(critique, agreed)),), at)


def _implied_defect(critique: Critique, agreed: bool) -> ProposalDefect:
    if not critique.capability_alignment:
        return ProposalDefect.MISALIGNED_CAPABILITY
    if not critique.cue_support:
        return ProposalDefect.UNSUPPORTED_PREMISE
    return ProposalDefect.ANSWER_DEFECT if agreed else ProposalDefect.NOT_REPRODUCED


def _revise(defects: tuple[Defect, ...], at: int) -> Decision:
    return _unless_spent(at, Decision(Route.REVISE_QUESTION, defects[0].code, defects))


def _unless_spent(at: int, decision: Decision) -> Decision:
    if at < MOST_ROUNDS:
        return decision
    return Decision(Route.DISCARD, decision.reason)
