"""One formatter per input name: from the values of a request to the text of its prompt.

Every text that did not come from this distribution goes through `prompts.fences`. Cards, norms and
distinctions are read by their attributes, since the knowledge base is a sibling of this package.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from prompts.fences import fence, line
from prompts.signals import describe, seconds
from psychemme.episode import Episode, HistoryEntry, Signals, Utterance
from psychemme.items import Defect, IndependentAnswer, Option, Proposal, Question, Reference
from psychemme.vocabulary import Capability, Format, LookAgain, ProposalDefect

PROPOSAL_LIMIT = 8_000
"""Characters one earlier proposal may hold."""

FORMATS = {
    Format.SINGLE: "single: choose one. The answer is one option id.",
    Format.MULTIPLE: "multiple: choose all that apply. The answer is an array of option ids.",
    Format.OPEN: "open: answer in one to three sentences of your own.",
}

MENDING = {
    ProposalDefect.AMBIGUOUS_REFERENT: "more than one person, event or moment fits; single it out",
    ProposalDefect.UNSUPPORTED_PREMISE: "something is presupposed that the episode does not show, "
    "or a required decision time or history is missing; ask only what can be observed",
    ProposalDefect.OPTION_DEFECT: "options overlap, cannot be told apart, give the answer away or "
    "are implausible; rewrite them",
    ProposalDefect.MISALIGNED_CAPABILITY: "another capability is asked for; return to the target",
    ProposalDefect.CUE_DEFECT: "a cue lies outside the episode, is misdescribed or does not bear "
    "on the answer; correct or replace it",
    ProposalDefect.ANSWER_DEFECT: "the reference is wrong, incomplete or of the wrong form; look "
    "again and correct it",
    ProposalDefect.NOT_REPRODUCED: "an independent viewer did not reach the reference; make the "
    "question decidable from the footage, or ask another",
}

LOOKING = {
    LookAgain.CHECK_SPEAKER: "Make sure which visible person speaks and who is addressed.",
    LookAgain.CHECK_WHOLE_EPISODE: "Go through the whole episode, from beginning to end.",
    LookAgain.CHECK_HISTORY: "Read the history, and what bears on the question in it.",
    LookAgain.CHECK_SPEECH: "Attend to what is said and how.",
    LookAgain.CHECK_VISUAL: "Attend to what can be seen.",
    LookAgain.CHECK_ORDER: "Establish in which order things happen.",
    LookAgain.REREAD_QUESTION: "Read again what exactly is asked.",
    LookAgain.CHECK_EVERY_OPTION: "Weigh every option on its own.",
}


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> str: ...


class _Card(Protocol):
    @property
    def code(self) -> Capability: ...
    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> str: ...
    @property
    def required_cues(self) -> str: ...
    @property
    def review_criterion(self) -> str: ...
    @property
    def boundaries(self) -> Sequence[str]: ...
    @property
    def subcategories(self) -> Sequence[_Named]: ...
    @property
    def decision_time(self) -> bool: ...
    @property
    def needs_history(self) -> bool: ...


class _Norm(Protocol):
    @property
    def trigger(self) -> str: ...
    @property
    def applies_to(self) -> Sequence[Capability]: ...
    @property
    def principle(self) -> str: ...
    @property
    def fitting(self) -> Sequence[str]: ...
    @property
    def unfitting(self) -> Sequence[str]: ...
    @property
    def intrusive_markers(self) -> Sequence[str]: ...
    @property
    def restrained_markers(self) -> Sequence[str]: ...


class _Distinction(Protocol):
    @property
    def situation(self) -> str: ...
    @property
    def judgments(self) -> Mapping[Capability, str]: ...


class _Answered(Protocol):
    @property
    def answer(self) -> str | list[str] | None: ...
    @property
    def rationales(self) -> Mapping[Capability, str | None]: ...


def _episode(episode: Episode | None) -> str:
    if episode is None:
        return "Nothing of the recording is given: the question and its options are all there is."
    measured = episode.signals != Signals()
    blocks = (
        f"Duration: {seconds(episode.duration)} s",
        fence("public_context", episode.public_context),
        fence("transcript", "\n".join(map(_utterance, episode.transcript))),
        *((fence("signals", describe(episode.signals)),) if measured else ()),
        fence("history", "\n".join(map(_entry, episode.history))),
    )
    return "\n\n".join(blocks)


def _utterance(utterance: Utterance) -> str:
    doubts = ", ".join(line(flag) for flag in utterance.flags)
    note = f" (recogniser in doubt: {doubts})" if doubts else ""
    return f"[{seconds(utterance.start)}-{seconds(utterance.end)}]{note} {line(utterance.text)}"


def _entry(entry: HistoryEntry) -> str:
    when = "earlier" if entry.before is None else f"{seconds(entry.before)} s before the episode"
    return f"[{when}] {line(entry.text)}"


def _card(card: _Card) -> str:
    lines = [
        f"{card.code.value}, {card.name}: {card.definition}",
        f"Required cues: {card.required_cues}",
        f"Review criterion: {card.review_criterion}",
        f"Decision time: {'required' if card.decision_time else 'none'}",
        f"History: {'required' if card.needs_history else 'not required'}",
        "Boundaries:",
        *(f"- {boundary}" for boundary in card.boundaries),
        "Subcategories (id, name, definition):",
        *(f"- {sub.id}, {sub.name}: {sub.definition}" for sub in card.subcategories),
    ]
    return fence("capability", "\n".join(lines))


def _norms(norms: Sequence[_Norm]) -> str:
    return fence("norms", "\n".join(map(_norm, norms)))


def _norm(norm: _Norm) -> str:
    listed = {
        "fits, for example": norm.fitting,
        "does not fit, for example": norm.unfitting,
        "wording that often intrudes": norm.intrusive_markers,
        "wording that often leaves room": norm.restrained_markers,
    }
    head = f"{norm.trigger} ({', '.join(code.value for code in norm.applies_to)}): {norm.principle}"
    lines = [f"  {what}: {' | '.join(texts)}" for what, texts in listed.items() if texts]
    return "\n".join([head, *lines])


def _distinctions(distinctions: Sequence[_Distinction]) -> str:
    return fence("distinctions", "\n".join(map(_distinction, distinctions)))


def _distinction(distinction: _Distinction) -> str:
    judged = distinction.judgments.items()
    return "\n".join([distinction.situation, *(f"  {code.value}: {text}" for code, text in judged)])


def _format(answer_format: Format) -> str:
    return FORMATS[answer_format]


def _ordinal(ordinal: int) -> str:
    if ordinal == 0:
        return "This is the first question of its kind on this episode."
    return (
        f"This is question number {ordinal + 1} of its kind on this episode: choose another moment "
        f"than the obvious first {ordinal}."
    )


def _earlier(proposals: Sequence[Proposal]) -> str:
    return fence("earlier_proposals", "\n".join(_as_json(proposal) for proposal in proposals))


def _as_json(proposal: Proposal) -> str:
    values = proposal.model_dump(mode="json", exclude_none=True)
    return line(json.dumps(values, ensure_ascii=False), PROPOSAL_LIMIT)


def _feedback(feedback: Sequence[Defect | LookAgain]) -> str:
    """Return closed codes only: where to look or what to mend, never a text of the critic's."""
    lines = (LOOKING[item] if isinstance(item, LookAgain) else _defect(item) for item in feedback)
    return "\n".join(f"- {text}" for text in lines) or "none"


