"""Labels of fully correct answers: how often verification is adverse (paper, Table 17).

Adverse is `weak` or `contradicted` Evidence Support and `weak` or `contradictory` Logical
Integrity. `insufficient` and `unevaluable` are counted apart. A correct response without a
rationale (c = 0) has no label; it stays in the denominator.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluation.analyses.drawing import intervals, stacks
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid, named
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study
from evaluation.bootstrap import Floats
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Table
from evaluation.scoring import EvidenceSupport, ItemScore, LogicalIntegrity, Quantity, verified
from psychemme.vocabulary import Capability, Format

ADVERSE_SUPPORT = frozenset({EvidenceSupport.WEAK, EvidenceSupport.CONTRADICTED})
ADVERSE_LOGIC = frozenset({LogicalIntegrity.WEAK, LogicalIntegrity.CONTRADICTORY})
_LOST, _BARE = "insufficient or unevaluable", "no label (c = 0)"
_JOINT = ("both", "support only", "logic only", "neither", _LOST, _BARE)
"""Exclude each other: what is adverse comes first, then what has no label, then what is lost."""
_APART = (_BARE, "insufficient", "unevaluable")


def _adverse(one: ItemScore) -> tuple[bool, bool]:
    return one.support in ADVERSE_SUPPORT, one.logic in ADVERSE_LOGIC


def _is_lost(one: ItemScore) -> bool:
    return one.support is EvidenceSupport.INSUFFICIENT or one.logic is LogicalIntegrity.UNEVALUABLE


def _joint_of(one: ItemScore) -> str:
    adverse = _adverse(one)
    if any(adverse):
        return "both" if all(adverse) else "support only" if adverse[0] else "logic only"
    return _BARE if one.c == 0 else _LOST if _is_lost(one) else "neither"


_KINDS: Mapping[str, Quantity] = {
    "correct": lambda _: True,
    "support": lambda one: _adverse(one)[0],
    "logic": lambda one: _adverse(one)[1],
    "both": lambda one: _joint_of(one) == "both",
    "support only": lambda one: _joint_of(one) == "support only",
    "logic only": lambda one: _joint_of(one) == "logic only",
    "neither": lambda one: _joint_of(one) == "neither",
    _LOST: lambda one: _joint_of(one) == _LOST,
    _BARE: lambda one: one.c == 0,
    "insufficient": lambda one: one.support is EvidenceSupport.INSUFFICIENT,
    "unevaluable": lambda one: one.logic is LogicalIntegrity.UNEVALUABLE,
    "verified": verified,
}
"""What is summed over correct responses; the first three also for each run."""
_BY_RUN = ("correct", "support", "logic")
_AT = {kind: place for place, kind in enumerate(_KINDS)}


@dataclass(frozen=True, eq=False)
class _Found:
    """Counts (C, kinds) over all runs and (C, 3, R) by run, and the cells of their rates.

    `places` are those of the declared capabilities, Timing first.
    """

    grid: Grid
    places: tuple[int, ...]
    pooled: Floats
    by_run: Floats
    cells: Mapping[str, Cells]

    def count(self, place: int, kind: str) -> int:
        """Return how many correct responses in a capability are of a kind."""
        return int(self.pooled[place, _AT[kind]])

    def others(self, place: int, kind: str) -> int:
        """Return how many correct responses in all other capabilities are of a kind."""
        return int(self.pooled[:, _AT[kind]].sum()) - self.count(place, kind)

    def rate(self, block: str, place: int, kind: str) -> Shown:
        """Return the share of a kind, in a capability or as another block says."""
        cell: Shown = self.cells[block][place, _AT[kind]]
        return cell

    def capability(self, place: int) -> str:
        """Return what rows call a capability."""
        return named(self.grid.study.declared[place])


def analyse(study: Study) -> Analysis:
    """Return label rates of correct single-choice answers, each capability against the others.

    Raises NotApplicable where no such answer has a label.
    """
    found = _count(Grid.of(study))
    return Analysis(
        name="labels",
        title="Labels of fully correct answers",
        unit="a response to a single-choice item with a = 1; episodes are redrawn with all runs",
        denominator="correct responses, also those without a label for want of a rationale (c = 0)",
        tables=(
            _rates(found, "support", "Evidence Support weak or contradicted"),
            _rates(found, "logic", "Logical Integrity weak or contradictory"),
            _joint(found),
            _apart(found),
            _by_run(found),
        ),
        drawings=_drawings(found),
        notes=(
            "Rates over runs are ratios of sums over all their correct responses.",
            "Others are the correct responses in all other capabilities.",
            "The difference over all runs also grows where models with worse explanations supply "
            "more of a capability's correct responses; the mean of the differences within each run "
            "(over the runs that have correct responses in both) does not.",
            "Only the episodes that hold single-choice items are redrawn.",
        ),
    )


def _count(grid: Grid) -> _Found:
    runs = len(grid.runs)
    strata = grid.by_capability() * grid.where(lambda item: item.format is Format.SINGLE)[:, None]
    right = grid.values(lambda one: one.symbols[0] == 1)
    kinds = {name: right * grid.values(kind) for name, kind in _KINDS.items()}
    of_all = (values.sum(axis=1, keepdims=True) for values in kinds.values())
    values = np.hstack([*(kinds[name] for name in _BY_RUN), *of_all])
    sums = strata.T @ values
    correct, pooled = sums[:, :runs], sums[:, 3 * runs :]
    both = ((correct > 0) & (correct.sum(axis=0) > correct)).astype(np.float64)[:, None]
    if pooled[:, _AT["correct"]].sum() == pooled[:, _AT[_BARE]].sum():
        raise NotApplicable(
            "No correct answer to a single-choice item has labels.",
            "Name runs of models that explain their answers, and judge them.",
        )

    def figures(totals: Floats) -> Blocks:
        by_run = totals[..., : 3 * runs].reshape(*totals.shape[:2], 3, runs)
        found = _compared("", totals[..., 3 * runs :]) | _compared("run ", by_run)
        # Every draw takes the mean over the same runs; where one is undefined, so is the mean.
        each = np.where(both > 0, found["run difference"], 0.0).sum(axis=-1)
        return found | {"within": quotient(each, both.sum(axis=-1))}

    differences = ("difference", "run difference", "within")
    cells = grid.estimated(strata, values, figures, differences)
    by_run = sums[:, : 3 * runs].reshape(-1, 3, runs)
    places = sorted(range(len(strata.T)), key=lambda c: grid.study.declared[c] != Capability.TIMING)
    return _Found(grid, tuple(places), pooled, by_run, cells)


def _compared(head: str, totals: Floats) -> dict[str, Floats]:
    """Return shares of the first kind from totals (b, C, kinds, ...), and those of the others."""
    others = totals.sum(axis=1, keepdims=True) - totals
    own, rest = quotient(totals, totals[:, :, :1]), quotient(others, others[:, :, :1])
    return {f"{head}rate": own, f"{head}others": rest, f"{head}difference": own - rest}


def _rates(found: _Found, kind: str, label: str) -> Table:
    return Table(
        name=f"labels-{kind}",
        title=f"{label}, over all runs",
        columns=(
            *("capability", "correct", "adverse", "rate"),
            *("others correct", "others adverse", "others rate", "difference"),
            "mean difference within runs",
        ),
        rows=tuple(
            (
                found.capability(place),
                found.count(place, "correct"),
                found.count(place, kind),
                found.rate("rate", place, kind),
                found.others(place, "correct"),
                found.others(place, kind),
                found.rate("others", place, kind),
                found.rate("difference", place, kind),
                found.rate("within", place, kind),
            )
            for place in found.places
        ),
    )


def _joint(found: _Found) -> Table:
    return Table(
        name="labels-joint",
        title="Both labels of correct responses, over all runs",
        columns=("capability", "correct", *_JOINT, *(f"{part}, share" for part in _JOINT)),
        rows=tuple(
            (
                found.capability(place),
                *(found.count(place, kind) for kind in ("correct", *_JOINT)),
                *(found.rate("rate", place, kind) for kind in _JOINT),
            )
            for place in found.places
        ),
    )


def _apart(found: _Found) -> Table:
    blocks = ("rate", "others", "difference")
    return Table(
        name="labels-retention",
        title="Retention of correct responses, and what is no adverse label, over all runs",
        columns=("capability", "correct", "retention", "others", "difference", *_APART),
        rows=tuple(
            (
                found.capability(place),
                found.count(place, "correct"),
                *(found.rate(block, place, "verified") for block in blocks),
                *(found.count(place, kind) for kind in _APART),
            )
            for place in found.places
        ),
    )


def _by_run(found: _Found) -> Table:
    labels = ("support", "logic")
    heads = (f"{part} {label}" for label in labels for part in ("adverse", "others", "difference"))
    blocks = ("run rate", "run others", "run difference")
    return Table(
        name="labels-runs",
        title="Adverse labels of correct responses by run",
        columns=("run", "capability", "correct", *heads),
        rows=tuple(
            (
                run,
                found.capability(place),
                int(found.by_run[place, 0, nth]),
                *(found.cells[block][place, kind, nth] for kind in (1, 2) for block in blocks),
            )
            for nth, run in enumerate(found.grid.runs)
            for place in found.places
        ),
    )


def _drawings(found: _Found) -> tuple[Drawing, ...]:
    rates = {
        found.capability(place): {
            f"adverse {kind}": found.rate("rate", place, kind) for kind in ("support", "logic")
        }
        for place in found.places
    }
    joint = {
        found.capability(place): {
            kind: found.count(place, kind) / max(1, found.count(place, "correct"))
            for kind in _JOINT
        }
        for place in found.places
    }
    return (
        intervals(
            "labels-rates",
            "Rate of adverse labels among correct responses by capability, with 95% intervals.",
            "adverse labels of correct single-choice responses (%)",
            rates,
        ),
        stacks(
            "labels-joint",
            "Share of correct responses with both, one or no adverse label, by capability; what "
            "has no label or a label without credit is apart.",
            "correct single-choice responses (%)",
            joint,
        ),
    )
