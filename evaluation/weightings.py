"""Other ways to weigh the two labels, for sensitivity analyses (paper, Appendix G.4, Table 20).

A weighting is divided by what it gives to both strongest labels, so it lies in 0 to 1. Like the
paper's own, every one gives 0 where c, e or l is 0: an unsupported explanation never counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluation.scoring import E, EvidenceSupport, ItemScore, L, LogicalIntegrity

Combine = Callable[[float, float], float]


@dataclass(frozen=True)
class Weighting:
    """How the labels of a response become the share of a that it keeps."""

    name: str
    combine: Combine
    support: Mapping[EvidenceSupport, float]
    logic: Mapping[LogicalIntegrity, float]

    def weight(self, support: EvidenceSupport, logic: LogicalIntegrity) -> float:
        """Return the weight of two labels, 0 to 1."""
        e, ell = self.support[support], self.logic[logic]
        if not (e and ell):
            return 0.0
        best = max(self.support.values()), max(self.logic.values())
        return self.combine(e, ell) / self.combine(*best)

    def credit(self, score: ItemScore) -> float:
        """Return v under this weighting; raise ScoringError on an unscored item."""
        a, c, _, _ = score.symbols
        if score.support is None or score.logic is None:
            return 0.0
        return a * c * self.weight(score.support, score.logic)


def _product(e: float, ell: float) -> float:
    return e * ell


def _graded(name: str, *weights: float) -> Weighting:
    """Return the product of weights given from the strongest label down; the last label has 0."""
    return Weighting(
        name,
        _product,
        dict(zip(EvidenceSupport, (*weights, 0.0), strict=True)),
        dict(zip(LogicalIntegrity, (*weights, 0.0), strict=True)),
    )


PAPER = Weighting("paper", _product, E, L)
SOFT = _graded("soft", 1.1, 1.0, 0.9, 0.7)
STRICT = _graded("strict", 1.2, 1.0, 0.6, 0.3)
MEAN = Weighting("mean", lambda e, ell: (e + ell) / 2, E, L)
MINIMUM = Weighting("minimum", min, E, L)
SUPPORT_ONLY = Weighting("support only", lambda e, _: e, E, L)
LOGIC_ONLY = Weighting("logic only", lambda _, ell: ell, E, L)
THRESHOLD = Weighting(
    "threshold",
    lambda e, ell: float(e >= E[EvidenceSupport.NORMAL] and ell >= L[LogicalIntegrity.ACCEPTABLE]),
    E,
    L,
)
STRONGEST_ONLY = Weighting(
    "strongest only",
    lambda e, ell: float(
        e == E[EvidenceSupport.STRONG] and ell == L[LogicalIntegrity.FULLY_COHERENT]
    ),
    E,
    L,
)

WEIGHTINGS = (
    PAPER,
    SOFT,
    STRICT,
    MEAN,
    MINIMUM,
    SUPPORT_ONLY,
    LOGIC_ONLY,
    THRESHOLD,
    STRONGEST_ONLY,
)
"""All of them; the paper's own is the product of the normalised weights."""
