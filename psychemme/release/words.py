"""What counts as a word of a question, in any script, by rules simple enough to state.

A word is a run of letters, marks and digits, with apostrophes, hyphens and joiners inside it. Where
Han or Kana set no spaces, each character counts as a word; there the frequent "words" are pairs of
neighbouring characters between characters that only connect. Thai, Lao, Khmer and Burmese set no
spaces either, but are not cut up: what stands between two spaces counts as one word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

_UNSPACED = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_JOINING = "'’‘＇\u2010\u2011\u00ad\u00b7\u05f3\u05f4\u200c\u200d-"
"""Apostrophes, hyphens, and signs that join within a word in Catalan, Hebrew, Persian and Indic."""
_PLAIN = str.maketrans(
    dict.fromkeys("’‘＇", "'") | dict.fromkeys("\u2010\u2011", "-") | {"\u00ad": ""}
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
    return [word.translate(_PLAIN) for word in _word().findall(text.casefold())]


@cache
def _word() -> re.Pattern[str]:
    # `re` knows no classes of marks; beyond these planes there are variation selectors alone.
    signs = (chr(code) for code in (*range(0x20000), *range(0xE0100, 0xE01F0)))
    marks = "".join(sign for sign in signs if unicodedata.category(sign).startswith("M"))
    spaced = rf"(?:(?![{_UNSPACED}])[^\W_][{marks}]*)"
    return re.compile(rf"[{_UNSPACED}][{marks}]*|{spaced}+(?:[{_JOINING}]{spaced}+)*")


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
