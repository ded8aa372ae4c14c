"""Scores and comparisons as JSON in percent: what `score --json` and `compare --json` print."""

from collections.abc import Mapping
from typing import Any

from evaluation.bootstrap import Estimate
from evaluation.comparisons import Measure, compare, figures
from evaluation.episode_table import EpisodeTable
from evaluation.score import ScoredRun
from evaluation.scoring import Pool, Scores, ScoringError
from psychemme.vocabulary import Capability

Json = dict[str, Any]
_MEASURES = (Measure.RAW, Measure.VERIFIED)


def as_json(run: ScoredRun, *, intervals: bool = False) -> Json:
    """Return a run's scores in percent.

    With unscored items a figure that they could change is null, and its bounds stand beside it.
    Beside an interval stands the share (0 to 1) of draws `excluded`: its figure is undefined there.
    """
    low, high = run.bounds()
    found = _estimates(run) if intervals else None
    shown = {"model": run.model, "condition": run.condition, "n": len(run.items)}
    shown |= _figures(run, low, high, found, None)
    shown["capabilities"] = {
        str(capability): _capability(run, capability, low, high, found)
        for capability in run.declared
    }
    shown["failures"] = dict(run.failures)
    if run.unscored:
        shown["unscored"] = dict(run.unscored)
    if run.flagged:
        shown["flagged_judgements"] = dict(run.flagged)
    return shown


Found = Mapping[tuple[Measure, Capability | None], Estimate]


def _estimates(run: ScoredRun) -> Found:
    if run.unscored:
        return {}
    table = EpisodeTable.of({run.name: run.items}, run.declared)
    estimated = compare(table, figures(run.declared, _MEASURES)).runs
    return {(e.figure.measure, e.figure.capability): e.estimate for e in estimated}


def _capability(
    run: ScoredRun, capability: Capability, low: Scores, high: Scores, found: Found | None
) -> Json:
    worst, best = low.capabilities[capability], high.capabilities[capability]
    shown: Json = {"n": worst.n if worst else 0}
    shown |= _figures(run, worst, best, found, capability)
    retention = worst.retention if worst and worst == best else None
    return shown | {"retention": _percent(retention)}


def _figures(
    run: ScoredRun,
    low: Pool | Scores | None,
    high: Pool | Scores | None,
    found: Found | None,
    capability: Capability | None,
) -> Json:
    shown: Json = {}
    for measure in _MEASURES:
        worst, best = getattr(low, measure, None), getattr(high, measure, None)
        shown[measure] = _percent(worst) if worst == best else None
        if run.unscored:
            shown[f"{measure}_bounds"] = [_percent(worst), _percent(best)]
        if found is not None:
            estimate = found.get((measure, capability))
            ends = None if estimate is None else (estimate.low, estimate.high)
            known = ends is not None and None not in ends
            shown[f"{measure}_ci"] = [_percent(end) for end in ends or ()] if known else None
            shown[f"{measure}_excluded"] = None if estimate is None else estimate.excluded
    return shown


def compare_runs(one: ScoredRun, other: ScoredRun) -> Json:
    """Return the paired differences `one` less `other`, in percentage points, with intervals.

    They are taken over the items of both. Raises ScoringError where the runs are about different
    releases or share no item.
    """
    if one.checksum != other.checksum:
        raise ScoringError(
            f"{one.name} and {other.name} are about different releases.",
            "Compare runs on one release.",
        )
    shared = {item.item_id for item in one.items} & {item.item_id for item in other.items}
    names = _distinct(one.name, other.name)
    subsets = {
        name: [item for item in run.items if item.item_id in shared]
        for name, run in zip(names, (one, other), strict=True)
    }
    wanted = figures(one.declared, _MEASURES)
    compared = compare(EpisodeTable.of(subsets, one.declared), wanted)
    differences: Json = {"overall": {}} | {str(capability): {} for capability in one.declared}
    for pair in compared.pairs:
        place = differences[str(pair.figure.capability or "overall")]
        place[str(pair.figure.measure)] = {
            "difference": _percent(pair.difference.point),
            "ci": [_percent(pair.difference.low), _percent(pair.difference.high)],
            "p": pair.p,
            "excluded": pair.difference.excluded,
        }
    return {"runs": list(names), "n": len(shared), "differences": differences}


def _distinct(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one != other else (f"{one} A", f"{other} B")


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100
