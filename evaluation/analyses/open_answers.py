"""Open answers: completeness, length, and rationales where two runs are right (Tables 18, 19).

Two runs are jointly correct on the items where both have a = 1; there the verification weight
c e l / lambda^2 compares rationales alone (paper, Appendix G).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

import numpy as np

from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid, counts, named
from evaluation.analyses.values import Analysis, NotApplicable, Study
from evaluation.bootstrap import Floats
from evaluation.report.formats import NOTE, Cell, Number, Table
from evaluation.report.runs import ReportRun
from evaluation.scoring import ItemScore, Quantity, raw, verified, verified_credit
from psychemme.release.words import words
from psychemme.vocabulary import Capability, Format

_WORDS = (
    "Words are runs of letters, marks and digits in any script; each Han or Kana character counts "
    "as one, and what Thai, Lao, Khmer or Burmese write without a space counts as one too. They "
    "are counted over responses with an answer."
)
_CREDITS: Mapping[str, Quantity] = {
    "Raw": raw,
    "Verified": verified,
    "full credit": lambda one: raw(one) == 1,
    "any credit": lambda one: raw(one) > 0,
}


@dataclass(frozen=True, eq=False)
class _Formats:
    """A capability with choice and open items: how many of each, and figures (2, ...) of both."""

    capability: Capability
    sizes: list[int]
    cells: dict[str, Cells]


def analyse(study: Study) -> Analysis:
    """Return credit and length of open answers, and runs compared where formats or credit agree.

    Raises NotApplicable where no item is open.
    """
    grid = Grid.of(study)
    is_open = grid.where(lambda item: item.format is Format.OPEN)[:, None]
    if not is_open.any():
        raise NotApplicable("No item is open.", "Name runs over open items.")
    values = np.hstack([*(grid.values(each) for each in _CREDITS.values()), grid.ones])
    credit = _credit(grid, is_open, values)
    return Analysis(
        name="open-answers",
        title="Open answers",
        unit="a response to an item; episodes are redrawn",
        denominator="the items each table counts, failed responses included",
        tables=(
            _credit_table(grid, credit),
            *_pair_tables(grid, is_open),
            *_formats(grid, is_open, values),
        ),
        drawings=(
            intervals(
                "open-answers",
                "Share of open items with full and with any answer credit by run, with intervals.",
                "open items (%)",
                {
                    run: {"full credit": cells[2], "any credit": cells[3]}
                    for run, cells in zip(grid.runs, credit, strict=True)
                },
            ),
        ),
        notes=(
            "For open items, and for the formats of one capability, only their episodes are "
            "redrawn. Jointly correct items are found anew among the items of each draw.",
        ),
    )


def _credit(grid: Grid, is_open: Floats, values: Floats) -> Cells:
    """Return the rates of `_CREDITS` of open items (R, 4)."""

    def figures(totals: Floats) -> Blocks:
        found = quotient(totals[:, 0, :-1], totals[:, 0, -1:])
        return {"rates": found.reshape(len(totals), len(_CREDITS), -1).swapaxes(1, 2)}

    return grid.estimated(is_open, values, figures)["rates"]


def _credit_table(grid: Grid, found: Cells) -> Table:
    return Table(
        name="open-answers",
        title="Credit and length of open answers",
        columns=(
            *("run", "n", "answered", "Raw (micro)", "Verified (micro)", "full credit"),
            *("any credit", "words, mean", "words, median"),
        ),
        rows=tuple(
            (run.name, *_answered(grid, run, cells))
            for run, cells in zip(grid.study.runs, found, strict=True)
        ),
        note=f"{NOTE} {_WORDS}",
    )


def _answered(grid: Grid, run: ReportRun, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    asked = [run.responses[one.item_id] for one in grid.items if one.format is Format.OPEN]
    lengths = [len(words(one.answer)) for one in asked if isinstance(one.answer, str)]
    sizes = [Number(point=of(lengths), decimals=1) for of in (fmean, median) if lengths]
    return (len(asked), len(lengths), *cells, *(sizes or (None, None)))


def _pair_tables(grid: Grid, is_open: Floats) -> Iterator[Table]:
    if len(grid.runs) > 1:
        yield _jointly(grid, is_open, "open", "open items")
        yield _jointly(grid, grid.ones, "all", "items of all formats")


def _weight(one: ItemScore) -> float:
    _, c, e, ell = one.symbols
    return verified_credit(1, c, e, ell)


def _jointly(grid: Grid, kept: Floats, name: str, label: str) -> Table:
    """Return mean verification weights of every pair of runs where both have a = 1."""
    one, other = grid.pairs
    full, weight = grid.values(lambda score: raw(score) == 1), grid.values(_weight)
    both = full[:, one] * full[:, other]
    values = np.hstack([both, both * weight[:, one], both * weight[:, other]])

    def figures(totals: Floats) -> Blocks:
        n, first, second = np.split(totals[:, 0], 3, axis=1)
        means = quotient(first, n), quotient(second, n)
        return {"first": means[0], "second": means[1], "difference": means[0] - means[1]}

    found = grid.estimated(kept, values, figures, ("difference",))
    return Table(
        name=f"open-answers-jointly-{name}",
        title=f"Mean verification weight where both runs have full credit, {label}",
        columns=("run", "other", "n", "episodes", "weight", "weight of other", "difference"),
        rows=tuple(
            (
                grid.runs[one[pair]],
                grid.runs[other[pair]],
                int(held.sum()),
                grid.episodes(held),
                *(cells[pair] for cells in found.values()),
            )
            for pair, held in enumerate((both * kept).T)
        ),
    )


def _formats(grid: Grid, is_open: Floats, values: Floats) -> Iterator[Table]:
    """Yield choice against open items within the capabilities that hold both, if any does."""
    formats = np.hstack([1 - is_open, is_open])
    both = [
        _Formats(capability, counts(strata), _by_format(grid, strata, values))
        for capability, members in zip(grid.study.declared, grid.by_capability().T, strict=True)
        if all(counts(strata := members[:, None] * formats))
    ]
    if both:
        yield _format_table(grid, both)
    if both and len(grid.runs) > 1:
        yield _format_pairs(grid, both)


def _by_format(grid: Grid, strata: Floats, values: Floats) -> dict[str, Cells]:
    """Return figures (2, R) of choice and open items (N, 2), and differences (2, pairs)."""
    one, other = grid.pairs

    def figures(totals: Floats) -> Blocks:
        rates = quotient(totals[..., :-1], totals[..., -1:])
        found = dict(zip(_CREDITS, np.split(rates, len(_CREDITS), axis=-1), strict=True))
        v = found["Verified"]
        return found | {"difference": v[..., one] - v[..., other]}

    return grid.estimated(strata, values, figures, ("difference",))


def _format_table(grid: Grid, both: Sequence[_Formats]) -> Table:
    return Table(
        name="open-answers-formats",
        title="Choice and open items within a capability",
        columns=(
            *("capability", "run", "choice n", "choice Raw", "choice Verified"),
            *("open n", "open Raw", "open Verified", "open full credit", "open any credit"),
        ),
        rows=tuple(
            (
                named(one.capability),
                run,
                one.sizes[0],
                *(one.cells[name][0, nth] for name in ("Raw", "Verified")),
                one.sizes[1],
                *(one.cells[name][1, nth] for name in _CREDITS),
            )
            for one in both
            for nth, run in enumerate(grid.runs)
        ),
    )


def _format_pairs(grid: Grid, both: Sequence[_Formats]) -> Table:
    return Table(
        name="open-answers-format-pairs",
        title="Differences in Verified on choice and on open items within a capability",
        columns=("capability", "run", "other", "choice n", "choice", "open n", "open"),
        rows=tuple(
            (
                named(one.capability),
                *pair,
                one.sizes[0],
                one.cells["difference"][0, place],
                one.sizes[1],
                one.cells["difference"][1, place],
            )
            for one in both
            for place, pair in enumerate(combinations(grid.runs, 2))
        ),
    )
