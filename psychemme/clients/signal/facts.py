"""Tables of what was said and measured: all that the three roles share.

Times are seconds from the episode's start. Nothing here ranks, judges or phrases.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from psychemme.episode import Episode, Utterance, Word

_TOKEN = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)]*$")
_ABBREVIATIONS = frozenset({"mr.", "mrs.", "ms.", "dr.", "st.", "vs.", "e.g.", "i.e."})


class Line(NamedTuple):
    """One sentence of the transcript."""

    start: float
    end: float
    text: str


def tokens(text: str) -> tuple[str, ...]:
    """Return the words of `text`, folded to lower case, without punctuation or apostrophes."""
    return tuple(_TOKEN.findall(_APOSTROPHE.sub("", text.casefold())))


def normal(text: str) -> str:
    """Return `text` as its tokens joined by spaces: equal for texts that differ in looks only."""
    return " ".join(tokens(text))


def words(utterance: Utterance) -> tuple[Word, ...]:
    """Return the timed words of `utterance`, spread by length where the source gives no times."""
    if utterance.words:
        return tuple(word for word in utterance.words if tokens(word.text))
    texts = [text for text in utterance.text.split() if tokens(text)]
    pace = (utterance.end - utterance.start) / max(1, sum(len(text) for text in texts))
    timed, at = [], utterance.start
    for text in texts:
        timed.append(Word(start=at, end=at + pace * len(text), text=text))
        at += pace * len(text)
    return tuple(timed)


def spoken(episode: Episode) -> tuple[Word, ...]:
    """Return every word of the episode in the transcript's own order."""
    return tuple(word for utterance in episode.transcript for word in words(utterance))


def lines(episode: Episode) -> tuple[Line, ...]:
    """Return the sentences of the episode by start time, without those the recogniser doubts."""
    found = [
        Line(sentence[0].start, sentence[-1].end, " ".join(word.text.strip() for word in sentence))
        for utterance in episode.transcript
        if not utterance.flags
        for sentence in sentences(words(utterance))
    ]
    return tuple(sorted(found))


def sentences(timed: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Yield the runs of `timed` that end at sentence punctuation."""
    first = 0
    for index, word in enumerate(timed, start=1):
        if ends_sentence(word.text) or index == len(timed):
            yield timed[first:index]
            first = index


def ends_sentence(text: str) -> bool:
    """Tell whether the word `text` closes a sentence."""
    text = text.strip()
    return bool(_SENTENCE_END.search(text)) and text.casefold() not in _ABBREVIATIONS
