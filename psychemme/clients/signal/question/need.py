"""Need: what is asked for, and what is refused, in so many words."""

import re
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
_HINTS = {"request": ("request", "explicit", "ask"), "refusal": ("refus", "willing", "boundar")}
_DOUBTFUL = {
    "request": re.compile(r"\bplease\b|\blet me\b|^wait\b", re.IGNORECASE),
    "refusal": re.compile(
        r"^wait\b|\bno\b|\bnot\b|n['’]t\b|\bmyself\b|\bmy own\b|\bmanage\b", re.IGNORECASE
    ),
}
_TEMPTING = re.compile(r"\?|\byou\b|\bshould\b|\bwant\b|\bwould\b", re.IGNORECASE)
_ENOUGH = 4
_OPEN = (
    (
        re.compile(
            r"(?:^|[,.] )(?:can|could|would|will) you (?:please )?(?!mind\b)(?P<what>\w.*)"
            r"|(?:^|[,.] |^just )(?:please )?"
            r"(?P<order>(?:give|pass|bring|help|show|tell|hand|send|sit|stay|wait|come|call)\b.*)"
            r"|\bi need you to (?P<need>.*)",
            re.IGNORECASE,
        ),
        "request",
        "What does someone explicitly ask another person to do",
        "To {}.",
    ),
    (
        re.compile(r"(?:^|[,.] )(?:please )?(?:dont|do not) (?P<what>\w.*)", re.IGNORECASE),
        "refusal",
        "What does someone explicitly ask others not to do",
        "To {}.",
    ),
    (
        re.compile(
            r"\bi (?:really )?(?:dont|do not) (?:want|need) (?P<what>(?!to )\w.*)", re.IGNORECASE
        ),
        "refusal",
        "What does someone explicitly say that they do not want",
        "{}.",
    ),
    (
        re.compile(r"\bi (?:really )?(?:dont|do not) want to (?P<what>\w.*)", re.IGNORECASE),
        "refusal",
        "What does someone explicitly say that they do not want to do",
        "To {}.",
    ),
)
_FROM_OUTSIDE = {
    "me": "them", "my": "their", "mine": "theirs", "i": "they", "myself": "themselves",
    "im": "they are", "your": "the other's",
}  # fmt: skip
_CLAUSE_END = re.compile(r"[.?!;]|, (?:i|you|please|so|but)\b", re.IGNORECASE)


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield drafts about requests and refusals in the format of `scene`."""
    if scene.format is Format.OPEN:
        yield from _named(scene)
        return
    for act in ("request", "refusal"):
        found = [line for line in scene.quotable() if act in acts(line.text)]
        if scene.format is Format.MULTIPLE:
            yield _all_of(scene, act, found)
        else:
            yield from (_one_of(scene, act, line) for line in found)


def _others(scene: Scene, act: str) -> tuple[str, ...]:
    """Return what is plainly not `act`: only what comes near it in wording, if that suffices."""
    plain = [
        line.text
        for line in scene.quotable()
        if act not in acts(line.text) and not _DOUBTFUL[act].search(line.text)
    ]
    tempting = [text for text in plain if _TEMPTING.search(text)]
    return tuple(tempting if len(tempting) >= _ENOUGH else plain)


def _all_of(scene: Scene, act: str, found: list[Line]) -> Draft:
    distinct = list({normal(line.text): line for line in found}.values())[:3]
    return Draft(
        kind=act,
        text=_MULTIPLE[act],
        right=tuple(line.text for line in distinct),
        wrong=_others(scene, act),
        cues=tuple(scene.said(line) for line in distinct),
        rationale=f"The sentences have the frame of a {act}; the others do not.",
        hints=_HINTS[act],
    )


def _one_of(scene: Scene, act: str, line: Line) -> Draft:
    return Draft(
        kind=act,
        text=_SINGLE[act],
        timed=f"{_SINGLE[act][:-1]}, at about {seconds(line.start)}?",
        right=(line.text,),
        wrong=_others(scene, act),
        cues=(scene.said(line),),
        rationale=f"{quote(line.text)} has the frame of a {act}.",
        hints=_HINTS[act],
    )


def _named(scene: Scene) -> Iterator[Draft]:
    """Yield open drafts whose answer names what is asked for or refused."""
    for frame, act, asks, answer in _OPEN:
        found = [
            (line, named)
            for line in scene.quotable()
            if act in acts(line.text) and (named := _content(frame, line.text))
        ]
        for line, named in found:
            yield Draft(
                kind=act,
                text=f"{asks} in this clip?",
                timed=f"{asks}, at about {seconds(line.start)}?",
                needs_time=len(found) > 1,
                right=(_sentence(answer.format(named)),),
                cues=(scene.said(line),),
                rationale=f"{quote(line.text)} has the frame of a {act}.",
                hints=_HINTS[act],
            )


def _content(frame: re.Pattern[str], text: str) -> str | None:
    """Return what `frame` holds of `text`, told from outside ("give me" as "give them")."""
    plain = re.sub(r"['’]", "", " ".join(text.split()))
    found = frame.search(plain)
    if found is None:
        return None
    said = next(filter(None, found.groups()))
    said = _CLAUSE_END.split(said, maxsplit=1)[0].strip(" ,")
    told = (_FROM_OUTSIDE.get(word.casefold(), word) for word in said.split())
    return " ".join(told) or None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
