"""Memory: which preference stated before the clip bears on what is said in it."""

import re
from collections.abc import Iterator

from psychemme.clients.signal.facts import Line, tokens
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.clients.signal.question.speech_acts import acts
from psychemme.vocabulary import Format, Modality

MISSING = "Memory, single or open, needs history with a preference that the episode takes up."
_COMMON_WORDS = """
about after again always because been before both cannot could didnt does dont each even every from
get getting give going good have havent here into just know later like little long love made make
maybe more much need never next only other over please prefer quite rather really said same shall
should some something still such take tell thank thanks that them then there these they thing things
think this those time today took very want wants well went were what when where which while will
with would your yours
all and any are ask but can day did dont for get got had has her him his how ive its let may new not
now off old one our out own put say see she the too two use was way who why yes yet you
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ANNOUNCED = re.compile(r"\bi(?:['’]ll| will) (?!tell|see|meet|ask|call)\w+ you\b")
_HELPING = {"help"}
_ADDRESSED = frozenset({"you", "your", "yours"})


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield one draft for each stated preference that shares a topic word with a sentence."""
    if scene.format is Format.MULTIPLE:
        return
    stated = [text for entry in scene.episode.history for text in _sentences(entry.text)]
    for text in stated:
        if "preference" not in acts(text):
            continue
        for line in _taken_up(scene, text):
            others = [other for other in stated if other != text]
            if not any(_topics(other) & _now(line.text) for other in others):
                yield _draft(scene, text, line, others)


def _draft(scene: Scene, text: str, line: Line, others: list[str]) -> Draft:
    which = "Which of these" if scene.format is Format.SINGLE else "Which preference"
    shared = ", ".join(sorted(_topics(text) & _now(line.text)))
    asks = f"{which}, stated before this clip, bears on this?"
    return Draft(
        kind="preference",
        text=f"Someone says {quote(line.text)}. {asks}",
        timed=f"Someone says {quote(line.text)} at {seconds(line.start)}. {asks}",
        needs_time=scene.repeated(line),
        right=(text,),
        wrong=tuple(others),
        cues=(
            scene.said(line),
            scene.cue(
                line.start, line.end, Modality.HISTORY, f"Earlier someone says {quote(text)}"
            ),
        ),
        rationale=f"{quote(line.text)} takes up its topic: {shared}.",
        hints=("prefer", "earlier", "history"),
    )


def _taken_up(scene: Scene, text: str) -> list[Line]:
    """Return what is said to another person on the topic of `text`, until it is answered aloud.

    A refusal outranks what is remembered.
    """
    topics = _topics(text)
    found: list[Line] = []
    for line in scene.quotable():
        shared = topics & _now(line.text)
        if len(shared) > 1 or (found and shared and not _ADDRESSED & set(tokens(line.text))):
            break
        if shared and _ADDRESSED & set(tokens(line.text)) and "refusal" not in acts(line.text):
            found.append(line)
    return found


def _topics(text: str) -> set[str]:
    return {word[:5] for word in tokens(text) if len(word) > 2 and word not in _COMMON}


def _now(text: str) -> set[str]:
    """Return the topics of what is said; to do something for another is to help, asked or not."""
    helps = "offer" in acts(text) or _ANNOUNCED.search(text.casefold())
    return _topics(text) | (_HELPING if helps else set())


def _sentences(text: str) -> list[str]:
    parts = text.replace("!", "!\n").replace("?", "?\n").replace(". ", ".\n").splitlines()
    return [part.strip() for part in parts if 3 <= len(tokens(part)) <= 25]
