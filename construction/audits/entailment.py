"""Options that entail each other, where somebody says of two options whether they do."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from construction.audits.results import item_result
from construction.audits.values import AuditItem, AuditResult, Finding
from construction.audits.wording import words
from psychemme.episode import Value
from psychemme.items import Option
from psychemme.release.faults import counted
from psychemme.release.texts import same_text

NAME, TITLE = "mutual_entailment", "Options that entail each other"
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?:\.\d+)?(?![\w.,:]*\d)")
_DENYING = frozenset({"no", "not", "never"})


class Pair(Value):
    """Two options of an item's question; `place` numbers the pairs of an item's options from 0."""

    item_id: str
    place: int
    question: str
    one: Option
    other: Option


Entails = Callable[[Pair], bool | None]
"""Says whether two options entail each other, None where nobody could tell."""


def option_pairs(item: AuditItem) -> Iterator[Pair]:
    """Yield the pairs of an item's options that could entail each other: k(k-1)/2 at most.

    Those of one wording are left out, for they are found without a model, and those that differ in
    a number or a negation alone.
    """
    for place, (one, other) in enumerate(combinations(item.options, 2)):
        if not _is_plain(one.text, other.text):
            yield Pair(item_id=item.id, place=place, question=item.question, one=one, other=other)


def mutual_entailment(items: Sequence[AuditItem], entails: Entails | None) -> AuditResult:
    """Return the items with two options that entail each other; not run without `entails`."""
    if entails is None:
        return item_result(NAME, TITLE, [], [], "not run: no entailment model is given")
    found: list[Finding] = []
    unknown: dict[str, int] = {}
    for item in items:
        said = [(pair, entails(pair)) for pair in option_pairs(item)]
        held = [_finding(pair) for pair, yes in said if yes]
        if not held and (missing := sum(yes is None for _, yes in said)):
            unknown[item.id] = missing
        found += held
    asked = [item for item in items if len(item.options) > 1 and item.id not in unknown]
    why = "no item's pairs are all read" if unknown else "no item has options"
    result = item_result(NAME, TITLE, asked, found, why)
    note = f"{counted(sum(unknown.values()), 'pair')} unread" if unknown else ""
    return result.model_copy(update={"unknown": tuple(unknown), "note": note})


def _finding(pair: Pair) -> Finding:
    detail = f"options {pair.one.id} and {pair.other.id} entail each other"
    return Finding(item_id=pair.item_id, detail=detail)


def _is_plain(one: str, other: str) -> bool:
    """Whether two texts differ, if at all, in what they count or deny."""
    return same_text(one) == same_text(other) or _without_numbers(one) == _without_numbers(other)


def _without_numbers(text: str) -> tuple[str, ...]:
    return tuple(word for word in words(_NUMBER.sub(" ", text)) if word not in _DENYING)
