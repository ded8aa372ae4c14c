"""Response, Action and Risk: what fits after a refusal, a request or other trigger."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from psychemme.clients.signal.facts import Line
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.clients.signal.question.speech_acts import acts
from psychemme.clients.signal.question.utterances import held
from psychemme.vocabulary import Capability, Format

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


MISSING = (
    "Replies, actions and risks are asked as a choice (only risks as a multiple one) after an "
    "utterance that a norm of the knowledge base speaks about."
)
_ASKS = {
    (Capability.RESPONSE, Format.SINGLE): "Which of these would be the most fitting reply?",
    (Capability.ACTION, Format.SINGLE): (
        "Which of these would be the listener's most fitting next action?"
    ),
    (Capability.RISK, Format.SINGLE): (
        "Which course of the listener would best respect the person who says this?"
    ),
    (Capability.RISK, Format.MULTIPLE): (
        "Which courses of the listener would respect the person who says this?"
    ),
}
_ASKS_OF_OFFERS = {
    (Capability.RESPONSE, Format.SINGLE): (
        "Which of these would be the most fitting thing for the same person to say next?"
    ),
    (Capability.ACTION, Format.SINGLE): (
        "Which of these would be the most fitting next action of the same person?"
    ),
    (Capability.RISK, Format.SINGLE): (
        "Which course of the same person would best respect the one to whom this is said?"
    ),
    (Capability.RISK, Format.MULTIPLE): (
        "Which courses of the same person would respect the one to whom this is said?"
    ),
}
_ACTS = {"ongoing_speech": "hold"}
_MOST_RIGHT = 3
_INTO_PAUSE = 0.2


class _Situation(NamedTuple):
    """Words that trigger a norm, how the question introduces them, and when it is decided."""

    line: Line
    text: str
    moment: float


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield one draft for each norm and each utterance that triggers it."""
    target = (Capability(scene.capability), scene.format)
    if target not in _ASKS:
        return
    for norm in scene.norms:
        if scene.capability in map(str, norm.applies_to):
            asks = (_ASKS_OF_OFFERS if norm.trigger == "offer" else _ASKS)[target]
            for situation in _situations(scene, str(norm.trigger)):
                yield _draft(scene, norm, situation, asks)


def _situations(scene: Scene, trigger: str) -> Iterator[_Situation]:
    act = _ACTS.get(trigger, trigger)
    for line in scene.quotable():
        if act in acts(line.text):
            yield _Situation(line, f"Someone says {quote(line.text)}", line.end)
    if trigger == "ongoing_speech":
        for line, pause in held(scene.episode):
            moment = pause.start + min(_INTO_PAUSE, (pause.end - pause.start) / 2)
            yield _Situation(line, f"Someone says {quote(line.text)} and pauses", moment)


def _draft(scene: Scene, norm: "Norm", situation: _Situation, asks: str) -> Draft:
    line, text, moment = situation
    several = scene.format is Format.MULTIPLE
    right = scene.chance.sample(norm.fitting, min(_MOST_RIGHT if several else 1, len(norm.fitting)))
    return Draft(
        kind=str(norm.trigger),
        text=f"{text}. {asks}",
        timed=f"{text} at {seconds(line.start)}. {asks}",
        needs_time=scene.repeated(line),
        right=tuple(right),
        wrong=tuple(norm.unfitting),
        cues=(scene.said(line),),
        rationale=f"After {norm.trigger.replace('_', ' ')} the fitting option holds back.",
        decision_time=round(min(moment, scene.episode.duration), 3),
        hints=tuple(norm.subcategories),
    )
