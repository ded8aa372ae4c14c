"""What is seen of a text: characters that show nothing make neither a text nor a difference."""

import re
import unicodedata
from itertools import takewhile

# The default-ignorable characters of Unicode that are not of category Cf, and the Braille blank.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Punctuation that says what a number is: -5, .5, #5, 5%, 5′; and C#, and the grade A-.
_TELLING = re.compile(
    r"[-.#](?=[^\w\s]?\d)|(?<=\d)[%‰′]|(?<=\w)#"
    r"|(?<=(?<![\w'])[^\W\d_])-+(?!\w)"
)
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[%‰′])")
_ONE_SIGN = {ord(sign): "-" for sign in "\u02d7‐‑‒–—―\u2043−\u2e3a"} | dict.fromkeys(
    map(ord, "‘’‛ʼ"), "'"
)


def same_text(text: str) -> str:
    """Return what two texts share that differ in case, spacing, width or outer punctuation only.

    Characters that show nothing are no difference either, nor are kinds of dash and apostrophe; the
    signs of a number are one.
    """
    folded = unicodedata.normalize("NFKC", seen(text)).casefold()
    shown = seen(unicodedata.normalize("NFKC", folded)).translate(_ONE_SIGN)
    spaced = _BEFORE_UNIT.sub("", " ".join(shown.split()))
    telling = {i for found in _TELLING.finditer(spaced) for i in range(*found.span())}
    kept = [
        i
        for i, sign in enumerate(spaced)
        if i in telling or unicodedata.category(sign)[0] not in "PZ"
    ]
    return spaced[kept[0] : kept[-1] + 1] if kept else spaced


def same_option(text: str) -> tuple[str, str]:
    """Return what options share that say the same: their text, and that they ask or exclaim."""
    shown = unicodedata.normalize("NFKC", seen(text))
    ending = takewhile(lambda sign: not sign.isalnum(), reversed(shown))
    return same_text(text), "".join(sorted({*ending} & {*"?!"}))


def visible(text: str) -> str:
    """Return `text` without outer space, and nothing where nothing of it can be seen."""
    return "" if is_blank(text) else text.strip()


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen."""
    return all(unicodedata.category(sign)[0] in "ZC" for sign in seen(text))


def seen(text: str) -> str:
    """Return `text` without the characters that show nothing."""
    if text.isascii():
        return text
    return "".join(s for s in _HIDDEN.sub("", text) if unicodedata.category(s) != "Cf")
