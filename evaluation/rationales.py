"""Which rationales count as explanations: the `c` of the equations in `evaluation.scoring`.

A rationale field is informative unless it is null, blank, a placeholder (see `PLACEHOLDERS`), a
lone option letter, or a bare repetition of the answer or of the question. Texts are compared by
their letters and digits only: case, width, punctuation and spacing do not matter, and a
repetition may be introduced by words such as "the answer is" or "option".
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from psychemme.items import Answer, Option

PLACEHOLDERS = frozenset(
    {
        "",
        "blank",
        "empty",
        "n a",
        "na",
        "nan",
        "nil",
        "none",
        "not applicable",
        "not available",
        "not relevant",
        "not used",
        "null",
        "placeholder",
        "tbd",
        "todo",
        "undefined",
        "unused",
        "无",
        "不适用",
    }
)
"""Texts that stand for an unused field, as `wording` writes them."""

_INTRODUCTION = re.compile(
    r"^(?:(?:the|my|final|correct|best|right|question|answer|options?|choice|is|are)(?: |$)"
    r"|正确|答案|选项|选择|应该|选|是|为|的)+"
)
_LETTERS = re.compile(r"[a-z](?: (?:and )?[a-z])*")


def wording(text: str) -> str:
    """Return the letters and digits of `text` in lower case, one space between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(sign if sign.isalnum() else " " for sign in folded).split())


def coverage(
    rationales: Iterable[str | None],
    answer: Answer,
    question: str,
    options: Sequence[Option] = (),
) -> Literal[0, 1]:
    """Return c: 1 if at least one of the eight rationale fields is informative, else 0."""
    said = _repetitions(answer, question, options)
    return 1 if any(_informative(field or "", said) for field in rationales) else 0


def _informative(rationale: str, said: Collection[str]) -> bool:
    words = wording(rationale)
    bare = _INTRODUCTION.sub("", words).strip()
    if PLACEHOLDERS & {words, bare} or _LETTERS.fullmatch(bare):
        return False
    return words not in said and bare not in said


def _repetitions(answer: Answer, question: str, options: Sequence[Option]) -> Collection[str]:
    """Return the plain texts that only repeat the answer or the question."""
    given = [answer] if isinstance(answer, str) else answer
    chosen = [option for option in options if option.id in given]
    texts = [option.text for option in chosen]
    named = [f"{option.id} {option.text}" for option in chosen]
    said = [question, *given, *texts, *named, " ".join(given), " ".join(texts), " ".join(named)]
    worded = {wording(text) for text in said}
    return worded | {_INTRODUCTION.sub("", text).strip() for text in worded}
