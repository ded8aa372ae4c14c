"""Scoring: from labels to credit, from credit to scores. Pure; nothing is read or written.

One response to one item (paper, Section 3.5 and Appendix D.5; Tables 11 and 12):

    symbol   here                      values
    a        answer credit             0, 0.5 (open items only), 1
    c        rationale coverage        0, 1; decided by `evaluation.rationales`
    e        Evidence Support          `E`: 1.2, 1.0, 0.8, 0.5, 0
    l        Logical Integrity, `ell`  `L`: 1.2, 1.0, 0.8, 0.5, 0
    lambda   `LAMBDA`                  1.2, the largest weight of either
    e~, l~   e / lambda, l / lambda    0 to 1
    v        Verified credit           a c e l / lambda^2, 0 <= v <= a <= 1

A response passes four stages with credits a, ac, ac e~, v, and loses on the way 1 - a, a(1 - c),
ac(1 - e~), ac e~(1 - l~); the four losses and v sum to one (Appendix D.5, Figure 5).

Many responses: Raw and Verified are the mean of a and of v within each capability, then the
unweighted mean over the capabilities the release declares. They are None, never a mean over the
rest, where a declared capability holds no item. Retention is sum v / sum a within a pool, and
Verified / Raw overall; None where the denominator is 0. Strata are pools: every item weighs the
same. All rates are fractions; sums are exactly rounded, so no order of items changes a score.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from math import fsum
from typing import Literal, NamedTuple, TypeVar

from psychemme.episode import Value
from psychemme.errors import UserError
from psychemme.items import Credit
from psychemme.vocabulary import Capability, Format

LAMBDA = 1.2
"""The weight of the strongest label of either judgement."""


class ScoringError(UserError):
    """Scores cannot be computed from these responses and judgements."""


class EvidenceSupport(StrEnum):
    """Whether the explanation is grounded in the reference cues (paper, Table 11)."""

    STRONG = "strong"
    NORMAL = "normal"
    WEAK = "weak"
    CONTRADICTED = "contradicted"
    INSUFFICIENT = "insufficient"


class LogicalIntegrity(StrEnum):
    """Whether the rationales agree with each other and with the answer (paper, Table 11)."""

    FULLY_COHERENT = "fully_coherent"
    ACCEPTABLE = "acceptable"
    WEAK = "weak"
    CONTRADICTORY = "contradictory"
    UNEVALUABLE = "unevaluable"


E: Mapping[EvidenceSupport, float] = {
    EvidenceSupport.STRONG: LAMBDA,
    EvidenceSupport.NORMAL: 1.0,
    EvidenceSupport.WEAK: 0.8,
    EvidenceSupport.CONTRADICTED: 0.5,
    EvidenceSupport.INSUFFICIENT: 0.0,
}
"""The weight e of each Evidence Support label (paper, Appendix D.5)."""

L: Mapping[LogicalIntegrity, float] = {
    LogicalIntegrity.FULLY_COHERENT: LAMBDA,
    LogicalIntegrity.ACCEPTABLE: 1.0,
    LogicalIntegrity.WEAK: 0.8,
    LogicalIntegrity.CONTRADICTORY: 0.5,
    LogicalIntegrity.UNEVALUABLE: 0.0,
}
"""The weight l of each Logical Integrity label (paper, Appendix D.5)."""


def verified_credit(a: float, c: int, e: float, ell: float) -> float:
    """Return v = a c e l / lambda^2."""
    return a * c * e * ell / LAMBDA**2


class Stages(NamedTuple):
    """Credit left after each stage: a, ac, ac e~, v."""

    answer: float
    coverage: float
    support: float
    verified: float


class Losses(NamedTuple):
    """Credit lost at each stage: 1 - a, a(1 - c), ac(1 - e~), ac e~(1 - l~)."""

    answer: float
    coverage: float
    support: float
    logic: float


def stage_credits(a: float, c: int, e: float, ell: float) -> Stages:
    """Return the credit left after each stage."""
    return Stages(a, a * c, a * c * (e / LAMBDA), verified_credit(a, c, e, ell))


def stage_losses(a: float, c: int, e: float, ell: float) -> Losses:
    """Return the credit lost at each stage; with v the four sum to one."""
    supported = a * c * (e / LAMBDA)
    return Losses(1 - a, a * (1 - c), a * c * (1 - e / LAMBDA), supported * (1 - ell / LAMBDA))


class ItemScore(Value):
    """What one model earned on one item under one condition.

    A None is unknown because of the machinery (transport, judge), never because of the model:
    what the model is to blame for is a = 0. Labels of a response without an informative rationale
    (c = 0) carry no credit and may be None.
    """

    item_id: str
    episode_id: str
    recording_group: str
    capability: Capability
    format: Format
    a: Credit | None
    c: Literal[0, 1] | None
    support: EvidenceSupport | None = None
    logic: LogicalIntegrity | None = None

    @property
    def scored(self) -> bool:
        """Whether a and v are known."""
        if self.a is None or self.c is None:
            return False
        return self.c == 0 or (self.support is not None and self.logic is not None)

    @property
    def symbols(self) -> tuple[float, int, float, float]:
        """Return a, c, e and l; raise ScoringError on an unscored item."""
        if self.a is None or self.c is None or not self.scored:
            raise ScoringError(
                f"item {self.item_id} is unscored.",
                "Resume the run to fill the gap, or ask for bounds with --allow-unscored.",
            )
        e = E[self.support] if self.support else 0.0
        return self.a, self.c, e, L[self.logic] if self.logic else 0.0

    @property
    def v(self) -> float:
        """Verified credit; raises ScoringError on an unscored item."""
        return verified_credit(*self.symbols)

    @property
    def stages(self) -> Stages:
        """Credit left after each stage; raises ScoringError on an unscored item."""
        return stage_credits(*self.symbols)

    @property
    def losses(self) -> Losses:
        """Credit lost at each stage; raises ScoringError on an unscored item."""
        return stage_losses(*self.symbols)

    def filled(self, bound: Literal[0, 1]) -> "ItemScore":
        """Return this item with what is unknown set to its worst (0) or best (1) case.

        Scores over items filled with 0 and with 1 are bounds of Raw and Verified, not of
        retention, which does not grow with a.
        """
        if self.scored:
            return self
        support, logic = (
            (EvidenceSupport.STRONG, LogicalIntegrity.FULLY_COHERENT)
            if bound
            else (EvidenceSupport.INSUFFICIENT, LogicalIntegrity.UNEVALUABLE)
        )
        return self.model_copy(
            update={
                "a": float(bound) if self.a is None else self.a,
                "c": bound if self.c is None else self.c,
                "support": self.support or support,
                "logic": self.logic or logic,
            }
        )


Quantity = Callable[[ItemScore], float]
"""Something every scored item has a value of: its v, a loss, its v under other weights."""


def raw(score: ItemScore) -> float:
    """Return a; raise ScoringError on an unscored item."""
    return score.symbols[0]


def verified(score: ItemScore) -> float:
    """Return v; raise ScoringError on an unscored item."""
    return score.v


class Pool(Value):
    """Items that weigh the same; rates are fractions, `retention` is sum v / sum a."""

    n: int
    raw: float
    verified: float
    retention: float | None


class Scores(Value):
    """The scores of one run.

    `capabilities` has every declared capability, None where it holds no item. `raw`, `verified`
    and `retention` are then None too.
    """

    n: int
    capabilities: Mapping[Capability, Pool | None]
    raw: float | None
    verified: float | None
    retention: float | None

    @property
    def extent(self) -> str:
        """How many of the eight capabilities the macro scores average, as "k of 8"."""
        return f"{len(self.capabilities)} of {len(Capability)}"


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return numerator / denominator, None where either is None or the denominator is 0."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def macro_mean(means: Iterable[float | None]) -> float | None:
    """Return the unweighted mean over capabilities, None where one of them is None."""
    known: list[float] = []
    for mean in means:
        if mean is None:
            return None
        known.append(mean)
    return fsum(known) / len(known) if known else None


def pool(scores: Sequence[ItemScore], credit: Quantity = verified) -> Pool:
    """Return the micro scores of some items; raise ScoringError where there are none."""
    _require_some(scores)
    a, v = fsum(map(raw, scores)), fsum(map(credit, scores))
    return Pool(n=len(scores), raw=a / len(scores), verified=v / len(scores), retention=ratio(v, a))


Key = TypeVar("Key")


def strata(scores: Iterable[ItemScore], key: Callable[[ItemScore], Key]) -> dict[Key, Pool]:
    """Return the micro scores of each stratum, in the order of their first items."""
    groups = defaultdict(list)
    for score in scores:
        groups[key(score)].append(score)
    return {name: pool(members) for name, members in groups.items()}


def score_run(
    scores: Sequence[ItemScore], declared: Sequence[Capability], credit: Quantity = verified
) -> Scores:
    """Return the scores of a run over the `declared` capabilities of its release.

    `credit` replaces v, for other weights. Raises ScoringError on no items, an unscored item and
    an item of a capability that is not declared.
    """
    pools = {
        name: pool(members, credit) if members else None
        for name, members in by_capability(scores, declared).items()
    }
    raw_macro = macro_mean(each.raw if each else None for each in pools.values())
    verified_macro = macro_mean(each.verified if each else None for each in pools.values())
    return Scores(
        n=len(scores),
        capabilities=pools,
        raw=raw_macro,
        verified=verified_macro,
        retention=ratio(verified_macro, raw_macro),
    )


def macro(
    scores: Sequence[ItemScore], declared: Sequence[Capability], quantity: Quantity
) -> float | None:
    """Return the macro mean of any quantity, such as one stage's credit or loss."""
    return macro_mean(
        fsum(map(quantity, members)) / len(members) if members else None
        for members in by_capability(scores, declared).values()
    )


def by_capability(
    scores: Sequence[ItemScore], declared: Sequence[Capability]
) -> dict[Capability, list[ItemScore]]:
    """Return the items of each declared capability; raise ScoringError on none or on others."""
    _require_some(scores)
    groups: dict[Capability, list[ItemScore]] = {capability: [] for capability in declared}
    for one in scores:
        if one.capability not in groups:
            raise ScoringError(
                f"item {one.item_id} is of capability {one.capability}, which the release does "
                f"not declare ({', '.join(declared)}).",
                "Score it with the release it belongs to.",
            )
        groups[one.capability].append(one)
    return groups


def _require_some(scores: Sequence[ItemScore]) -> None:
    if not scores:
        raise ScoringError("there is no item to score.", "Choose a subset that holds items.")
