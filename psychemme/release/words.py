"""What counts as a word of a question, in any script, by rules simple enough to state.

A word is a run of letters and digits, with apostrophes and hyphens inside it. Where a script sets
no spaces (Han, Kana), each character counts as a word; there the frequent "words" are pairs of
neighbouring characters between characters that only connect.
"""

import re
from collections import Counter
from collections.abc import Iterable

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(
    rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+(?:['’-](?:(?![{_UNSPACED}])[^\W_])+)*"
)
_RUN = re.compile(rf"[{_UNSPACED}]+")
_CONNECTING = re.compile(
    "[的了是在和与有个这那他她它们我你您吗呢吧着过地得就也都还不没很什么谁哪为从对把被会能要之]"
)
_STOP = frozenset(
    """
    a about after again all already also am an and any are as at be because been before being but by
    can could did do does doing done during each either else ever for from had has have having he
    her here hers him his how i if in into is it its itself just may me might more most must my no
    nor not of off on once one only onto or other our out over own same she should so some such
    than that the their them then there these they this those through to too toward towards under
    until up upon us very was we were what when where whether which while who whom whose why will
    with within would yet you your

    can't couldn't didn't doesn't don't he's i'm isn't it's she's that's they're wasn't what's who's
    won't wouldn't s t
    """.split()  # noqa: SIM905 - a list of words reads best as words
)


def words(text: str) -> list[str]:
    """Return the words of `text` in order, in lower case."""
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def frequent_words(texts: Iterable[str], most: int) -> list[tuple[str, int]]:
    """Return the `most` words that most of `texts` hold, with how many do; stop words left out.

    Words held by equally many stand in order of code point.
    """
    held: Counter[str] = Counter()
    for text in texts:
        held.update(_telling(text.casefold()))
    return sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def _telling(text: str) -> set[str]:
    spaced = {word for word in words(_RUN.sub(" ", text)) if word not in _STOP}
    pieces = [piece for run in _RUN.findall(text) for piece in _CONNECTING.split(run)]
    pairs = {piece[i : i + 2] for piece in pieces for i in range(len(piece) - 1)}
    return {word for word in spaced if not word.isdigit()} | pairs
