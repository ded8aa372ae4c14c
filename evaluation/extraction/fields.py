"""From the objects of a reply to one answer and its rationales.

An answer field is read as `choices.py` reads a text; the objects of one reply must agree.
"""

import re
from collections.abc import Sequence

from evaluation.extraction.choices import Choices, Ids
from evaluation.extraction.failures import Failure, Unreadable
from evaluation.extraction.fallback import stated, takes_back
from evaluation.extraction.objects import Found, Pairs
from evaluation.extraction.refusals import is_refusal
from evaluation.extraction.text import storable
from psychemme.items import Answer
from psychemme.vocabulary import Capability, Format

Rationales = dict[Capability, str | None]
"""The eight rationale fields; None where the model leaves one out or null."""

_ANSWER_KEY = re.compile(r"[\"'“]answer[\"'”]\s?[:：]", re.IGNORECASE)
_CODES = frozenset(Capability)
_DEEPEST_RATIONALE = 4


def holds_answer_key(text: str) -> bool:
    """Return whether a quoted `answer` key stands in `text`, as in an object that never closes."""
    return bool(_ANSWER_KEY.search(text))


def read_objects(found: Sequence[Found], tail: str, choices: Choices) -> tuple[Answer, Rationales]:
    """Return the last object's answer and rationales.

    Raises Unreadable; `ambiguous` where the `tail` of the reply behind the last one takes the
    answer back, or where it or an earlier object names other options. Of several open answers the
    last stands.
    """
    answers = [(one.pairs, value) for one in found if (value := _given(one.pairs)) is not None]
    if not answers:
        raise Unreadable(Failure.NO_ANSWER)
    (pairs, value), earlier = answers[-1], answers[:-1]
    if not choices.form.is_choice:
        answer = _open_answer(value)
        if takes_back(tail):
            raise Unreadable(Failure.AMBIGUOUS)
        return answer, _rationales(pairs)
    chosen = _chosen(value, choices)
    others = [_chosen_or_none(other, choices) for _, other in earlier]
    again = _stated_or_none(tail, choices)
    if holds_answer_key(tail) or {*others, again} - {None, chosen}:
        raise Unreadable(Failure.AMBIGUOUS)
    if again is None and takes_back(tail):
        raise Unreadable(Failure.AMBIGUOUS)
    return as_answer(chosen, choices.form), _rationales(pairs)


def as_answer(chosen: Ids, form: Format) -> Answer:
    """Return the ids as an answer: sorted, and bare where a `single` answer is one id."""
    ids = sorted(chosen)
    return ids[0] if form is Format.SINGLE and len(ids) == 1 else ids


def _given(pairs: Pairs) -> object:
    """Return the object's answer, None where it gives none."""
    values = [value for name, value in pairs.items if name.strip().casefold() == "answer"]
    if any(value != values[0] for value in values):
        raise Unreadable(Failure.AMBIGUOUS)
    return values[0]


def _open_answer(value: object) -> str:
    if not isinstance(value, str):
        raise Unreadable(Failure.MALFORMED)
    if is_refusal(value):
        raise Unreadable(Failure.REFUSAL)
    if not value.strip():
        raise Unreadable(Failure.NO_ANSWER)
    return storable(value.strip())


def _chosen(value: object, choices: Choices) -> Ids:
    """Return the options that an answer field names; arrays name the union of their elements."""
    if isinstance(value, list):
        named = [_chosen(one, choices) for one in value if not isinstance(one, list)]
        if len(named) != len(value):
            raise Unreadable(Failure.MALFORMED)
        if not named:
            raise Unreadable(Failure.NO_ANSWER)
        return frozenset().union(*named)
    if isinstance(value, bool):
        return choices.whole(str(value))
    if not isinstance(value, str):
        raise Unreadable(Failure.MALFORMED)
    return _chosen_in_text(value, choices)


def _chosen_in_text(text: str, choices: Choices) -> Ids:
    if not text.strip():
        raise Unreadable(Failure.NO_ANSWER)
    if is_refusal(text):
        raise Unreadable(Failure.REFUSAL)
    try:
        return choices.named(text)
    except Unreadable as unreadable:
        if unreadable.failure is Failure.NO_ANSWER:
            raise Unreadable(Failure.UNKNOWN_OPTION) from unreadable
        raise


def _chosen_or_none(value: object, choices: Choices) -> Ids | None:
    try:
        return _chosen(value, choices)
    except Unreadable:
        return None


def _stated_or_none(text: str, choices: Choices) -> Ids | None:
    try:
        return stated(text, choices) if text.strip() else None
    except Unreadable:
        return None


def _rationales(pairs: Pairs) -> Rationales:
    rationales: Rationales = dict.fromkeys(Capability)
    for name, value in pairs.items:
        if (code := name.strip().upper()) in _CODES:
            rationales[Capability(code)] = _rationale(value)
    return rationales


def _rationale(value: object, depth: int = 0) -> str | None:
    """Return a rationale as text; what a model nests inside it is joined in order."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Pairs):
        value = [inner for _, inner in value.items]
    if not isinstance(value, list) or depth > _DEEPEST_RATIONALE:
        return None
    texts = [_rationale(inner, depth + 1) for inner in value]
    return " ".join(text for text in texts if text) or None
