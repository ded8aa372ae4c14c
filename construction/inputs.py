"""What each agent's prompt is made of: the variables of a role, from what the role may see."""

from collections.abc import Mapping, Sequence

from construction import routing
from psychemme.items import Critique, IndependentAnswer, Option, Reference
from psychemme.vocabulary import Capability, Format
from psychology_kb.load import KnowledgeBase, Norm
from state.values import AnswerBrief, CriticBrief, QuestionBrief

Inputs = Mapping[str, object]


def question_inputs(brief: QuestionBrief, knowledge: KnowledgeBase) -> Inputs:
    """Return the variables of the Question Agent's prompt."""
    return {
        "episode": brief.material.episode,
        "card": knowledge.card(brief.target.capability),
        "norms": _norms(knowledge, brief.target.capability),
        "distinctions": knowledge.distinctions,
        "format": brief.target.format,
        "ordinal": brief.ordinal,
        "earlier": brief.earlier,
        "feedback": brief.feedback,
    }


def answer_inputs(brief: AnswerBrief, shown: Sequence[Option], knowledge: KnowledgeBase) -> Inputs:
    """Return the variables of the Answer Agent's prompt; `shown` are the options in its order."""
    return {
        "episode": brief.material.episode,
        "norms": tuple(map(_without_examples, knowledge.norms)),
        "distinctions": knowledge.distinctions,
        "format": brief.format,
        "question": brief.question,
        "options": shown,
        "decision_time": brief.decision_time,
        "feedback": brief.feedback,
    }


def critic_inputs(brief: CriticBrief, knowledge: KnowledgeBase) -> Inputs:
    """Return the variables of the Critic Agent's prompt."""
    form = brief.target.format
    return {
        "episode": brief.material.episode,
        "card": knowledge.card(brief.target.capability),
        "norms": _norms(knowledge, brief.target.capability),
        "distinctions": knowledge.distinctions,
        "format": form,
        "question": brief.question,
        "reference": brief.reference,
        "independent": brief.independent,
        "agreement": _choice_agreement(form, brief.reference, brief.independent),
    }


def _norms(knowledge: KnowledgeBase, capability: Capability) -> tuple[Norm, ...]:
    return tuple(norm for norm in knowledge.norms if capability in norm.applies_to)


def _without_examples(norm: Norm) -> Norm:
    # Options may be made from a norm's examples; who answers must judge them, not look them up.
    return norm.model_copy(update={"fitting": (), "unfitting": ()})


def _choice_agreement(
    form: Format, reference: Reference, independent: IndependentAnswer
) -> bool | None:
    if not form.is_choice:
        return None
    neutral = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)
    return routing.agreement(form, reference, independent, neutral)
