import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bootstrap import (
    draw_counts,
    draw_totals,
    estimates,
    holm,
    p_values,
    rank_intervals,
)


@pytest.mark.parametrize(("units", "draws"), [(1, 3), (7, 1001), (630, 2000), (30_000, 40)])
def test_counts_are_the_published_stream_whatever_the_blocks(units, draws):
    indices = np.random.default_rng(42).integers(0, units, (draws, units))
    expected = np.stack([np.bincount(row, minlength=units) for row in indices])
    blocks = list(draw_counts(units, draws))
    assert np.array_equal(np.concatenate(blocks), expected)
    assert units * draws < 1_000_000 or len(blocks) > 1


def test_totals_are_sums_over_the_drawn_units():
    sums = np.random.default_rng(1).random((50, 3))
    indices = np.random.default_rng(5).integers(0, 50, (200, 50))
    found = np.concatenate(list(draw_totals(sums, 200, seed=5)))
    assert found == pytest.approx(sums[indices].sum(axis=1), abs=1e-12)


@pytest.mark.parametrize(("units", "draws"), [(0, 5), (5, 0)])
def test_nothing_to_draw_raises(units, draws):
    with pytest.raises(ValueError, match="positive"):
        next(draw_counts(units, draws))


def test_a_mean_agrees_with_scipy_on_the_same_stream():
    stats = pytest.importorskip("scipy.stats")
    data = np.random.default_rng(3).normal(size=60)
    expected = stats.bootstrap(
        (data,), np.mean, n_resamples=3000, method="percentile", rng=np.random.default_rng(42)
    )
    drawn = np.concatenate(list(draw_totals(data[:, None], 3000)))[:, 0] / 60
    assert drawn == pytest.approx(expected.bootstrap_distribution, abs=1e-12)
    (found,) = estimates(np.array([data.mean()]), drawn[None])
    interval = expected.confidence_interval
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_undefined_draws_are_left_out_counted_flagged_and_withheld():
    drawn = np.tile(np.arange(1000.0), (4, 1))
    for row, undefined in enumerate((0, 50, 51, 501)):
        drawn[row, :undefined] = np.nan
    kept = drawn.copy()
    found = estimates(np.full(4, 600.0), drawn)
    assert np.array_equal(drawn, kept, equal_nan=True)
    assert [one.excluded for one in found] == [0, 0.05, 0.051, 0.501]
    assert [one.is_flagged for one in found] == [False, False, True, True]
    assert [one.is_withheld for one in found] == [False, False, False, True]
    assert (found[3].point, found[3].low, found[3].high) == (600, None, None)
    for one, row in zip(found[:3], drawn, strict=False):
        low, high = np.percentile(row[~np.isnan(row)], [2.5, 97.5], method="linear")
        assert (one.low, one.high) == (low, high)


def test_an_undefined_figure_has_no_interval():
    (found,) = estimates(np.array([np.nan]), np.array([[1.0, 2.0, np.nan]]))
    assert (found.point, found.low, found.high) == (None, None, None)


def test_p_values_by_hand():
    """Nine draws: all above 0; four below; all equal to 0; mostly undefined."""
    nan = np.nan
    drawn = np.array(
        [
            [1, 2, 3, 4, 5, 6, 7, 8, 9],
            [-1, -1, -1, -1, 1, 1, 1, 1, 1],
            [0] * 9,
            [1, 1, 1, 1, nan, nan, nan, nan, nan],
            [1, 1, 1, 1, -1, nan, nan, nan, nan],
        ]
    )
    assert p_values(drawn) == pytest.approx([2 / 10, 1.0, 1.0, None, 4 / 6])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, None, 0.005]) == pytest.approx([0.03, 0.06, 0.06, None, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_never_lowers_a_p_value_nor_swaps_two(found):
    adjusted = holm(found)
    assert all(p <= q <= 1 for p, q in zip(found, adjusted, strict=True))
    order = sorted(range(len(found)), key=found.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_ranks_by_hand():
    """The first two tie in every draw; the third is best in half of them."""
    drawn = np.array([[5.0, 5, 5, 5], [5, 5, 5, 5], [9, 9, 1, 1]])
    assert rank_intervals(drawn) == [(1, 2), (1, 2), (1, 3)]
    drawn[0, :3] = np.nan
    assert rank_intervals(drawn) == [None] * 3


@given(st.integers(1, 6), st.integers(1, 200), st.integers(0, 1000))
def test_rank_intervals_are_percentiles_of_the_ranks(runs, draws, seed):
    drawn = np.random.default_rng(seed).integers(0, 4, (runs, draws)).astype(float)
    for one, found in zip(drawn, rank_intervals(drawn), strict=True):
        ranks = 1 + (drawn > one).sum(axis=0)
        low = np.percentile(ranks, 2.5, method="lower")
        assert found == (low, np.percentile(ranks, 97.5, method="higher"))
