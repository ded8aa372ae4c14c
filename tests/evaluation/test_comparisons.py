import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from evaluation.comparisons import Figure, Measure, compare, figures, relative_figures
from evaluation.episode_table import EpisodeTable
from evaluation.scoring import (
    EvidenceSupport,
    ItemScore,
    LogicalIntegrity,
    ScoringError,
    score_run,
)
from evaluation.weightings import STRICT
from psychemme.vocabulary import Capability, Format

G, N, T = Capability.GROUNDING, Capability.NEED, Capability.TIMING
DECLARED = (G, N, T)
DRAWS = 300


def make_runs(names=("x", "y", "z"), items=60, episodes=25, seed=0):
    """Return runs over one set of items; ids are such that text order is not number order."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, episodes, items)
    capability = [DECLARED[k] for k in rng.integers(0, 3, items)]
    support, logic = list(EvidenceSupport), list(LogicalIntegrity)
    return {
        name: [
            ItemScore(
                item_id=f"i{item}",
                episode_id=f"e{place[item]}",
                recording_group=f"g{place[item] // 3}",
                capability=capability[item],
                format=Format.OPEN,
                a=float(rng.choice([0.0, 0.5, 1.0])),
                c=int(rng.random() > 0.1),
                support=support[rng.integers(5)],
                logic=logic[rng.integers(5)],
            )
            for item in range(items)
        ]
        for name in names
    }


def value(scores, figure):
    """Return a figure of one run as the scoring module has it, NaN where undefined."""
    if figure.minus is not None:
        x = figure.model_copy(update={"minus": None})
        y = x.model_copy(update={"capability": figure.minus})
        return value(scores, x) - value(scores, y)
    place = scores if figure.capability is None else scores.capabilities[figure.capability]
    found = getattr(place, figure.measure) if place else None
    return np.nan if found is None else found


def naive(runs, unit, wanted, draws, seed=42):
    """Resample rows draw by draw and score every resample: {(figure, run): values}."""
    units = sorted({getattr(one, unit) for one in next(iter(runs.values()))})
    found = {}
    for indices in np.random.default_rng(seed).integers(0, len(units), (draws, len(units))):
        for run, scores in runs.items():
            of_unit = {name: [s for s in scores if getattr(s, unit) == name] for name in units}
            taken = [one for index in indices for one in of_unit[units[index]]]
            scored = score_run(taken, DECLARED)
            for figure in wanted:
                found.setdefault((figure, run), []).append(value(scored, figure))
    return {key: np.array(values) for key, values in found.items()}


def assert_interval(found, drawn):
    known = drawn[~np.isnan(drawn)]
    assert found.excluded == np.count_nonzero(np.isnan(drawn)) / len(drawn)
    low, high = np.percentile(known, [2.5, 97.5])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("unit", ["episode_id", "recording_group"])
def test_every_figure_equals_a_naive_loop(unit):
    runs = make_runs()
    table = EpisodeTable.of(runs, DECLARED)
    table = table if unit == "episode_id" else table.by_recording_group()
    wanted = (*figures(DECLARED), *relative_figures(DECLARED, tuple(Measure)))
    found = compare(table, wanted, DRAWS)
    drawn = naive(runs, unit, wanted, DRAWS)
    assert (found.unit, found.draws) == (unit.replace("_id", "").replace("_", " "), DRAWS)
    assert len(found.runs) == len(wanted) * 3
    assert len(found.pairs) == len(wanted) * 3
    for one in found.runs:
        point = value(score_run(runs[one.run], DECLARED), one.figure)
        assert one.estimate.point == pytest.approx(point, abs=1e-12)
        assert_interval(one.estimate, drawn[one.figure, one.run])
    for pair in found.pairs:
        difference = drawn[pair.figure, pair.run] - drawn[pair.figure, pair.other]
        assert_interval(pair.difference, difference)


def test_a_relative_difference_is_the_difference_of_paired_differences():
    runs = make_runs()
    figure = Figure(measure="verified", capability=N, minus=T)
    found = compare(EpisodeTable.of(runs, DECLARED), [figure], DRAWS)
    scored = {name: score_run(scores, DECLARED).capabilities for name, scores in runs.items()}
    for pair in found.pairs:
        a, b = scored[pair.run], scored[pair.other]
        by_hand = (a[N].verified - b[N].verified) - (a[T].verified - b[T].verified)
        assert pair.difference.point == pytest.approx(by_hand, abs=1e-12)


def test_more_figures_than_are_held_at_once_change_nothing(monkeypatch):
    table = EpisodeTable.of(make_runs(), DECLARED)
    wanted = figures(DECLARED)
    at_once = compare(table, wanted, 100)
    monkeypatch.setattr("evaluation.comparisons._HELD_VALUES", 700)
    monkeypatch.setattr("evaluation.comparisons._HELD_PAIR_VALUES", 150)
    assert compare(table, wanted, 100) == at_once


def test_neither_order_of_items_nor_of_runs_changes_a_bit():
    runs = make_runs()
    wanted = figures(DECLARED)
    shuffled = {name: scores[::-1] for name, scores in reversed(runs.items())}
    key = repr
    one = compare(EpisodeTable.of(runs, DECLARED), wanted, 50).runs
    other = compare(EpisodeTable.of(shuffled, DECLARED), wanted, 50).runs
    assert sorted(one, key=key) == sorted(other, key=key)


def test_episodes_are_in_code_point_order():
    table = EpisodeTable.of(make_runs(), DECLARED)
    assert list(table.units) == sorted(table.units)
    assert table.units.index("e10") < table.units.index("e2")


def two_episode_runs():
    """Timing lives in two of 40 episodes: undefined in (38/40)^40 of the draws, 13%."""
    runs = make_runs(items=80, episodes=40)
    for scores in runs.values():
        kept = [one for one in scores if one.capability is not T]
        first = kept[0].model_copy
        kept += [
            first(
                update={
                    "item_id": f"t{i}",
                    "capability": T,
                    "episode_id": e.episode_id,
                    "recording_group": e.recording_group,
                }
            )
            for i, e in enumerate((kept[0], kept[1]))
        ]
        scores[:] = kept
    return runs


def test_a_capability_in_two_episodes_is_excluded_and_flagged():
    found = compare(EpisodeTable.of(two_episode_runs(), DECLARED), figures(DECLARED), 2000)
    for one in found.runs:
        touches_timing = one.figure.capability in (None, T)
        if one.figure.measure is not Measure.RETENTION:
            assert (one.estimate.excluded > 0.1) is touches_timing
        assert one.estimate.is_flagged or not touches_timing


def test_a_subset_without_a_declared_capability_has_no_macro():
    runs = {
        name: [s for s in scores if s.capability is not T] for name, scores in make_runs().items()
    }
    found = compare(EpisodeTable.of(runs, DECLARED), figures(DECLARED, [Measure.RAW]), 50)
    macro = [one for one in found.runs if one.figure.capability is None]
    assert all(one.estimate.point is None and one.estimate.excluded == 1 for one in macro)
    assert all(one.ranks is None for one in macro)
    grounding = next(one for one in found.runs if one.figure.capability is G)
    assert grounding.estimate.low is not None


def test_a_run_against_itself_differs_by_nothing():
    scores = make_runs(["x"])["x"]
    found = compare(
        EpisodeTable.of({"x": scores, "copy": scores}, DECLARED), figures(DECLARED), 100
    )
    for pair in found.pairs:
        assert (pair.difference.low, pair.difference.high) == (0, 0)
        assert pair.p == pair.p_holm == 1
    assert all(one.ranks == (1, 1) for one in found.runs)


def test_holm_is_taken_over_the_pairs_of_one_figure():
    found = compare(EpisodeTable.of(make_runs(), DECLARED), figures(DECLARED), DRAWS)
    for figure in figures(DECLARED):
        family = [pair for pair in found.pairs if pair.figure == figure]
        least = min(family, key=lambda pair: pair.p)
        assert least.p_holm == pytest.approx(min(1, 3 * least.p))


def test_seeds_are_averaged_per_item_before_drawing():
    runs = make_runs(("matched", "s42", "s2026", "s3407"))
    table = EpisodeTable.of(runs, DECLARED).averaged(("s42", "s2026", "s3407"), "mismatched")
    assert table.runs == ("matched", "mismatched")
    found = compare(table, [Figure(measure="raw", capability=G)], 50)
    raws = [score_run(runs[s], DECLARED).capabilities[G].raw for s in ("s42", "s2026", "s3407")]
    assert found.runs[1].estimate.point == pytest.approx(np.mean(raws))
    with pytest.raises(ScoringError, match="s1"):
        table.averaged(["s1"], "mean")


def test_other_weights_replace_v():
    runs = make_runs()
    found = compare(EpisodeTable.of(runs, DECLARED, STRICT.credit), figures(DECLARED), 20)
    for one in found.runs:
        expected = value(score_run(runs[one.run], DECLARED, STRICT.credit), one.figure)
        assert one.estimate.point == pytest.approx(expected, abs=1e-12)


def broken(change):
    runs = make_runs()
    runs["y"] = change(runs["y"])
    return runs


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "no run"),
        ({"x": []}, "no item"),
        (broken(lambda s: s[1:]), "differ in 1 items, such as i0"),
        (broken(lambda s: [*s, s[0]]), "twice"),
        (broken(lambda s: [s[0].model_copy(update={"episode_id": "e99"}), *s[1:]]), "such as i0"),
        (broken(lambda s: [s[0].model_copy(update={"a": None}), *s[1:]]), "unscored"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(runs, message):
    with pytest.raises(ScoringError, match=message):
        EpisodeTable.of(runs, DECLARED)


def test_an_episode_of_two_recording_groups_is_refused():
    scores = make_runs(["x"])["x"]
    apart = [s.model_copy(update={"episode_id": "e", "recording_group": s.item_id}) for s in scores]
    with pytest.raises(ScoringError, match="more than one recording group"):
        EpisodeTable.of({"x": apart}, DECLARED)


def test_pairs_are_all_pairs():
    names = ("a", "b", "c", "d")
    found = compare(EpisodeTable.of(make_runs(names), DECLARED), [Figure(measure="raw")], 10)
    assert [(pair.run, pair.other) for pair in found.pairs] == list(combinations(names, 2))


@pytest.mark.slow
def test_a_million_draws_stay_below_500_megabytes():
    script = """
import sys
from pathlib import Path
sys.path.insert(0, "benchmarks")
from bootstrap import make_runs
from evaluation.comparisons import Figure, compare
from evaluation.episode_table import EpisodeTable
from psychemme.vocabulary import Capability
table = EpisodeTable.of(make_runs(), tuple(Capability))
compare(table, [Figure(measure="verified")], 1_000_000)
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""
    # Not getrusage: what it tells begins with the peak of the process that started this one.
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 500 * 1024
