"""Sensitivity to what the two labels are worth (paper, Appendix G.4 and Table 20).

The judge's labels stay; their weights change. Told are the Verified macro scores, how far the
ordering of the runs persists, and whether the capability that retains least stays the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid
from evaluation.analyses.retention import lowest
from evaluation.analyses.values import Analysis, NotApplicable, Study
from evaluation.bootstrap import Floats
from evaluation.report.formats import NOTE, Cell, Number, Table
from evaluation.scoring import raw
from evaluation.weightings import LOGIC_ONLY, PAPER, SOFT, STRICT, SUPPORT_ONLY, WEIGHTINGS

_NAMES = tuple(one.name for one in WEIGHTINGS)
_DRAWN = (PAPER, SOFT, STRICT, SUPPORT_ONLY, LOGIC_ONLY)


def analyse(study: Study) -> Analysis:
    """Return Verified macro scores, orderings and lowest retention under every weighting.

    Raises NotApplicable where a declared capability has no item.
    """
    grid = Grid.of(study)
    credit = [grid.values(one.credit) for one in WEIGHTINGS]
    macro = _macro(grid, credit)
    if np.isnan(macro).any():
        raise NotApplicable(
            "A declared capability has no item, so that no macro score is defined.",
            "Name runs over all the release's capabilities.",
        )
    found = _estimated(grid, credit, _best_first(macro[0]))
    return Analysis(
        name="sensitivity",
        title="Sensitivity to the weights of labels",
        unit="a response to an item; episodes are redrawn",
        denominator="all planned items, macro averages over the declared capabilities",
        tables=(
            _scores_table(grid, found["macro"]),
            _persistence_table(grid, credit, macro, found),
            *_order_tables(grid, macro, found),
        ),
        drawings=(
            intervals(
                "sensitivity",
                "Verified macro score of each run under five weightings, with 95% intervals.",
                "Verified macro score (%)",
                {
                    run: {one.name: cells[_NAMES.index(one.name)] for one in _DRAWN}
                    for run, cells in zip(grid.runs, found["macro"].T, strict=True)
                },
            ),
        ),
        notes=(
            "The paper's weighting is e times l, 1.2, 1, 0.8, 0.5 and 0 from the best label to the "
            "worst; soft has 1.1, 1, 0.9, 0.7, 0 and strict 1.2, 1, 0.6, 0.3, 0; mean and minimum "
            "are of e and l; support only and logic only take one of them; threshold takes the two "
            "best labels of both as 1, strongest only the best, and all others as 0.",
            "Every weighting is divided by what both strongest labels get, and gives 0 where an "
            "explanation is absent, insufficient or unevaluable.",
        ),
    )


def _macro(grid: Grid, credit: Sequence[Floats]) -> Floats:
    """Return the macro score under each weighting (W, R), NaN where it is undefined."""
    strata = grid.by_capability().T
    return np.stack([_mean((strata @ one)[None], strata @ grid.ones)[0] for one in credit])


def _mean(sums: Floats, n: Floats) -> Floats:
    """Return macro means (b, K) of sums (b, C, K); equal scores stay equal after rounding."""
    found: Floats = quotient(sums, n).mean(axis=1).round(12)
    return found


def _best_first(scores: Floats) -> list[int]:
    """Return the places of runs (R,), equal ones in the order given."""
    return sorted(range(len(scores)), key=lambda run: -scores[run])


def _estimated(grid: Grid, credit: Sequence[Floats], order: Sequence[int]) -> dict[str, Cells]:
    """Return cells of `macro` (W, R), `agreement` (W,) and `ahead` (W, R - 1).

    `agreement` is the share of pairs in the paper's order; `ahead` is each run's lead over the next
    in `order`.
    """
    one, other = grid.pairs
    values = np.hstack([*credit, grid.ones])

    def figures(totals: Floats) -> Blocks:
        macro = _mean(totals[..., :-1], totals[..., -1:])
        macro = macro.reshape(len(totals), len(credit), -1)
        signs = np.sign(macro[..., one] - macro[..., other])
        agreement = (signs * signs[:, :1] + 1) / 2
        return {
            "macro": macro,
            "agreement": quotient(agreement.sum(axis=-1), np.array(len(one))),
            "ahead": macro[..., order[:-1]] - macro[..., order[1:]],
        }

    return grid.estimated(grid.by_capability(), values, figures, ("ahead",))


def _scores_table(grid: Grid, found: Cells) -> Table:
    return Table(
        name="sensitivity-verified",
        title="Verified macro scores under other weightings",
        columns=("run", *_NAMES),
        rows=tuple((run, *cells) for run, cells in zip(grid.runs, found.T, strict=True)),
    )


def _persistence_table(
    grid: Grid, credit: Sequence[Floats], macro: Floats, found: dict[str, Cells]
) -> Table:
    least = [_least(grid, one) for one in credit]
    known = [place for place, one in enumerate(least[0]) if one]
    order = _best_first(macro[0])
    return Table(
        name="sensitivity-persistence",
        title="What persists under other weightings",
        columns=(
            *("weighting", "Kendall's tau-b", "pairs in the same order", "neighbours swapped"),
            *("lowest retention stays", "lowest retention (runs)"),
        ),
        rows=tuple(
            (
                name,
                *(
                    (
                        _tau(macro[0], macro[nth]),
                        found["agreement"][nth] if len(order) > 1 else None,
                        _swapped(macro[0][order], macro[nth][order]),
                        f"{sum(least[nth][run] == least[0][run] for run in known)} of {len(known)}",
                    )
                    if nth
                    else (None,) * 4
                ),
                ", ".join(_counted(least[nth])) or None,
            )
            for nth, name in enumerate(_NAMES)
        ),
        note=(
            f"{NOTE} Against the paper's weighting; a tie counts as half a pair in the same order. "
            "Neighbours are runs next to each other in its ordering that it tells apart."
        ),
    )


def _least(grid: Grid, credit: Floats) -> list[str]:
    """Return the capability that retains least in each run, tied ones joined, "" without any."""
    strata = grid.by_capability()
    retention = quotient(strata.T @ credit, strata.T @ grid.values(raw))
    points = ([None if np.isnan(x) else float(x) for x in run] for run in retention.T)
    return [" = ".join(grid.study.declared[place] for place in lowest(run)) for run in points]


def _counted(least: Sequence[str]) -> Iterator[str]:
    ordered = sorted(Counter(filter(None, least)).items(), key=lambda one: (-one[1], one[0]))
    return (f"{name} {n}" for name, n in ordered)


def _tau(scores: Floats, others: Floats) -> Number | None:
    """Return Kendall's tau-b, None where an ordering tells no runs apart."""
    one, other = (np.sign(found[:, None] - found) for found in (scores, others))
    most = np.sqrt((one**2).sum() * (other**2).sum())
    return Number(point=float((one * other).sum() / most), decimals=3) if most > 0 else None


def _swapped(scores: Floats, others: Floats) -> str:
    """Return how many neighbours of the first ordering are swapped; runs are best first."""
    told = -np.diff(scores) > 0
    return f"{int((told & (np.diff(others) > 0)).sum())} of {int(told.sum())}"


def _order_tables(grid: Grid, macro: Floats, found: dict[str, Cells]) -> Iterator[Table]:
    order = _best_first(macro[0])
    if len(order) < 2:
        return
    yield Table(
        name="sensitivity-ranks",
        title="Ranks by Verified macro score under other weightings",
        columns=("run", *_NAMES),
        rows=tuple(
            (grid.runs[run], *(int((scores > scores[run]).sum()) + 1 for scores in macro))
            for run in order
        ),
        note="1 is the best; equal runs share the better rank.",
    )
    neighbours: list[tuple[Cell, ...]] = [
        (f"{grid.runs[one]} less {grid.runs[other]}", *found["ahead"][:, place])
        for place, (one, other) in enumerate(pairwise(order))
    ]
    yield Table(
        name="sensitivity-neighbours",
        title="Verified lead over the next run in the paper's ordering, under other weightings",
        columns=("runs", *_NAMES),
        rows=tuple(neighbours),
    )
