"""How far reviewers agree, for each dimension and capability, over all reviewed items.

Computed before anything is filtered: items chosen for unanimity agree by construction. Shares and
coefficients are fractions. Verdicts are compared as they are. Blind answers fall into two kinds,
never pooled, because a reviewer could not have answered one as the other:

- one option (`single`): values are option letters, pooled over items. A letter means something else
  in each item, so chance agreement is that of reviewers who favour positions without looking.
- sets of options (`multiple`): alpha weighs a difference by its MASI distance; raw agreement,
  unanimity and AC1 take two sets as equal or not.

AC1 has as many categories as a reviewer could have given values, whether or not they occur: two
verdicts, the options offered (of the item that offers most), or for sets the 2^n - 1 of n options.
It is undefined where ratings from a file do not tell the number of options.
Whether a blind answer is right is another question, and not asked here.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from construction.review import coefficients
from construction.review.coefficients import DRAWS, SEED, AlphaInterval, Coefficient, Counts
from construction.review.ratings import ALL, VERDICTS, Dimension, Kind, Rating, conflicts
from psychemme.episode import Value
from psychemme.errors import UserError
from psychemme.vocabulary import Capability

_Key = tuple[Dimension, Kind, str]


class AgreementRow(Value):
    """Agreement in one dimension on the items of one capability, or of all.

    `n_items` were rated at all, `n_paired` by two reviewers or more; figures rest on these, but for
    the shares of values in `ac1`. `raw` is the mean share of agreeing pairs, `unanimous` the share
    of items without any difference, `masi` the mean distance of two reviewers' sets (None where
    values are no sets).
    """

    dimension: Dimension
    kind: Kind
    capability: str
    n_items: int
    n_paired: int
    n_reviewers: int
    n_ratings: int
    raw: Coefficient
    unanimous: Coefficient
    alpha: Coefficient
    alpha_interval: AlphaInterval | None
    ac1: Coefficient
    masi: Coefficient | None


class AgreementReport(Value):
    """All rows, by dimension, then `all` before the capabilities, with how intervals were drawn.

    `n_items` were rated in any dimension, `n_replaced` of which are versions that an edit replaced.
    """

    rows: tuple[AgreementRow, ...]
    draws: int
    seed: int
    n_items: int
    n_replaced: int


def agreement(
    ratings: Iterable[Rating], *, draws: int = DRAWS, seed: int = SEED
) -> AgreementReport:
    """Return how far reviewers agree, whatever order the ratings come in.

    Each dimension has a row `all`, also where nothing was rated, and one for each capability that
    was. Intervals are those of `coefficients.alpha_interval`. Raises UserError where a reviewer
    rated an item twice in a dimension, or an item has two capabilities or kinds of blind answer.
    """
    ratings = list(ratings)
    for _, fault in conflicts(ratings):
        raise UserError(fault, "Leave one of them out.")
    pools = _pools(ratings)
    rows = tuple(_row(key, pools[key], draws, seed) for key in sorted(pools, key=_place))
    replaced = len({one.item for one in ratings if one.replaced})
    items = len({one.item for one in ratings})
    return AgreementReport(rows=rows, draws=draws, seed=seed, n_items=items, n_replaced=replaced)


def _pools(ratings: Sequence[Rating]) -> dict[_Key, list[Rating]]:
    pools: dict[_Key, list[Rating]] = {}
    for dimension in Dimension:
        is_blind = dimension is Dimension.BLIND_ANSWER
        for kind in (Kind.OPTION, Kind.OPTION_SET) if is_blind else (Kind.VERDICT,):
            pools[dimension, kind, ALL] = []
    for one in ratings:
        pools[one.dimension, one.kind, ALL].append(one)
        pools.setdefault((one.dimension, one.kind, one.capability), []).append(one)
    return pools


_ORDER = {name: place for place, name in enumerate((ALL, *Capability))}


def _place(key: _Key) -> tuple[int, int, int, str]:
    dimension, kind, capability = key
    known = _ORDER.get(capability, len(_ORDER))
    return [*Dimension].index(dimension), [*Kind].index(kind), known, capability


def _row(key: _Key, ratings: Sequence[Rating], draws: int, seed: int) -> AgreementRow:
    dimension, kind, capability = key
    values = list(VERDICTS) if kind is Kind.VERDICT else sorted({one.value for one in ratings})
    counts = _counts(ratings, values)
    if kind is Kind.OPTION_SET:
        distances = coefficients.masi_distances([frozenset(value) for value in values])
        alpha = coefficients.alpha(counts, distances)
        masi = coefficients.mean_distance(counts, distances)
    else:
        distances = coefficients.nominal_distances(len(values))
        alpha, masi = coefficients.nominal_alpha(counts), None
    return AgreementRow(
        dimension=dimension,
        kind=kind,
        capability=capability,
        n_items=len(counts),
        n_paired=int((counts.sum(axis=1) >= 2).sum()),
        n_reviewers=len({one.reviewer for one in ratings}),
        n_ratings=len(ratings),
        raw=coefficients.raw_agreement(counts),
        unanimous=coefficients.unanimous_share(counts),
        alpha=alpha,
        alpha_interval=coefficients.alpha_interval(counts, distances, draws, seed),
        ac1=coefficients.gwet_ac1(counts, _categories(kind, ratings)),
        masi=masi,
    )


def _categories(kind: Kind, ratings: Sequence[Rating]) -> int | None:
    """Return how many values a reviewer could have given, None where that is not told."""
    if kind is Kind.VERDICT:
        return len(VERDICTS)
    offered = [one.options for one in ratings if one.options is not None]
    if not offered or len(offered) < len(ratings):
        return None
    most = max(offered)
    return most if kind is Kind.OPTION else 2**most - 1


def _counts(ratings: Sequence[Rating], values: Sequence[Any]) -> Counts:
    """Return how often each item was given each value, items in ascending order of their ids."""
    items = {name: row for row, name in enumerate(sorted({one.item for one in ratings}))}
    columns = {value: column for column, value in enumerate(values)}
    places = [items[one.item] * len(values) + columns[one.value] for one in ratings]
    size = len(items) * len(values)
    counts = np.bincount(np.array(places, dtype=np.int64), minlength=size)
    return counts.reshape(len(items), len(values))
