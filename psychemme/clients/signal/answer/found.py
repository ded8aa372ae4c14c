"""What a search of the episode ends in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from psychemme.episode import Episode, Word
from psychemme.vocabulary import AnswerFlag, Format, LookAgain

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


@dataclass(frozen=True)
class Found:
    """Texts of the supported options (or one text for open), or a flag; `why` says how."""

    texts: tuple[str, ...] = ()
    flag: AnswerFlag | None = None
    why: str = ""


@dataclass(frozen=True)
class Look:
    """What the answerer looks at, and the ways it was told to look.

    `options` are sorted texts: their presentation order and ids are unknown to every search.
    """

    episode: Episode
    words: tuple[Word, ...]
    norms: "tuple[Norm, ...]"
    options: tuple[str, ...]
    format: Format
    decision_time: float | None
    ways: frozenset[LookAgain]


class Span(NamedTuple):
    """Words `first` to `last` (indices, inclusive), `start` to `end` in seconds."""

    first: int
    last: int
    start: float
    end: float


def ambiguous(why: str) -> Found:
    """Return the flag for a question with more than one answer."""
    return Found(flag=AnswerFlag.AMBIGUOUS, why=why)


def unsupported(why: str) -> Found:
    """Return the flag for a question that what was measured cannot answer."""
    return Found(flag=AnswerFlag.INSUFFICIENT_SUPPORT, why=why)


def best(scores: dict[str, float], floor: float, margin: float, why: str) -> Found:
    """Return the text with the highest score, unless it is too low or too close to the second."""
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or ranked[0][1] < floor:
        return unsupported("Nothing measured supports any answer.")
    if len(ranked) > 1 and ranked[0][1] - ranked[1][1] < margin:
        return ambiguous("Two answers are equally supported.")
    return Found(texts=(ranked[0][0],), why=why)
