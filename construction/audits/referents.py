"""Whom a question means: pronouns and bare nouns where several people are seen or heard."""

import re

from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import unquoted
from psychemme.episode import Episode

_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
_BARE = re.compile(
    r"\b(?:the|this|that)\s+(man|woman|person|guy|boy|girl|lady|gentleman|child|kid|speaker|"
    r"individual|subject|character)\b(?!['’]s\s+\w+\s+(?:who|in|with)\b)"
    r"(?!\s+(?:who|whom|whose|that|in|with|on|at|by|near|behind|beside|next|closest|wearing|"
    r"holding|sitting|standing|speaking|talking|walking|seated|dressed|carrying|facing|from|"
    r"to\s+the|left|right|named|called)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z][a-zà-ÿ]+")
_DESCRIBED = re.compile(
    r"\b(?:the|this|that)\s+(?:\w+\s+)?(?:man|woman|person|guy|boy|girl|lady|gentleman|child|kid|"
    r"speaker|mother|father|host|guest|teacher|doctor|nurse|waiter|driver|interviewer|\w+er)\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b\d+(?:[.:]\d+)?\s*(?:s|sec|seconds?|minutes?)\b|\b\d{1,2}:\d{2}\b")


def people(episode: Episode | None) -> int | None:
    """Return how many people are seen at once, or heard, at least; None where nobody looked."""
    if episode is None or not (episode.signals.faces or episode.signals.turns):
        return None
    seen = max((len(sample.boxes) for sample in episode.signals.faces), default=0)
    heard = len({turn.voice for turn in episode.signals.turns})
    return max(seen, heard)


def may_be_several(item: AuditItem) -> bool:
    """Whether several people are seen or heard in an item's episode, or nobody looked."""
    count = people(item.episode)
    return count is None or count > 1


def ambiguous_referents(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which pronoun or bare noun of a question could mean several people.

    A name or a description before a pronoun, what restricts a noun after it, and a time tell.
    """
    text = unquoted(item.question)
    if _TIME.search(text):
        return None
    count = people(item.episode)
    among = "whoever is there" if count is None else f"any of {count} people"
    if bare := _BARE.search(text):
        return f"{bare.group(0)!r} could be {among}"
    pronoun = _PRONOUN.search(text)
    if pronoun is None:
        return None
    before = text[: pronoun.start()]
    if _NAME.search(before) or _DESCRIBED.search(before):
        return None
    return f"{pronoun.group(0)!r} could be {among}"
