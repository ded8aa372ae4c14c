"""Need: what is asked for, and what is refused, in so many words."""

from collections.abc import Iterator

from psychemme.clients.signal.facts import Line, normal
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.clients.signal.question.speech_acts import acts
from psychemme.vocabulary import Format

MISSING = "Need asks about explicit requests and refusals, and the episode holds too few."
_SINGLE = {
    "request": "Which of these is an explicit request that someone makes?",
    "refusal": "Which of these explicitly turns something down?",
}
_MULTIPLE = {
    "request": "Which of these are explicit requests that someone makes?",
    "refusal": "Which of these explicitly turn something down?",
}
_OPEN = {"request": "What is explicitly asked for", "refusal": "What is explicitly refused"}
_HINTS = {"request": ("request", "explicit", "ask"), "refusal": ("refus", "willing", "boundar")}


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield drafts about requests and refusals in the format of `scene`."""
    for act in ("request", "refusal"):
        found = [line for line in scene.quotable() if act in acts(line.text)]
        if scene.format is Format.MULTIPLE:
            yield from _all_of(scene, act, found)
        else:
            yield from _one_of(scene, act, found)


def _others(scene: Scene, act: str) -> tuple[str, ...]:
    return tuple(line.text for line in scene.quotable() if act not in acts(line.text))


def _all_of(scene: Scene, act: str, found: list[Line]) -> Iterator[Draft]:
    distinct = list({normal(line.text): line for line in found}.values())[:3]
    yield Draft(
        kind=act,
        text=_MULTIPLE[act],
        right=tuple(line.text for line in distinct),
        wrong=_others(scene, act),
        cues=tuple(scene.said(line) for line in distinct),
        rationale=f"The sentences have the frame of a {act}; the others do not.",
        hints=_HINTS[act],
    )


def _one_of(scene: Scene, act: str, found: list[Line]) -> Iterator[Draft]:
    for line in found:
        whole = _SINGLE[act] if scene.format is Format.SINGLE else f"{_OPEN[act]} in this clip?"
        yield Draft(
            kind=act,
            text=whole,
            timed=f"{whole[:-1].removesuffix(' in this clip')}, at about {seconds(line.start)}?",
            needs_time=scene.format is Format.OPEN and len(found) > 1,
            right=(line.text,),
            wrong=_others(scene, act),
            cues=(scene.said(line),),
            rationale=f"{quote(line.text)} has the frame of a {act}.",
            hints=_HINTS[act],
        )
