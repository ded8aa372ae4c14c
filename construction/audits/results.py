"""Shares, and results made of them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from construction.audits.statistics import chi_squared, chi_squared_p, wilson
from construction.audits.values import (
    AuditItem,
    AuditResult,
    AuditSettings,
    Finding,
    Kind,
    Share,
    Unit,
)

Run = Callable[[Sequence[AuditItem], AuditSettings], AuditResult]
Check = Callable[[AuditItem, AuditSettings], str | None]
"""Says what is wrong with an item, or None."""


@dataclass(frozen=True)
class Audit:
    """One audit: an `item` audit names what is wrong with items, a `set` audit judges the set."""

    name: str
    title: str
    kind: Kind
    run: Run


def each(
    name: str,
    title: str,
    check: Check,
    applies: Callable[[AuditItem], bool] = lambda _: True,
    why: str = "no items",
) -> Audit:
    """Return the audit that checks each item it `applies` to; `why` is said where it is none."""
    return Audit(name, title, "item", partial(_checked, name, title, check, applies, why))


def _checked(
    name: str,
    title: str,
    check: Check,
    applies: Callable[[AuditItem], bool],
    why: str,
    items: Sequence[AuditItem],
    settings: AuditSettings,
) -> AuditResult:
    asked = [item for item in items if applies(item)]
    details = ((item.id, check(item, settings)) for item in asked)
    found = [Finding(item_id=name_, detail=detail) for name_, detail in details if detail]
    return item_result(name, title, asked, found, why)


def item_result(
    name: str,
    title: str,
    asked: Sequence[AuditItem],
    findings: Sequence[Finding],
    why: str = "no items",
    unit: Unit = "item",
) -> AuditResult:
    """Return the result of an item audit of `asked`."""
    bad = {finding.item_id for finding in findings}
    return AuditResult(
        **facts(share(len(bad), len(asked))),
        audit=name,
        title=title,
        kind="item",
        unit=unit,
        by_capability=by_capability(asked, lambda group: counted(group, bad)),
        findings=tuple(findings),
        is_flagged=bool(findings),
        why="" if asked else why,
    )


def counted(group: Sequence[AuditItem], bad: Collection[str]) -> Share:
    """Return how many items of a group are among the bad."""
    return share(sum(item.id in bad for item in group), len(group))


def by_capability(
    items: Iterable[AuditItem], of_group: Callable[[Sequence[AuditItem]], Share]
) -> Mapping[str, Share]:
    """Return the share of each capability that the items have, in order of its code."""
    groups: dict[str, list[AuditItem]] = {}
    for item in items:
        groups.setdefault(item.capability, []).append(item)
    return {name: of_group(groups[name]) for name in sorted(groups) if name}


def share(count: int, of: int, expected: float | None = None) -> Share:
    """Return a share with its Wilson interval; undefined where `of` is 0."""
    if not of:
        return Share(count=0, of=0)
    low, high = wilson(count, of)
    return Share(count=count, of=of, rate=count / of, low=low, high=high, expected=expected)


def evenness(counts: Sequence[Sequence[int]]) -> Share:
    """Return the share of the largest place, and the chi-squared test that all places are even.

    Each group of counts has places of its own; place i of all groups is one place.
    """
    totals: Counter[int] = Counter()
    for group in counts:
        totals.update(dict(enumerate(group)))
    of = sum(totals.values())
    if not of:
        return Share(count=0, of=0)
    statistic, freedom = chi_squared(counts)
    place = max(totals, key=lambda at: (totals[at], -at))
    # What an even spread would put there.
    expected = sum(sum(group) / len(group) for group in counts if len(group) > place) / of
    tested = {"statistic": statistic, "p_value": chi_squared_p(statistic, freedom)}
    return share(totals[place], of, expected).model_copy(
        update=(tested if freedom else {}) | {"note": f"place {place + 1}"}
    )


def facts(of: Share) -> dict[str, object]:
    """Return the fields of a share, to make a result of."""
    return {name: getattr(of, name) for name in Share.model_fields}
