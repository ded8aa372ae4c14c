"""Audits of monotony and balance: openings, distinct word pairs, capabilities, formats."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from construction.audits.results import Audit, by_capability, evenness, facts, share
from construction.audits.statistics import Z95
from construction.audits.values import AuditItem, AuditResult, AuditSettings, Finding, Share
from construction.audits.wording import words
from psychemme.vocabulary import Capability, Format

_SEGMENT, _FEWEST_SEGMENTS = 50, 2


def question_openings(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the share of the commonest opening of questions, over all and by capability."""
    openings = {item.id: _opening(item, settings.opening_words) for item in items}

    def of_group(group: Sequence[AuditItem]) -> Share:
        counts = Counter(openings[item.id] for item in group)
        opening, count = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
        return share(count, len(group)).model_copy(update={"note": f"“{opening} …”"})

    groups = by_capability(items, of_group)
    worst = {name for name, one in groups.items() if _is_common(one, settings)}
    found = of_group(items)
    common = {(name, groups[name].note) for name in worst}
    everywhere = {found.note} if _is_common(found, settings) else set()
    bad = [
        item
        for item in items
        for note in (f"“{openings[item.id]} …”",)
        if note in everywhere or (item.capability, note) in common
    ]
    return AuditResult(
        **facts(found),
        audit="question_openings",
        title="Commonest opening of questions",
        kind="set",
        by_capability=groups,
        findings=tuple(
            Finding(item_id=item.id, detail=f"opens with “{openings[item.id]} …”") for item in bad
        ),
        is_flagged=bool(bad),
        why="" if items else "no items",
    )


def distinct_ngrams(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return how many pairs of words are distinct, as a mean over segments of 50 questions.

    Whole sets cannot be compared: the more text, the fewer pairs are new. The interval is a normal
    one over segments; with fewer than two it is undefined.
    """
    asked = list(items)
    groups = by_capability(asked, _distinct)
    found = _distinct(asked)
    low = [name for name, one in groups.items() if one.rate is not None]
    low = [name for name in low if (groups[name].rate or 0) < settings.distinct]
    below = found.rate is not None and found.rate < settings.distinct
    short = f"fewer than {_SEGMENT} questions" if found.rate is None else ""
    return AuditResult(
        **facts(found) | {"note": f"low within {', '.join(low)}" if low else ""},
        audit="distinct_ngrams",
        title="Distinct pairs of words in 50 questions",
        kind="set",
        by_capability=groups,
        is_flagged=below or bool(low),
        why=short,
    )


def capability_balance(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the share of the commonest capability, and which capabilities have no item."""
    asked = [item for item in items if item.capability]
    held = {item.capability for item in asked}
    known = [str(capability) for capability in Capability]
    names = (known if held & set(known) else []) + sorted(held.difference(known))
    return _balance(
        asked,
        lambda item: item.capability,
        names,
        settings.capability_share,
        settings,
        audit="capability_balance",
        title="Commonest capability",
        why="no item names its capability",
    )


def format_balance(items: Sequence[AuditItem], settings: AuditSettings) -> AuditResult:
    """Return the share of the commonest answer format, and which formats have no item."""
    return _balance(
        items,
        lambda item: str(item.format),
        [str(form) for form in Format],
        settings.format_share,
        settings,
        audit="format_balance",
        title="Commonest answer format",
        why="no items",
    )


def _balance(
    asked: Sequence[AuditItem],
    kind_of: Callable[[AuditItem], str],
    names: Sequence[str],
    most: float,
    settings: AuditSettings,
    *,
    audit: str,
    title: str,
    why: str,
) -> AuditResult:
    if not asked:
        return AuditResult(count=0, of=0, audit=audit, title=title, kind="set", why=why)
    counts = Counter(map(kind_of, asked))
    found = evenness([[counts[name] for name in names]])
    absent = [name for name in names if not counts[name]]
    top = max(names, key=lambda name: counts[name])
    spread = ", ".join(f"{name} {counts[name]}" for name in names if counts[name])
    note = f"{spread}; none of {', '.join(absent)}" if absent else spread
    flagged = len(asked) >= settings.fewest and (counts[top] > most * len(asked) or bool(absent))
    return AuditResult(
        **facts(found) | {"note": note},
        audit=audit,
        title=title,
        kind="set",
        is_flagged=flagged,
    )


def _is_common(of: Share, settings: AuditSettings) -> bool:
    return of.of >= settings.fewest and (of.low or 0) > settings.opening_share


def _opening(item: AuditItem, count: int) -> str:
    return " ".join(words(item.question)[:count])


def _distinct(items: Sequence[AuditItem]) -> Share:
    full = len(items) // _SEGMENT
    segments = [items[n * _SEGMENT : (n + 1) * _SEGMENT] for n in range(full)]
    counts = [_pairs(item.question for item in segment) for segment in segments]
    rates = [distinct / total for distinct, total in counts if total]
    if not rates:
        return Share(count=0, of=0)
    mean = sum(rates) / len(rates)
    half = _half_width(rates, mean)
    return Share(
        count=sum(distinct for distinct, _ in counts),
        of=sum(total for _, total in counts),
        rate=mean,
        low=None if half is None else max(0.0, mean - half),
        high=None if half is None else min(1.0, mean + half),
    )


def _pairs(questions: Iterable[str]) -> tuple[int, int]:
    said = [words(question) for question in questions]
    found = [pair for own in said for pair in pairwise(own)]
    return len(set(found)), len(found)


def _half_width(rates: Sequence[float], mean: float) -> float | None:
    if len(rates) < _FEWEST_SEGMENTS:
        return None
    variance = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return Z95 * math.sqrt(variance / len(rates))


VARIETY_AUDITS = (
    Audit("question_openings", "Commonest opening of questions", "set", question_openings),
    Audit("distinct_ngrams", "Distinct pairs of words in 50 questions", "set", distinct_ngrams),
    Audit("capability_balance", "Commonest capability", "set", capability_balance),
    Audit("format_balance", "Commonest answer format", "set", format_balance),
)