def _defect(defect: Defect) -> str:
    option = "" if defect.option_id is None else f" (option {defect.option_id})"
    cue = "" if defect.cue_index is None else f" (cue number {defect.cue_index}, counted from 0)"
    return f"{defect.code.value}{option}{cue}: {MENDING[defect.code]}"


def _question(question: str | Question) -> str:
    if isinstance(question, str):
        return fence("question", line(question))
    blocks = (
        fence("subcategory", line(question.subcategory)),
        _question(question.question),
        _options(question.options),
        _decision_time(question.decision_time),
    )
    return "\n".join(blocks)


def _options(options: Sequence[Option]) -> str:
    return fence("options", "\n".join(f"{option.id}. {line(option.text)}" for option in options))


def _decision_time(time: float | None) -> str:
    if time is None:
        return "Decision time: none"
    return f"Decision time: {seconds(time)} s; what comes later is the outcome and does not count."


def _reference(reference: Reference) -> str:
    points = (
        f"- {'required' if point.required else 'optional'}: {line(point.text)}"
        for point in reference.key_points
    )
    cues = (
        f"{index}. [{seconds(cue.start)}-{seconds(cue.end)}] {cue.modality.value}: "
        f"{line(cue.description)}"
        for index, cue in enumerate(reference.cues)
    )
    rationale = reference.rationale
    blocks = (
        fence("reference_answer", _answer(reference.answer)),
        fence("key_points", "\n".join(points)),
        fence("cues", "\n".join(cues)),
        *((fence("reference_rationale", line(rationale)),) if rationale else ()),
    )
    return "\n".join(blocks)


def _answer(answer: str | list[str]) -> str:
    return line(answer if isinstance(answer, str) else ", ".join(answer))


def _independent(independent: IndependentAnswer) -> str:
    flagged = f"no answer; flag: {independent.flag.value}" if independent.flag else ""
    answer = flagged if independent.answer is None else _answer(independent.answer)
    rationale = fence("independent_rationale", line(independent.rationale))
    return f"{fence('independent_answer', answer)}\n{rationale}"


def _response(response: _Answered) -> str:
    rationales = (
        f"{field.value}: {line(text)}" for field, text in response.rationales.items() if text
    )
    answer = "none" if response.answer is None else _answer(response.answer)
    return f"{fence('answer', answer)}\n{fence('rationales', chr(10).join(rationales))}"


def _agreement(agreement: bool | None) -> str:
    if agreement is None:
        return "open question: you measure it, in both directions"
    return f"computed by code: the two answers {'agree' if agreement else 'disagree'}"


def _categories(categories: Sequence[_Named]) -> str:
    return fence("categories", "\n".join(f"- {c.id}, {c.name}: {c.definition}" for c in categories))


FORMATTERS: dict[str, Callable[[Any], str]] = {
    "episode": _episode,
    "card": _card,
    "norms": _norms,
    "distinctions": _distinctions,
    "format": _format,
    "ordinal": _ordinal,
    "earlier": _earlier,
    "feedback": _feedback,
    "question": _question,
    "options": _options,
    "decision_time": _decision_time,
    "reference": _reference,
    "independent": _independent,
    "agreement": _agreement,
    "response": _response,
    "categories": _categories,
}
"""The formatter of each input name; a template may declare no other inputs."""
