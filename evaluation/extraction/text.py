"""Reduce a reply to what its model shows: plain characters, without thinking or decoration.

Every function takes time linear in the text.
"""

import re

from evaluation.extraction.failures import Failure, Unreadable

LONGEST = 300_000
"""Characters a reply may hold."""

_TAGS = re.compile(
    r"<(/?)(?:seed:)?(?:think|thinking|thought|reasoning)>|\[(/?)THINK\]|◁(/?)think▷",
    re.IGNORECASE,
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x3000: " ",
    0x00A0: " ",
    0xFEFF: None,
    0x200B: None,
}
_SPECIAL = re.compile(r"</?s>|<\|[^|<>\s]{1,40}\|>|<eo[a-z]>|<end_of_turn>")
_LATEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mathsf)\s?\{([^{}\n]{0,300})\}")
_ESCAPED = re.compile(r"\\([_*#$%&{}\[\]()])")
_BLANKS = re.compile(r"[^\S\n]+")
_EDGE = " *_`$\"'“”‘’"


def outside_thinking(text: str) -> str:
    """Return `text` without what stands between thinking tags.

    A closing tag without its opening one was opened in the prompt. Raises Unreadable where the
    reply ends inside its thinking: there is no answer yet.
    """
    shown: list[str] = []
    position, is_thinking = 0, False
    for tag in _TAGS.finditer(text):
        closes = any(tag.groups())
        if not is_thinking and closes:
            shown.clear()
        elif not is_thinking:
            shown.append(text[position : tag.start()])
        position, is_thinking = tag.end(), not closes
    if is_thinking:
        raise Unreadable(Failure.UNCLOSED_THINKING)
    return "".join((*shown, text[position:]))


def plain(text: str) -> str:
    """Return `text` with full-width forms, special tokens, LaTeX text and blanks reduced."""
    text = _SPECIAL.sub(" ", text.translate(_FULL_WIDTH))
    text = _ESCAPED.sub(r"\1", _LATEX.sub(r"\1", text))
    return _BLANKS.sub(" ", text.replace("\r\n", "\n"))


def normal(text: str) -> str:
    """Return the form in which two option texts are compared."""
    words = " ".join(plain(text).split())
    return words.strip(_EDGE).rstrip(".。").strip(_EDGE).casefold()


def storable(text: str) -> str:
    """Return `text` with lone surrogates, which are no characters, replaced."""
    return text.encode(errors="replace").decode()
