"""Options that differ from each other, are alike in length and stand in random order."""

from collections.abc import Iterable, Sequence
from random import Random
from string import ascii_uppercase

from rapidfuzz import fuzz

from psychemme.clients.signal.facts import normal
from psychemme.clients.signal.question.draft import Draft
from psychemme.items import Answer, Option
from psychemme.vocabulary import Format

_ALIKE = 85.0
_FEWEST, _MOST_SINGLE, _MOST_MULTIPLE = 3, 4, 5


def choose(
    draft: Draft, form: Format, banned: frozenset[str], chance: Random
) -> tuple[tuple[Option, ...], Answer] | None:
    """Return options A, B, ... with the right ids, or None where too few sound texts are left."""
    right = distinct(draft.right, banned=banned)
    if not right or (form is Format.MULTIPLE and len(right) < 2):
        return None
    most = _MOST_SINGLE if form is Format.SINGLE else _MOST_MULTIPLE
    wrong = distinct(_close_in_length(draft.wrong, right, chance), banned=banned, other=right)
    texts = [*right, *wrong[: most - len(right)]]
    if len(texts) < max(_FEWEST, len(right) + 1):
        return None
    chance.shuffle(texts)
    options = tuple(
        Option(id=letter, text=text) for letter, text in zip(ascii_uppercase, texts, strict=False)
    )
    ids = [option.id for option in options if option.text in right]
    return options, ids[0] if form is Format.SINGLE else ids


def distinct(
    texts: Iterable[str], banned: frozenset[str] = frozenset(), other: Sequence[str] = ()
) -> list[str]:
    """Return the texts that are not banned and not alike, in order; `other` come before them."""
    kept: list[str] = []
    for text in texts:
        if normal(text) not in banned and not any(alike(text, old) for old in [*other, *kept]):
            kept.append(text)
    return kept


def alike(one: str, two: str) -> bool:
    """Tell whether two options could be taken for each other, or one lies inside the other."""
    a, b = normal(one), normal(two)
    if a == b or f" {a} " in f" {b} " or f" {b} " in f" {a} ":
        return True
    long_enough = min(len(a), len(b)) > 12
    return long_enough and fuzz.ratio(a, b) >= _ALIKE


def is_right(option_id: str, answer: Answer) -> bool:
    """Tell whether `answer` holds `option_id`."""
    return option_id == answer if isinstance(answer, str) else option_id in answer


def _close_in_length(texts: Sequence[str], right: Sequence[str], chance: Random) -> list[str]:
    """Return `texts` with the eight nearest in length first, in random order, then the rest."""
    length = sum(map(len, right)) / len(right)
    ranked = sorted(dict.fromkeys(texts), key=lambda text: (abs(len(text) - length), text))
    near, far = ranked[:8], ranked[8:]
    chance.shuffle(near)
    return near + far
