"""Response, Action and Risk: what fits after a refusal, a request or other trigger."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from psychemme.clients.signal.facts import Line
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.clients.signal.question.speech_acts import acts
from psychemme.vocabulary import Capability, Format

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


MISSING = (
    "Replies, actions and risks are asked as a choice (only risks as a multiple one) after an "
    "utterance that a norm of the knowledge base speaks about."
)
_ASKS = {
    (Capability.RESPONSE, Format.SINGLE): "Which of these would be the most fitting reply?",
    (Capability.ACTION, Format.SINGLE): "Which of these would be the most fitting next action?",
    (Capability.RISK, Format.SINGLE): "Which course would best respect the people involved?",
    (Capability.RISK, Format.MULTIPLE): "Which courses would respect the people involved?",
}
_LONG_SPEECH = 2.5


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield one draft for each utterance and norm that meet."""
    asks = _ASKS.get((Capability(scene.capability), scene.format))
    if asks is None:
        return
    for norm in scene.norms:
        if scene.capability in map(str, norm.applies_to):
            for line in scene.quotable():
                yield from _after(scene, norm, line, asks)


def _after(scene: Scene, norm: "Norm", line: Line, asks: str) -> Iterator[Draft]:
    moment = _moment(norm, line)
    if moment is None:
        return
    ongoing = norm.trigger == "ongoing_speech"
    situation = (
        f"Someone is still saying {quote(line.text)}"
        if ongoing
        else f"Someone says {quote(line.text)}"
    )
    rights = (
        [tuple(scene.chance.sample(norm.fitting, min(3, len(norm.fitting))))]
        if scene.format is Format.MULTIPLE
        else [(text,) for text in norm.fitting]
    )
    for right in rights:
        yield Draft(
            kind=str(norm.trigger),
            text=f"{situation}. {asks}",
            timed=f"{situation} at {seconds(line.start)}. {asks}",
            needs_time=scene.repeated(line),
            right=right,
            wrong=tuple(norm.unfitting),
            cues=(scene.said(line), *scene.seen(line)),
            rationale=f"After {norm.trigger.replace('_', ' ')} the fitting option holds back.",
            decision_time=round(min(moment, scene.episode.duration), 3),
            hints=tuple(norm.subcategories),
        )


def _moment(norm: "Norm", line: Line) -> float | None:
    """Return the decision time that `line` gives for `norm`, if it triggers it."""
    if norm.trigger == "ongoing_speech":
        return (line.start + line.end) / 2 if line.end - line.start >= _LONG_SPEECH else None
    return line.end if str(norm.trigger) in acts(line.text) else None
