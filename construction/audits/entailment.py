"""Options that entail each other, where a model of entailment is given."""

from collections.abc import Callable, Sequence
from itertools import permutations

from construction.audits.results import item_result
from construction.audits.values import AuditItem, AuditResult, Finding

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]
"""Says of each (premise, hypothesis) whether the one entails the other."""

NAME, TITLE = "mutual_entailment", "Options that entail each other"
_BATCH = 1_000


def mutual_entailment(items: Sequence[AuditItem], entails: Entails | None) -> AuditResult:
    """Return the items with two options that entail each other; not run without a model.

    The question is given with each option, for "he does" means nothing alone.
    """
    asked = [item for item in items if len(item.options) > 1] if entails else []
    found: list[Finding] = []
    if entails is not None:
        for at in range(0, len(asked), _BATCH):
            found += _mutual(asked[at : at + _BATCH], entails)
    why = "no item has options" if entails else "not run: no entailment model is given"
    return item_result(NAME, TITLE, asked, found, why)


def _mutual(items: Sequence[AuditItem], entails: Entails) -> list[Finding]:
    places = [
        (item.id, one.id, other.id, f"{item.question} {one.text}", f"{item.question} {other.text}")
        for item in items
        for one, other in permutations(item.options, 2)
    ]
    said = entails([(premise, hypothesis) for *_, premise, hypothesis in places])
    holds = {place[:3] for place, yes in zip(places, said, strict=True) if yes}
    return [
        Finding(item_id=name, detail=f"options {one} and {other} entail each other")
        for name, one, other, *_ in places
        if one < other and {(name, one, other), (name, other, one)} <= holds
    ]
