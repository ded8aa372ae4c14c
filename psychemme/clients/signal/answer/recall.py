"""Recall: which remembered statement shares most with the present conversation."""

from collections import Counter

from rapidfuzz import fuzz

from psychemme.clients.signal.answer.found import Found, Look, best, unsupported
from psychemme.clients.signal.answer.reading import Reading
from psychemme.clients.signal.answer.weighing import SUPPORTED, weigh
from psychemme.clients.signal.facts import normal, tokens
from psychemme.vocabulary import Format, LookAgain

_KNOWN = 88.0
_SAME_WORD = 82.0
_TIE = 0.05
_OF_OFFERS = {"help", "asked"}
_FUNCTION = frozenset(
    {"the", "and", "you", "for", "with", "that", "this", "was", "are", "but", "not", "have", "has"}
)


def recall(look: Look, reading: Reading) -> Found:
    """Choose the statement in the history that the present talk bears on."""
    if not look.episode.history:
        return unsupported("There is no history.")
    remembered = [text for entry in look.episode.history for text in _parts(entry.text)]
    texts = remembered if look.format is Format.OPEN else look.options
    rarity = Counter(token for text in remembered for token in set(tokens(text)))
    now = _now(look, reading)
    scores = {
        text: _bearing(text, now, rarity)
        for text in texts
        if any(fuzz.partial_ratio(normal(text), normal(old)) >= _KNOWN for old in remembered)
    }
    if "preference" in reading.plain:
        scores = {
            text: score * (1.0 + min(1.0, weigh(text, "preference")))
            for text, score in scores.items()
        }
    floor = 0.1 if LookAgain.CHECK_HISTORY in look.ways else 0.3
    return best(scores, floor, _TIE, "It shares its rarest words with what is said now.")


def _now(look: Look, reading: Reading) -> set[str]:
    """Return the words of the present: those the question quotes, else all that is said.

    What is offered, however it is put, is help that can be asked for.
    """
    if reading.quotes and LookAgain.CHECK_WHOLE_EPISODE not in look.ways:
        said = {token for quote in reading.quotes for token in tokens(quote)}
        offered = any(weigh(quote, "offer") >= SUPPORTED for quote in reading.quotes)
        return said | (_OF_OFFERS if offered else set())
    return {token for word in look.words for token in tokens(word.text)}


def _bearing(text: str, now: set[str], rarity: Counter[str]) -> float:
    """Return the sum over shared words of length over rarity: long, rare words tell topics."""
    total = 0.0
    for token in dict.fromkeys(tokens(text)):
        if len(token) > 2 and token not in _FUNCTION and any(_same(token, o) for o in now):
            total += (len(token) - 2) / (4.0 * max(1, rarity[token]))
    return total


def _same(one: str, two: str) -> bool:
    return one == two or (one[:3] == two[:3] and fuzz.ratio(one, two) >= _SAME_WORD)


def _parts(text: str) -> list[str]:
    for mark in "!?;":
        text = text.replace(mark, ".")
    return [part.strip() for part in text.split(". ") if len(tokens(part)) >= 2]
