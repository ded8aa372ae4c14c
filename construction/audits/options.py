"""Audits of one item's options and answer."""

import re
from collections.abc import Sequence
from itertools import combinations

from rapidfuzz.distance import Indel

from construction.audits.values import AuditItem, AuditSettings
from construction.audits.wording import content_words, plain_text, stem, word_list, words
from psychemme.release.texts import is_blank, same_option
from psychemme.vocabulary import Format

_FEWEST = {Format.SINGLE: 2, Format.MULTIPLE: 3}
_PREFIX, _LONG, _FEWEST_WORDS = 3, 5, 2
_FILLERS, _HOLDING = word_list("fillers"), word_list("holding")
_PARTICIPLES = {"ed", "ing"}
_ENDINGS = {"", "e", "s", "es"} | _PARTICIPLES
_SIGNS = re.compile(r"[-.](?=\d)|(?<=\b\w)-+(?!\w)|[^\w\s\-.,;:!?'\"()\[\]“”‘’«»‐-―]")


def option_count(item: AuditItem, settings: AuditSettings) -> str | None:
    """Say that a choice item has too few or too many options, or an open one any."""
    count = len(item.options)
    if not item.format.is_choice:
        return f"open, with {count} options" if count else None
    fewest, most = _FEWEST[item.format], settings.options_most
    if fewest <= count <= most:
        return None
    return f"{count} options; {item.format} has {fewest} to {most}"


def option_duplicates(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which two options say the same but for case, width, spacing and outer punctuation.

    A question or exclamation mark at the end makes another option, that may be spoken otherwise.
    """
    if any(is_blank(option.text) for option in item.options):
        return "an option is blank"
    for (one, shown), (other, shown_) in combinations(_shown(item), 2):
        if shown == shown_:
            return f"options {one} and {other} say the same"
    ids = [option.id for option in item.options]
    return f"option ids repeat: {', '.join(ids)}" if len(set(ids)) < len(ids) else None


def option_similarity(item: AuditItem, _: AuditSettings) -> str | None:
    """Say which two options are alike but for articles, degree, endings of verbs or one letter.

    So are those that differ in a mark at their end. What is denied, counted or measured makes
    another option, and so do number and participle.
    """
    for (one, shown), (other, shown_) in combinations(_shown(item), 2):
        if shown != shown_ and _is_alike(shown[0], shown_[0]):
            return f"options {one} and {other} say almost the same"
    return None


def answer_sanity(item: AuditItem, _: AuditSettings) -> str | None:
    """Say how an answer does not fit its format: none or all correct, one in `multiple`."""
    if not item.format.is_choice:
        text = item.answer if isinstance(item.answer, str) else ""
        return "no reference answer" if is_blank(text) else None
    ids, right = {option.id for option in item.options}, item.right
    if not right:
        return "no option is correct"
    if unknown := sorted(right - ids):
        return f"the answer names no option: {', '.join(unknown)}"
    if item.format is Format.SINGLE:
        return None if len(right) == 1 else f"{len(right)} options are correct; single has one"
    if len(right) == 1:
        return "one option is correct; multiple has two or more"
    return "every option is correct" if right == ids else None


def reference_echo(item: AuditItem, settings: AuditSettings) -> str | None:
    """Say which correct answer the question repeats, more than it does any wrong option."""
    asked = content_words(item.question)
    right = item.right
    wrong = [_echo(o.text, asked) for o in item.options if o.id not in right]
    for text in item.right_texts:
        if len(content_words(text)) < _FEWEST_WORDS:
            continue
        echo = _echo(text, asked)
        if echo >= settings.echo and echo > max(wrong, default=0.0):
            return f"the question holds {echo:.0%} of the words of its answer"
    return None


def _echo(text: str, asked: frozenset[str]) -> float:
    said = content_words(text)
    return len(said & asked) / len(said) if said else 0.0


def _shown(item: AuditItem) -> list[tuple[str, tuple[str, str]]]:
    return [(option.id, same_option(plain_text(option.text))) for option in item.options]


def _is_alike(one: str, other: str) -> bool:
    return one == other or (
        _is_like(_kept(one), _kept(other)) and _SIGNS.findall(one) == _SIGNS.findall(other)
    )


def _is_like(one: Sequence[str], other: Sequence[str]) -> bool:
    return bool(one) and len(one) == len(other) and all(map(_is_like_word, one, other))


def _kept(text: str) -> list[str]:
    """Return the words of a text without fillers, but for those beside a word that holds them."""
    said = words(text)
    return [
        word
        for at, word in enumerate(said)
        if word not in _FILLERS or any(map(_holds, said[max(at - 1, 0) : at + 2]))
    ]


def _holds(word: str) -> bool:
    return word in _HOLDING or word.endswith(("n't", "n’t"))


def _is_like_word(one: str, other: str) -> bool:
    """Whether two words are forms of one verb, or long and alike but for a letter inside."""
    if one == other:
        return True
    if (root := stem(one)) == stem(other):
        ends = {one.removeprefix(root), other.removeprefix(root)}
        return len(ends & _PARTICIPLES) == 1 and ends < _ENDINGS
    return (
        one[:_PREFIX] == other[:_PREFIX]
        and one[-1] == other[-1]
        and min(len(one), len(other)) >= _LONG
        and not any(sign.isdigit() for sign in one + other)
        and Indel.distance(one, other) == 1
    )
