"""Find a text in the stream of spoken words."""

from collections.abc import Sequence

from rapidfuzz import fuzz

from psychemme.clients.signal.answer.found import Span
from psychemme.clients.signal.facts import tokens
from psychemme.episode import Word

_CLOSE = 85.0
_LOOSE = 70.0


def find(words: Sequence[Word], text: str, *, loosely: bool = False) -> tuple[Span, ...]:
    """Return where `text` is spoken: word by word, else the closest windows that do not overlap."""
    wanted = tokens(text)
    stream = [(token, index) for index, word in enumerate(words) for token in tokens(word.text)]
    size = len(wanted)
    windows = range(len(stream) - size + 1) if size else range(0)
    exact = [at for at in windows if all(stream[at + i][0] == wanted[i] for i in range(size))]
    starts = exact or _similar(stream, " ".join(wanted), windows, _LOOSE if loosely else _CLOSE)
    spans = []
    for at in starts:
        first, last = stream[at][1], stream[at + size - 1][1]
        spans.append(Span(first, last, words[first].start, words[last].end))
    return tuple(spans)


def _similar(
    stream: Sequence[tuple[str, int]], wanted: str, windows: range, floor: float
) -> list[int]:
    size = len(wanted.split())
    scored = [
        (fuzz.ratio(" ".join(token for token, _ in stream[at : at + size]), wanted), at)
        for at in windows
    ]
    kept: list[int] = []
    for score, at in sorted(scored, key=lambda pair: (-pair[0], pair[1])):
        if score >= floor and all(abs(at - old) >= size for old in kept):
            kept.append(at)
    return sorted(kept)


def nearest(spans: Sequence[Span], time: float) -> Span:
    """Return the span whose start is nearest to `time`."""
    return min(spans, key=lambda span: (abs(span.start - time), span.first))
