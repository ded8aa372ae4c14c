"""When two answers are the same answer.

One function decides for construction and evaluation alike (paper, Appendix D.3): choice answers
match by option id or by the complete set; open answers are never compared by code.
"""

from collections.abc import Collection

from psychemme.items import Answer
from psychemme.vocabulary import Format


def option_set(answer: Answer) -> frozenset[str]:
    """Return the option ids of a choice answer; duplicates collapse, `"A"` is {A}."""
    return frozenset([answer] if isinstance(answer, str) else answer)


def same_choice(form: Format, one: Answer, other: Answer) -> bool:
    """Return whether two choice answers are equal: the option, or the complete set.

    On `single`, an answer of two ids is never right. Raises ValueError on open questions.
    """
    if not form.is_choice:
        raise ValueError("open answers are judged, not compared")
    if form is Format.SINGLE and max(len(option_set(one)), len(option_set(other))) != 1:
        return False
    return option_set(one) == option_set(other)


def fits(form: Format, answer: Answer, option_ids: Collection[str]) -> bool:
    """Return whether `answer` has the shape its format asks for, over the known option ids."""
    if form is Format.OPEN:
        return isinstance(answer, str) and bool(answer.strip())
    chosen = option_set(answer)
    if not chosen or not chosen <= frozenset(option_ids):
        return False
    return len(chosen) == 1 or form is Format.MULTIPLE
