"""Everything a report says in numbers, worked out once for page and tables.

Runs over the same items are a cohort: only they are compared, on the same draws of episodes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.bootstrap import (
    DRAWS,
    FLAGGED_ABOVE,
    SEED,
    WITHHELD_ABOVE,
    Estimate,
    rank_intervals,
)
from evaluation.comparisons import Figure, Measure, PairEstimate, compare, drawn_figures, figures
from evaluation.episode_table import EpisodeTable
from evaluation.report.runs import ReportRun
from evaluation.scoring import ItemScore, macro
from psychemme.episode import Value
from psychemme.vocabulary import Capability

Place = tuple[Measure, Capability | None]
"""A measure of one capability, or of all."""

Ranks = tuple[int, int] | None
LOSSES = ("answer", "coverage", "support", "logic", "verified")
"""The four stages that lose credit, and what is left of it."""


class Shown(Value):
    """A figure with its 95% interval, or with bounds where items are unscored; fractions.

    `excluded` is the share of draws in which it is undefined, `episodes` how many episodes the
    figure rests on, None where nobody counted them.
    """

    point: float | None = None
    low: float | None = None
    high: float | None = None
    excluded: float = 0.0
    episodes: int | None = None
    is_bounds: bool = False
    is_difference: bool = False

    @property
    def is_flagged(self) -> bool:
        """Whether there is a figure, and more than 5% of the draws are excluded."""
        return self.point is not None and self.excluded > FLAGGED_ABOVE

    @property
    def is_withheld(self) -> bool:
        """Whether there is a figure, but no interval, for too many draws are excluded."""
        return self.point is not None and self.excluded > WITHHELD_ABOVE


@dataclass(frozen=True)
class Row:
    """One run's figures.

    `by_group` resamples recording groups in place of episodes. `losses` are the macro means of
    `LOSSES`; `support` and `logic` count labels, each over `labelled` responses.
    """

    run: ReportRun
    ok: int
    failed: int
    unscored: int
    figures: Mapping[Place, Shown]
    by_group: Mapping[Place, Shown]
    ranks: Mapping[Measure, Ranks]
    losses: tuple[float, ...] | None
    support: Mapping[str, int]
    logic: Mapping[str, int]
    labelled: int

    @property
    def planned(self) -> int:
        """The denominator: every planned item."""
        return self.ok + self.failed + self.unscored


@dataclass(frozen=True)
class Cohort:
    """Runs over the same items, the best Verified first; `pairs` are of those without gaps.

    Ranks are among runs of one condition; `ranked` says how many those are, by condition.
    """

    items: tuple[str, ...]
    n: Mapping[Capability, int]
    episodes: int
    groups: int
    ranked: Mapping[str, int]
    draws: int
    seed: int
    rows: tuple[Row, ...]
    pairs: tuple[PairEstimate, ...]

    @property
    def extent(self) -> str:
        """How many of the eight capabilities the macro scores average, as "k of 8"."""
        return f"{len(self.n)} of {len(Capability)}"

    @property
    def competing(self) -> str:
        """Among how many runs each condition's ranks are, in words."""
        return ", ".join(f"{n} of {condition}" for condition, n in self.ranked.items()) or "none"

    @property
    def is_partial(self) -> bool:
        """Whether fewer than all capabilities are averaged."""
        return len(self.n) < len(Capability)

    @property
    def without_items(self) -> tuple[Capability, ...]:
        """Declared capabilities that no item asks about, so that no macro score is defined."""
        return tuple(capability for capability, n in self.n.items() if n == 0)


class Difference(Value):
    """How much more `run` has than `against`, in one figure."""

    figure: Figure
    run: str
    against: str
    shown: Shown
    p: float | None
    p_holm: float | None


def make_cohorts(runs: Sequence[ReportRun], draws: int = DRAWS, seed: int = SEED) -> list[Cohort]:
    """Return the runs by the items they were asked, the most items first."""
    groups: dict[tuple[str, ...], list[ReportRun]] = {}
    for run in runs:
        groups.setdefault(tuple(item.item_id for item in run.scored.items), []).append(run)
    ordered = sorted(groups.items(), key=lambda pair: (-len(pair[0]), pair[0]))
    return [_cohort(items, members, draws, seed) for items, members in ordered]


def differences(cohort: Cohort, against: str) -> list[Difference]:
    """Return every other run less the run called `against`, for every figure."""
    found = []
    for pair in cohort.pairs:
        if against in (pair.run, pair.other):
            is_turned = pair.run == against
            found.append(
                Difference(
                    figure=pair.figure,
                    run=pair.other if is_turned else pair.run,
                    against=against,
                    shown=_difference(pair.difference, is_turned),
                    p=pair.p,
                    p_holm=pair.p_holm,
                )
            )
    return found


def _difference(estimate: Estimate, is_turned: bool) -> Shown:
    ends = (estimate.point, estimate.low, estimate.high)
    if is_turned:
        point, high, low = (None if end is None else 0.0 - end for end in ends)
    else:
        point, low, high = ends
    return Shown(point=point, low=low, high=high, excluded=estimate.excluded, is_difference=True)


