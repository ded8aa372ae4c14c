"""Untrusted text made safe to place in a prompt.

Transcripts, history, public context and model replies may hold anything, also text that looks like
a delimiter or an instruction. Inside a block no angle bracket of any width is left, so that no
value can close its block or open another; what a reader cannot see is shown or taken out.
"""

import re
import unicodedata
from functools import lru_cache

BLOCK_LIMIT = 40_000
"""Characters a block may hold; longer text is cut and says so."""

LINE_LIMIT = 2_000
"""Characters one entry of a block may hold."""

_ANGLES = {"<": "‹", ">": "›"}
_DROPPED = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def clean(text: str) -> str:
    """Return `text` without angle brackets and without characters that a reader cannot see.

    Controls, zero-width, bidirectional and tag characters and lone surrogates appear as `[U+202E]`;
    joiners and variation selectors, which ordinary writing uses, are taken out. Line feeds stay.
    """
    return text.translate({ord(char): _shown(char) for char in set(text)})


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, then a note of how many there were."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} [cut: the first {limit} of {len(text)} characters are shown]"


def line(text: str, limit: int = LINE_LIMIT) -> str:
    """Return `text` cleaned and on one line, so that it cannot pass for several entries."""
    return cut(clean(" ".join(text.split())), limit)


def fence(name: str, text: str, limit: int = BLOCK_LIMIT) -> str:
    """Return `text`, cleaned and cut, between the delimiters `<name>` and `</name>`."""
    return f"<{name}>\n{cut(clean(text), limit) or 'none'}\n</{name}>"


@lru_cache(4096)
def _shown(char: str) -> str:
    """Return what stands for `char`; compatibility forms catch full-width and small brackets."""
    if bracket := _ANGLES.get(unicodedata.normalize("NFKC", char)):
        return bracket
    if _DROPPED.fullmatch(char):
        return ""
    hidden = char != "\n" and unicodedata.category(char) in _HIDDEN
    return f"[U+{ord(char):04X}]" if hidden else char
