"""Words, shingles and what counts as content: the text side of the audits."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray

from psychemme.release.texts import seen

Hashes = NDArray[np.uint64]
"""Sorted, distinct hashes of a text's shingles, shape (n,)."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|(?<!\w)['‘][^'’]{2,}['’](?!\w)")
_SHINGLE = 5
_BASE = np.uint64(1_099_511_628_211)
_LISTS = yaml.safe_load((files("construction.audits") / "words.yaml").read_text(encoding="utf-8"))
_DASH = re.compile("[\u02d7\u2010-\u2015\u2043\u2212\u2e3a]")
_LATIN, _LIKE_LATIN = re.compile("[A-Za-z]"), re.compile("[\u0370-\u052f]")
_LOOKS = str.maketrans(*_LISTS["confusable"])


def word_list(name: str) -> frozenset[str]:
    """Return a list of `words.yaml`."""
    return frozenset(_LISTS[name].split())


def word_lists(name: str) -> Mapping[str, frozenset[str]]:
    """Return the lists of `words.yaml` under a name, each by each of the words it belongs to."""
    return {one: frozenset(of.split()) for key, of in _LISTS[name].items() for one in key.split()}


EMPTY_WORDS = word_list("empty")
"""Words that say nothing of a question's matter."""


def plain_text(text: str) -> str:
    """Return a text in one width, with one dash and nothing hidden.

    Cyrillic and Greek letters become the Latin ones they look like, in words that mix them.
    """
    if text.isascii():
        return text
    shown = unicodedata.normalize("NFKC", seen(text))
    return re.sub(r"\w+", _in_one_script, _DASH.sub("-", shown))


def _in_one_script(found: re.Match[str]) -> str:
    word = found[0]
    is_mixed = _LATIN.search(word) and _LIKE_LATIN.search(word)
    return word.translate(_LOOKS) if is_mixed else word


def cased_words(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WORD.findall(text)


@lru_cache(maxsize=16_384)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, one width and one script."""
    return tuple(cased_words(plain_text(text).casefold()))


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry matter, with common endings cut."""
    return frozenset(stem(word) for word in words(text) if word not in EMPTY_WORDS)


def unquoted(text: str) -> str:
    """Return a text without what it quotes."""
    return _QUOTED.sub(" ", text)


def shingles(text: str) -> Hashes:
    """Return the hashed five-character shingles of a text's words, one space apart."""
    plain = " ".join(words(text)).ljust(_SHINGLE)
    codes = np.frombuffer(plain.encode("utf-32-le"), np.uint32).astype(np.uint64)
    hashed = np.zeros(len(codes) - _SHINGLE + 1, np.uint64)
    for at in range(_SHINGLE):
        hashed = hashed * _BASE + codes[at : at + len(hashed)]
    return np.unique(hashed)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two sets of hashes, a fraction."""
    both = np.intersect1d(one, other, assume_unique=True).size
    return both / (one.size + other.size - both)


def stem(word: str) -> str:
    """Return a word without a common English ending."""
    word = word.removesuffix("'s").removesuffix("’s")
    for ending, shortest in (("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= shortest and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word.removesuffix("e") if len(word) > 3 else word