def _cohort(items: tuple[str, ...], runs: list[ReportRun], draws: int, seed: int) -> Cohort:
    first = runs[0].scored
    whole = {run.name: run.scored.items for run in runs if not run.scored.unscored}
    table = EpisodeTable.of(whole, first.declared) if whole else None
    wanted = figures(first.declared)
    compared = compare(table, wanted, draws, seed) if table else None
    overall = tuple(Figure(measure=measure) for measure in Measure)
    grouped = compare(table.by_recording_group(), overall, draws, seed) if table else None
    found: dict[str, dict[Place, Shown]] = {}
    by_group: dict[str, dict[Place, Shown]] = {}
    for into, comparison in ((found, compared), (by_group, grouped)):
        for one in comparison.runs if comparison else ():
            into.setdefault(one.run, {})[_place(one.figure)] = _shown(one.estimate)
    competitors: dict[str, list[ReportRun]] = {}
    for run in sorted(runs, key=_condition):
        if run.name in whole and run.is_ranked:
            competitors.setdefault(_condition(run), []).append(run)
    ranks = {
        name: found
        for members in competitors.values()
        for name, found in _ranks(members, draws, seed).items()
    }
    rows = [
        _row(run, found.get(run.name) or _bounds(run), by_group.get(run.name, {}), ranks)
        for run in runs
    ]
    return Cohort(
        items=items,
        n=_sizes(first.items, first.declared),
        episodes=len({item.episode_id for item in first.items}),
        groups=len({item.recording_group for item in first.items}),
        ranked={condition: len(members) for condition, members in competitors.items()},
        draws=draws,
        seed=seed,
        rows=tuple(sorted(rows, key=_order)),
        pairs=compared.pairs if compared else (),
    )


def _ranks(
    runs: Sequence[ReportRun], draws: int, seed: int
) -> Mapping[str, Mapping[Measure, Ranks]]:
    """Return the rank intervals of `runs`, which compete with each other."""
    ranked = {run.name: run.scored.items for run in runs}
    found: dict[str, dict[Measure, Ranks]] = {name: {} for name in ranked}
    table = EpisodeTable.of(ranked, runs[0].scored.declared)
    overall = [Figure(measure=measure) for measure in (Measure.RAW, Measure.VERIFIED)]
    for figure, points, drawn in drawn_figures(table, overall, draws, seed):
        intervals = rank_intervals(drawn)
        for name, point, interval in zip(ranked, points, intervals, strict=True):
            found[name][figure.measure] = None if np.isnan(point) else interval
    return found


def _condition(run: ReportRun) -> str:
    return run.manifest.condition


def _row(
    run: ReportRun,
    found: Mapping[Place, Shown],
    by_group: Mapping[Place, Shown],
    ranks: Mapping[str, Mapping[Measure, Ranks]],
) -> Row:
    scored = run.scored
    failed = sum(scored.failures.values())
    unscored = sum(scored.unscored.values())
    labelled = [item for item in scored.items if item.support and item.logic]
    return Row(
        run=run,
        ok=len(scored.items) - failed - unscored,
        failed=failed,
        unscored=unscored,
        figures=found,
        by_group=by_group,
        ranks=ranks.get(run.name, {}),
        losses=None if scored.unscored else _losses(scored.items, scored.declared),
        support=Counter(str(item.support) for item in labelled),
        logic=Counter(str(item.logic) for item in labelled),
        labelled=len(labelled),
    )


def _losses(items: Sequence[ItemScore], declared: Sequence[Capability]) -> tuple[float, ...] | None:
    def at(stage: int) -> float | None:
        return macro(items, declared, lambda item: (*item.losses, item.v)[stage])

    found = [value for stage in range(len(LOSSES)) if (value := at(stage)) is not None]
    return tuple(found) or None


def _bounds(run: ReportRun) -> dict[Place, Shown]:
    """Return the scores of a run with unscored items: bounds, or points that no gap can change."""
    low, high = run.scored.bounds()
    found: dict[Place, Shown] = {}
    for capability in (None, *run.scored.declared):
        worst = low if capability is None else low.capabilities[capability]
        best = high if capability is None else high.capabilities[capability]
        for measure in Measure:
            ends = getattr(worst, measure, None), getattr(best, measure, None)
            if ends[0] == ends[1]:
                found[measure, capability] = Shown(point=ends[0])
            elif measure is Measure.RETENTION:
                found[measure, capability] = Shown()
            else:
                found[measure, capability] = Shown(low=ends[0], high=ends[1], is_bounds=True)
    return found


def _place(figure: Figure) -> Place:
    return figure.measure, figure.capability


def _shown(estimate: Estimate) -> Shown:
    return Shown(
        point=estimate.point, low=estimate.low, high=estimate.high, excluded=estimate.excluded
    )


def _sizes(items: Sequence[ItemScore], declared: Sequence[Capability]) -> dict[Capability, int]:
    counts = Counter(item.capability for item in items)
    return {capability: counts[capability] for capability in declared}


def _order(row: Row) -> tuple[float, float, str]:
    found = [row.figures[measure, None] for measure in (Measure.VERIFIED, Measure.RAW)]
    best = [next((x for x in (f.point, f.low) if x is not None), -1.0) for f in found]
    return -best[0], -best[1], row.run.name
