"""Whom a question means: pronouns and bare nouns where several people are seen or heard."""

import re

from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import EMPTY_WORDS, unquoted, word_list
from psychemme.episode import Episode

_SINGULAR = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
_PLURAL = re.compile(r"\b(they|them|their|theirs|themselves)\b", re.IGNORECASE)
_PERSON = (
    "man|woman|person|guy|boy|girl|lady|gentleman|child|kid|speaker|individual|subject|character"
)
_BARE = re.compile(
    rf"\b(?:the|this|that)\s+({_PERSON})\b(?!['’]s\s+\w+\s+(?:who|in|with)\b)"
    r"(?!\s+(?:who|whom|whose|that|in|with|on|at|by|near|behind|beside|next|closest|wearing|"
    r"holding|sitting|standing|speaking|talking|walking|seated|dressed|carrying|facing|from|"
    r"to\s+the|left|right|named|called)\b)",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"\b(?:the|this|that)\s+({_PERSON})\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z][a-zà-ÿ]+")
# Where any word has a capital, a name is known by the verb, the possessive or the name after it.
_FIRST_NAME = re.compile(
    r"(?:^|[.!?]\s+)([A-Z][a-zà-ÿ]+)(?:['’]s\b|\s+(?:and|or)\s+[A-Z]|\s+\w+(?:s|ed)\b)"
)
_NO_NAME = EMPTY_WORDS | word_list("nobody")
_DESCRIBED = re.compile(
    rf"\b(?:the|this|that|a|an|one)\s+(?:[\w-]+\s+)?(?:{_PERSON}|mum|mom|dad|son|wife|husband|aunt|"
    r"uncle|grandma|grandpa|bride|groom|fianc\w+|friend|boss|host|guest|student|pupil|chef|judge|"
    r"nurse|client|patient|king|queen|priest|coach|couple|\w+er|\w{2,}(?:[ciu]tor|tress|man)|\w{3,}ist)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:people|men|women|children|kids|couple|group|family|team|audience|crowd|who|every\w+|"
    r"any\w+|some\w+|nobody)\b"
    r"|\b(?:the|these|those|both|all|some|many|several|other|two|three|four|\w+['’]s|his|her|my|your)"
    r"\s+(?:[\w-]+\s+){0,2}\w{2,}s\b",
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

    A name or a description before a pronoun, what restricts a noun after it, and a time tell. Of
    two people, "they" are both, and each of two different nouns is one.
    """
    text = unquoted(item.question)
    if _TIME.search(text):
        return None
    count = people(item.episode)
    among = "whoever is there" if count is None else f"any of {count} people"
    if bare := _BARE.search(text):
        are_told_apart = len({noun.casefold() for noun in _NAMED.findall(text)}) > 1
        return None if are_told_apart and (count or 2) == 2 else f"{bare[0]!r} could be {among}"
    kinds = (_SINGULAR,) if count == 2 else (_SINGULAR, _PLURAL)
    for found in filter(None, (kind.search(text) for kind in kinds)):
        if not _is_told(text[: found.start()], plural=found.re is _PLURAL):
            return f"{found[0]!r} could be {among}"
    return None


def _is_told(before: str, *, plural: bool) -> bool:
    """Whether what stands before a pronoun says whom it means."""
    return (
        _NAME.search(before) is not None
        or _DESCRIBED.search(before) is not None
        or any(name.casefold() not in _NO_NAME for name in _FIRST_NAME.findall(before))
        or (plural and _SEVERAL.search(before) is not None)
    )
