"""The few statistics that audits need, without scipy."""

import math
from collections.abc import Sequence

Z95 = 1.959963984540054
_SERIES, _TINY, _ENOUGH = 10_000, 1e-300, 1e-15


def wilson(count: float, of: int) -> tuple[float, float]:
    """Return the 95% Wilson interval of a fraction; raises ValueError where `of` is 0."""
    if of < 1:
        raise ValueError("no observation")
    share, z2 = count / of, Z95 * Z95
    middle = share + z2 / (2 * of)
    half = Z95 * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    below, above = (middle - half) / (1 + z2 / of), (middle + half) / (1 + z2 / of)
    return (0.0 if count == 0 else below), (1.0 if count == of else above)


def chi_squared(groups: Sequence[Sequence[int]]) -> tuple[float, int]:
    """Return the statistic and degrees of freedom of counts that should be even in each group."""
    statistic, freedom = 0.0, 0
    for counts in groups:
        expected = sum(counts) / len(counts)
        if expected > 0:
            statistic += sum((count - expected) ** 2 for count in counts) / expected
            freedom += len(counts) - 1
    return statistic, freedom


def chi_squared_p(statistic: float, freedom: int) -> float:
    """Return P(X >= statistic) for X of `freedom` degrees: the regularised upper gamma function."""
    a, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    return 1 - scale * _lower_series(a, x) if x < a + 1 else scale * _upper_fraction(a, x)


def _lower_series(a: float, x: float) -> float:
    term = total = 1 / a
    for n in range(1, _SERIES):
        term *= x / (a + n)
        total += term
        if term < total * _ENOUGH:
            break
    return total


def _upper_fraction(a: float, x: float) -> float:
    # Lentz's method (Numerical Recipes, 6.2).
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    value = d
    for n in range(1, _SERIES):
        factor = -n * (n - a)
        b += 2
        d = factor * d + b
        d = 1 / (d if abs(d) > _TINY else _TINY)
        c = b + factor / c
        c = c if abs(c) > _TINY else _TINY
        value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return value
