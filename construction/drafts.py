"""Prompts that could be asked next, with stand-ins for what no agent has written yet."""

from collections.abc import Mapping, Sequence

from construction.inputs import Inputs, answer_inputs, critic_inputs, question_inputs
from construction.profiles import DEFAULT
from construction.sampling import Pick
from psychemme.items import Cue, IndependentAnswer, Option, Question, Reference
from psychemme.vocabulary import AgentRole, Format
from psychology_kb.load import KnowledgeBase, load_profile
from state.values import (
    AnswerBrief,
    CandidateTarget,
    CriticBrief,
    EpisodeRecord,
    Material,
    QuestionBrief,
)


def drafts(
    picks: Sequence[Pick], episodes: Mapping[str, EpisodeRecord]
) -> dict[AgentRole, list[tuple[Inputs, Material]]]:
    """Return every role's prompt variables for each pick, with stand-ins for what is not there."""
    knowledge = load_profile(DEFAULT)
    made: dict[AgentRole, list[tuple[Inputs, Material]]] = {role: [] for role in AgentRole}
    for pick in picks:
        episode = episodes[pick.episode_id]
        for role, inputs in _inputs(pick, _material(episode), knowledge).items():
            made[role].append((inputs, _material(episode)))
    return made


def _inputs(pick: Pick, material: Material, knowledge: KnowledgeBase) -> dict[AgentRole, Inputs]:
    target = CandidateTarget(
        key="", id="", run=0, batch=0, pick=pick.index, episode_id=pick.episode_id,
        preparation=material.preparation, capability=pick.capability, format=pick.format,
        cell_json="",
    )  # fmt: skip
    question, reference = _stand_in(pick.format)
    asked = AnswerBrief(
        candidate_id="", format=pick.format, material=material,
        question=question.question, options=question.options,
    )  # fmt: skip
    judged = CriticBrief(
        target=target, material=material, question=question, reference=reference,
        independent=IndependentAnswer(answer=reference.answer, rationale=reference.rationale),
    )  # fmt: skip
    return {
        AgentRole.QUESTION: question_inputs(
            QuestionBrief(target=target, material=material), knowledge
        ),
        AgentRole.ANSWER: answer_inputs(asked, question.options, knowledge),
        AgentRole.CRITIC: critic_inputs(judged, knowledge),
    }


def _material(episode: EpisodeRecord) -> Material:
    return Material(
        episode_id=episode.id,
        preparation=episode.preparation,
        episode=episode.content,
        frames=episode.frames,
    )


def _stand_in(form: Format) -> tuple[Question, Reference]:
    """Return a question and a reference of ordinary length; their words mean nothing."""
    ids = "ABCD" if form.is_choice else ""
    options = tuple(Option(id=one, text=f"{one} " + "word " * 10) for one in ids)
    cue = Cue(start=0, end=1, modality="visual", description="word " * 15)
    answer = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: "word " * 15}[form]
    return (
        Question(subcategory="-", question="word " * 25, options=options),
        Reference(answer=answer, cues=(cue, cue), rationale="word " * 60),
    )
