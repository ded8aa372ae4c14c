"""Audits of what a set gives away: where the correct option stands, and how long it is."""

from collections.abc import Callable, Sequence
from typing import Any

from construction.audits.results import Audit, by_capability, evenness, facts, share
from construction.audits.values import AuditItem, AuditResult, AuditSettings, Finding, Share

NO_SINGLE = "no single-choice item with a sound answer"


def answer_position(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return where the correct option of `single` items is shown, tested against an even spread.

    Counts of items with different numbers of options are tested apart and summed. The rate is that
    of the commonest place.
    """
    asked = [item for item in items if item.single_answer]

    def of_group(group: Sequence[AuditItem]) -> Share:
        counts: dict[int, list[int]] = {}
        for item in group:
            places = counts.setdefault(len(item.options), [0] * len(item.options))
            places[_place(item)] += 1
        return evenness([counts[size] for size in sorted(counts)])

    found = of_group(asked)
    groups = by_capability(asked, of_group)
    flagged = _is_uneven(found, settings, 1)
    uneven = [name for name, one in groups.items() if _is_uneven(one, settings, len(groups))]
    place = int(found.note.removeprefix("place ")) - 1 if flagged else -1
    bad = [item.id for item in asked if flagged and _place(item) == place]
    return AuditResult(
        **facts(found) | {"note": _uneven_note(found, uneven)},
        audit="answer_position",
        title="Position of the correct option",
        kind="set",
        by_capability=groups,
        findings=_named(bad, f"the correct option is shown at place {place + 1}"),
        is_flagged=flagged or bool(uneven),
        why="" if asked else NO_SINGLE,
    )


def longest_option(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return how often the one longest option of a `single` item is correct, against chance."""
    longest = {item.id: name for item in items if (name := _longest(item))}
    asked = [item for item in items if item.id in longest]
    return against_chance(
        asked,
        lambda item: longest[item.id] in item.right,
        settings,
        audit="longest_option",
        title="Longest option is correct",
        detail="its longest option is correct",
        why="no single-choice item has one longest option",
    )


def against_chance(
    asked: Sequence[AuditItem],
    is_hit: Callable[[AuditItem], bool],
    settings: AuditSettings,
    *,
    audit: str,
    title: str,
    detail: str,
    why: str,
) -> AuditResult:
    """Return the result of a guess at `single` items; flagged where it beats chance.

    It does where the lower end of the interval lies above the mean of one in the number of options.
    """
    hits = {item.id for item in asked if is_hit(item)}

    def of_group(group: Sequence[AuditItem]) -> Share:
        chance = sum(1 / len(item.options) for item in group) / len(group) if group else None
        return share(sum(item.id in hits for item in group), len(group), chance)

    found = of_group(asked)
    flagged = len(asked) >= settings.fewest and (found.low or 0) > (found.expected or 0)
    bad = [item.id for item in asked if flagged and item.id in hits]
    more: dict[str, Any] = facts(found)
    return AuditResult(
        **more,
        audit=audit,
        title=title,
        kind="set",
        by_capability=by_capability(asked, of_group),
        findings=_named(bad, detail),
        is_flagged=flagged,
        why="" if asked else why,
    )


def _named(ids: Sequence[str], detail: str) -> tuple[Finding, ...]:
    return tuple(Finding(item_id=name, detail=detail) for name in ids)


def _place(item: AuditItem) -> int:
    order = item.shown or tuple(option.id for option in item.options)
    (right,) = item.right
    return order.index(right)


def _longest(item: AuditItem) -> str | None:
    if item.single_answer is None:
        return None
    lengths = [len(option.text.strip()) for option in item.options]
    most = max(lengths)
    return item.options[lengths.index(most)].id if lengths.count(most) == 1 else None


def _is_uneven(of: Share, settings: AuditSettings, tests: int) -> bool:
    # Bonferroni's correction, so that eight capabilities do not make a clean set suspicious.
    enough = of.of >= settings.fewest
    return enough and of.p_value is not None and of.p_value < settings.significance / tests


def _uneven_note(found: Share, uneven: Sequence[str]) -> str:
    return f"{found.note}; uneven within {', '.join(uneven)}" if uneven else found.note


BIAS_AUDITS = (
    Audit("answer_position", "Position of the correct option", "set", answer_position),
    Audit("longest_option", "Longest option is correct", "set", longest_option),
)
