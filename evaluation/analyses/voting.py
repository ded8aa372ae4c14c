"""Whether models that vote do better than the best of them (paper, Appendix H).

A vote is the complete set of options. The expected credit of plurality is 1 / |T| where the
reference is among the options T that got the most votes, else 0: uniform tie-breaking without a
toss. A response that failed abstains, and its item stays in the denominator.
Shapes: N choice items, R runs, C declared capabilities, M values, b draws.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import quotient
from evaluation.analyses.grid import Blocks, Cells, Grid, named
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study
from evaluation.baselines import BASELINES
from evaluation.bootstrap import Floats
from evaluation.report.formats import NOTE, Table
from evaluation.report.runs import ReportRun
from evaluation.responses import Response
from evaluation.score import why_unscored
from evaluation.scoring import raw

Places = NDArray[np.int64]

_MACRO, _MICRO = "All (macro)", "All (micro)"
_SAME = 1e-12


def analyse(study: Study) -> Analysis:
    """Return oracle coverage, plurality, the best single run, and wrong options shared.

    Raises NotApplicable unless two runs or more, each of another model, share one condition and
    there is a choice item; ScoringError where their items differ or are unscored.
    """
    voters, notes = _voters(study.runs)
    grid = Grid.of(replace(study, runs=tuple(map(_choices, voters))))
    if not grid.items:
        raise NotApplicable("No item is a choice.", "Vote over a release with choice items.")
    values, strata = _values(grid), grid.by_capability()
    totals = strata.T @ values
    best, names = _best(_rates(totals[None])[0], grid.runs)
    width = values.shape[1]

    def figures(drawn: Floats) -> Blocks:
        apart = np.concatenate([drawn[..., :1], drawn[..., width:]], axis=-1)
        # Each place has the run that is best there without the item's episode.
        chosen = np.diagonal(_rates(apart), axis1=1, axis2=2)
        return {**_figures(drawn[..., :width], best), "apart": chosen}

    found = grid.estimated(
        strata,
        np.hstack([values, _chosen_apart(grid, strata, values)]),
        figures,
        ("difference", "anew"),
    )
    places = [_MACRO, _MICRO, *map(named, study.declared)]
    return Analysis(
        name="voting",
        title="Voting",
        unit="a choice item with the votes of all runs",
        denominator="choice items; where a response failed, its run abstains",
        tables=(
            _accuracy(places, totals, names, found),
            _shared(places[1:], totals, found),
        ),
        drawings=(_drawing(places, found),),
        notes=(
            *notes,
            "The best single run of a row is chosen once, on the whole data, and kept in every "
            "draw; the last column chooses it anew in each draw. Chosen on the very items that it "
            "is measured on, the best single run is flattered; chosen for each episode on all "
            "others it is not.",
            "Only episodes with a choice item are redrawn.",
        ),
        runs=grid.runs,
    )


def _voters(runs: Sequence[ReportRun]) -> tuple[tuple[ReportRun, ...], tuple[str, ...]]:
    voters = tuple(run for run in runs if not _is_apart(run))
    conditions = sorted({run.manifest.condition for run in voters})
    if len(conditions) > 1:
        raise NotApplicable(
            f"The runs are of {len(conditions)} conditions: {', '.join(conditions)}.",
            "Vote over runs of one condition.",
        )
    twice = sorted(m for m, n in Counter(run.manifest.model for run in voters).items() if n > 1)
    if twice:
        raise NotApplicable(
            f"{twice[0]} has several runs of one condition.", "Vote over one run of each model."
        )
    if len(voters) < 2:
        raise NotApplicable("Fewer than two models vote.", "Name runs of two models or more.")
    apart = [run.name for run in runs if _is_apart(run)]
    left = f"Do not vote, for they are no evaluated model: {', '.join(apart)}."
    return voters, (left,) if apart else ()


def _choices(run: ReportRun) -> ReportRun:
    """Return the run of its choice items alone, of which nothing counts but whether it is right."""
    items = [one for one in run.scored.items if one.format.is_choice]
    responses = {one.item_id: run.responses[one.item_id] for one in items}
    unscored = Counter(why_unscored(responses[one.item_id]) for one in items if one.a is None)
    known = tuple(one if one.a is None else one.filled(0) for one in items)
    scored = replace(run.scored, items=known, unscored=dict(sorted(unscored.items())))
    return replace(run, responses=responses, scored=scored)


def _is_apart(run: ReportRun) -> bool:
    manifest = run.manifest
    return manifest.is_self or manifest.is_human or manifest.model in BASELINES


def _values(grid: Grid) -> Floats:
    """Return (N, M) with M = 1 + 3 R.

    They are 1, oracle, plurality, whether each run is right, and for k = 2 to R whether k runs
    share a wrong option, and whether at least one is right then, but fewer than share it.
    """
    right = grid.values(raw) == 1
    rows = []
    for item, is_right in zip(grid.items, right, strict=True):
        said = [_vote(run.responses[item.item_id]) for run in grid.study.runs]
        credit, correct, wrong = _counted(said, is_right.tolist())
        shared = [wrong >= k for k in range(2, len(said) + 1)]
        rows.append([1, correct > 0, credit, *is_right, *shared]
                    + [one and 0 < correct < wrong for one in shared])  # fmt: skip
    return np.array(rows, dtype=np.float64)


def _chosen_apart(grid: Grid, strata: Floats, values: Floats) -> Floats:
    """Return (N, 2 + C): whether the run is right that is best without the item's episode.

    Best among all (macro, micro) and in every capability; NaN where no item is left to choose on.
    """
    names, of = np.unique([one.episode_id for one in grid.items], return_inverse=True)
    own = np.zeros((len(names), strata.shape[1], values.shape[1]))
    np.add.at(own, of, strata[:, :, None] * values[:, None, :])
    runs = slice(2, 2 + len(grid.runs))
    rates = _rates(own.sum(axis=0) - own)[..., runs]
    best = (rates >= rates.max(axis=-1, keepdims=True) - _SAME).argmax(axis=-1)
    found = np.take_along_axis(values[:, 1:][:, runs], best[of], axis=1)
    return np.where(np.isnan(rates[of]).any(axis=-1), np.nan, found)


def _vote(response: Response) -> tuple[str, ...] | None:
    answer = response.answer
    if answer is None:
        return None
    return (answer,) if isinstance(answer, str) else tuple(sorted(set(answer)))


def _counted(
    said: Sequence[tuple[str, ...] | None], is_right: Sequence[bool]
) -> tuple[float, int, int]:
    """Return the expected credit of plurality, the right votes, and the most for a wrong option."""
    counts = Counter(vote for vote in said if vote is not None)
    right = {vote for vote, is_ in zip(said, is_right, strict=True) if is_}
    wrong = max((n for vote, n in counts.items() if vote not in right), default=0)
    top = [vote for vote, n in counts.items() if n == max(counts.values())]
    return len(right & set(top)) / max(1, len(top)), sum(is_right), wrong


def _rates(totals: Floats) -> Floats:
    """Return (b, 2 + C, M - 1) of totals (b, C, M): macro, micro and every capability."""
    rates = quotient(totals[..., 1:], totals[..., :1])
    pooled = totals.sum(axis=1, keepdims=True)
    micro = quotient(pooled[..., 1:], pooled[..., :1])
    return np.concatenate([rates.mean(axis=1, keepdims=True), micro, rates], axis=1)


def _best(rates: Floats, names: Sequence[str]) -> tuple[Places, tuple[str | None, ...]]:
    """Return of each row of rates (2 + C, M - 1) the best run, the first of a tie, and names."""
    each = rates[:, 2 : 2 + len(names)]
    ties = each >= each.max(axis=1, keepdims=True) - _SAME
    held = [[name for name, is_ in zip(names, row, strict=True) if is_] for row in ties]
    said = [f"tie: {', '.join(row)}" if len(row) > 1 else next(iter(row), None) for row in held]
    return ties.argmax(axis=1), tuple(said)


def _figures(totals: Floats, best: Places) -> Blocks:
    rates = _rates(totals)
    count = rates.shape[-1] // 3
    oracle, plurality, each = rates[..., 0], rates[..., 1], rates[..., 2 : 2 + count]
    fixed = each[:, np.arange(len(best)), best]
    return {
        "oracle": oracle,
        "plurality": plurality,
        "best": fixed,
        "difference": plurality - fixed,
        "anew": plurality - each.max(axis=-1),
        "shared": rates[:, 1:, 2 + count : 1 + 2 * count],
    }


def _accuracy(
    places: Sequence[str],
    totals: Floats,
    names: Sequence[str | None],
    found: Mapping[str, Cells],
) -> Table:
    counts = _counts(totals)
    columns = ("oracle", "plurality", "best", "difference", "anew", "apart")
    return Table(
        name="voting-accuracy",
        title="Oracle coverage, plurality and the best single run",
        columns=(
            "Items of",
            "n",
            "Oracle coverage",
            "Plurality",
            "Best single",
            "Best single run",
            "Plurality less best",
            "Less the best of each draw",
            "Best chosen on other episodes",
        ),
        rows=tuple(
            (place, n, *cells[:3], name, *cells[3:])
            for row, (place, n, name) in enumerate(
                zip(places, [counts[0], *counts], names, strict=True)
            )
            for cells in [[found[column][row] for column in columns]]
        ),
    )


def _shared(places: Sequence[str], totals: Floats, found: Mapping[str, Cells]) -> Table:
    count = totals.shape[-1] // 3
    pooled = np.vstack([totals.sum(axis=0), totals])
    return Table(
        name="voting-shared",
        title="Items where at least k runs share one wrong option",
        columns=("Items of", "k", "Items", "Share of items", "With a correct minority"),
        rows=tuple(
            (
                place,
                nth + 2,
                int(pooled[row, 3 + count + nth]),
                found["shared"][row, nth],
                int(pooled[row, 2 + 2 * count + nth]),
            )
            for row, place in enumerate(places)
            for nth in range(count - 1)
        ),
        note=f"A correct minority: a right vote or more, but fewer than that wrong option. {NOTE}",
    )


def _counts(totals: Floats) -> list[int]:
    counts = [int(n) for n in totals[:, 0]]
    return [sum(counts), *counts]


def _drawing(places: Sequence[str], found: Mapping[str, Cells]) -> Drawing:
    series = {"oracle": "Oracle coverage", "plurality": "Plurality", "best": "Best single run"}
    return intervals(
        "voting-accuracy",
        "Oracle coverage, accuracy of plurality and of the best single run, by capability.",
        "Accuracy (%)",
        {
            place: {label: found[key][row] for key, label in series.items()}
            for row, place in enumerate(places)
        },
    )
