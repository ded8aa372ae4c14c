from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from construction.review.coefficients import (
    Undefined,
    alpha,
    alpha_interval,
    gwet_ac1,
    masi_distances,
    mean_distance,
    nominal_alpha,
    nominal_distances,
    raw_agreement,
    unanimous_share,
)


def counted(table, values):
    """Return counts (N, V) of rows of ratings, one row a reviewer, None where there is none."""
    items = zip(*table, strict=True)
    return np.array([[item.count(value) for value in values] for item in items])


_ = None
FOUR_OBSERVERS = counted(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ],
    [1, 2, 3, 4, 5],
)
TWO_OBSERVERS = counted(
    [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]],
    [0, 1],
)
SIX_RATERS = np.array(
    [
        [0, 0, 0, 6, 0],
        [0, 3, 0, 0, 3],
        [0, 1, 4, 0, 1],
        [0, 0, 0, 0, 6],
        [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0],
        [0, 0, 4, 0, 2],
        [2, 0, 3, 1, 0],
        [2, 0, 0, 4, 0],
        [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0],
        [1, 1, 0, 4, 0],
        [0, 3, 3, 0, 0],
        [1, 0, 0, 5, 0],
        [0, 2, 0, 3, 1],
    ]
)


def contingency(table):
    """Return counts of the items of two reviewers from how often each pair of values occurred."""
    rows = []
    for first, row in enumerate(table):
        for second, times in enumerate(row):
            item = np.bincount([first, second], minlength=len(table))
            rows += [item] * times
    return np.array(rows)


ABSTRACTORS = contingency([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def test_alpha_of_krippendorffs_four_observers():
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C.

    Nominal to five decimals in Gwet's irrCAC (2019, overview vignette, `cac.raw4raters`).
    """
    assert nominal_alpha(FOUR_OBSERVERS) == pytest.approx(0.74342, abs=5e-6)
    assert alpha(FOUR_OBSERVERS, nominal_distances(5)) == pytest.approx(0.74342, abs=5e-6)


def test_alpha_of_krippendorffs_four_observers_under_other_distances():
    """Krippendorff (2011), example C: ordinal 0.815, interval 0.849; d as he defines each."""
    values = np.arange(5)
    interval = (values[:, None] - values) ** 2 / 16
    margins = [9, 13, 10, 5, 3]
    ordinal = np.zeros((5, 5))
    for low, high in permutations(range(5), 2):
        low, high = sorted((low, high))
        between = sum(margins[low : high + 1]) - (margins[low] + margins[high]) / 2
        ordinal[low, high] = ordinal[high, low] = between**2
    for distances, level, published in (
        (interval, "interval", 0.849),
        (ordinal / ordinal.max(), "ordinal", 0.815),
    ):
        found = alpha(FOUR_OBSERVERS, distances)
        library = krippendorff.alpha(value_counts=FOUR_OBSERVERS, level_of_measurement=level)
        assert round(found, 3) == published
        assert found == pytest.approx(library, abs=1e-12)


def test_alpha_of_krippendorffs_two_observers():
    """Krippendorff (2011), example A: 0.095; 1 - 19 * 8 / (2 * 14 * 6) = 2 / 21 by hand."""
    assert nominal_alpha(TWO_OBSERVERS) == pytest.approx(2 / 21, abs=1e-12)


def test_gwets_examples():
    """Gwet, irrCAC (2019), overview vignette, after his Handbook of Inter-Rater Reliability (2014).

    `cac.raw4raters` (four raters, missing ratings), `distrib.6raters` (six raters, fifteen
    patients) and `cont3x3abstractors` (two raters, a hundred records).
    """
    assert raw_agreement(FOUR_OBSERVERS) == pytest.approx(0.8181818, abs=5e-8)
    assert gwet_ac1(FOUR_OBSERVERS, 5) == pytest.approx(0.77544, abs=5e-6)
    assert raw_agreement(SIX_RATERS) == pytest.approx(0.5511111, abs=5e-8)
    assert gwet_ac1(SIX_RATERS, 5) == pytest.approx(0.4448007, abs=5e-8)
    assert nominal_alpha(SIX_RATERS) == pytest.approx(0.4204384, abs=5e-8)
    assert raw_agreement(ABSTRACTORS) == pytest.approx(0.89, abs=1e-12)
    assert gwet_ac1(ABSTRACTORS, 3) == pytest.approx(0.8493305, abs=5e-8)
    assert nominal_alpha(ABSTRACTORS) == pytest.approx(0.7972585, abs=5e-8)


def test_ac1_of_two_raters_who_almost_always_agree():
    """By hand, for two raters and two categories: p_e = 2 q (1 - q), q the share of the first."""
    table = contingency([[118, 5], [2, 0]])
    q = (118 + 118 + 5 + 2) / 250
    chance = 2 * q * (1 - q)
    assert gwet_ac1(table, 2) == pytest.approx((118 / 125 - chance) / (1 - chance), abs=1e-12)
    assert gwet_ac1(table, 2) == pytest.approx(0.9408, abs=5e-5)
    assert nominal_alpha(table) < 0


def test_masi_as_defined():
    """Passonneau, Measuring Agreement on Set-valued Items (2006): 1 - J M."""
    sets = [frozenset(one) for one in ("AB", "ABCD", "BC", "CD", "A")]
    found = masi_distances(sets)
    assert np.array_equal(found, found.T)
    assert found[0] == pytest.approx(
        [0, 1 - 1 / 2 * 2 / 3, 1 - 1 / 3 * 1 / 3, 1, 1 - 1 / 2 * 2 / 3], abs=1e-12
    )
    assert np.array_equal(np.diag(found), np.zeros(5))


def test_masi_of_single_options_is_nominal():
    assert np.array_equal(masi_distances([frozenset(one) for one in "ABC"]), nominal_distances(3))


@st.composite
def counts(draw, max_items=12, min_values=2, max_values=5):
    width = draw(st.integers(min_values, max_values))
    row = st.lists(st.integers(0, 3), min_size=width, max_size=width)
    return np.array(draw(st.lists(row, min_size=1, max_size=max_items)))


def by_hand(table, distances):
    """Alpha from its definition: mean distance within items over mean distance of any two."""
    items = [np.repeat(np.arange(table.shape[1]), row) for row in table]
    items = [item for item in items if len(item) >= 2]
    everything = np.concatenate(items)
    within = sum(
        sum(distances[a, b] for a, b in permutations(item, 2)) / (len(item) - 1) for item in items
    ) / len(everything)
    across = sum(distances[a, b] for a, b in permutations(everything, 2))
    return 1 - within / (across / (len(everything) * (len(everything) - 1)))


@given(counts())
def test_alpha_follows_its_definition_and_the_library(table):
    found = nominal_alpha(table)
    assume(not isinstance(found, Undefined))
    distances = nominal_distances(table.shape[1])
    assert found == pytest.approx(alpha(table, distances), abs=1e-12)
    assert found == pytest.approx(by_hand(table, distances), abs=1e-12)
    assert -1 <= found <= 1


LETTERS = st.frozensets(st.sampled_from("ABCDE"), min_size=1)


@given(counts(max_values=5), st.lists(LETTERS, min_size=5, max_size=5, unique=True))
def test_alpha_of_sets_is_the_librarys_with_masi_as_its_distance(table, sets):
    distances = masi_distances(sets[: table.shape[1]])
    found = alpha(table, distances)
    assume(not isinstance(found, Undefined))

    def masi(v1, v2, i1, i2, n_v, dtype):
        return distances[i1, i2]

    library = krippendorff.alpha(value_counts=table, level_of_measurement=masi)
    assert found == pytest.approx(library, abs=1e-12)


@given(counts(), st.randoms(use_true_random=False))
def test_labels_and_the_order_of_items_do_not_matter(table, random):
    rows, columns = list(range(len(table))), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    other = table[rows][:, columns]
    for figure in (
        raw_agreement,
        unanimous_share,
        nominal_alpha,
        lambda one: gwet_ac1(one, one.shape[1]),
    ):
        expected = figure(table)
        if isinstance(expected, Undefined):
            assert figure(other) is expected
        else:
            assert figure(other) == pytest.approx(expected, abs=1e-12)


@given(counts())
def test_ac1_follows_its_definition(table):
    found = gwet_ac1(table, table.shape[1])
    assume(not isinstance(found, Undefined))
    shares = [row / row.sum() for row in table if row.sum()]
    pi = np.mean(shares, axis=0)
    chance = sum(one * (1 - one) for one in pi) / (table.shape[1] - 1)
    pairs = [
        sum(n * (n - 1) for n in row) / (row.sum() * (row.sum() - 1))
        for row in table
        if row.sum() > 1
    ]
    assert found == pytest.approx((np.mean(pairs) - chance) / (1 - chance), abs=1e-12)
    assert -1 <= found <= 1


def test_what_is_undefined_says_why():
    nothing = np.zeros((3, 2), dtype=int)
    alone = np.array([[1, 0], [0, 1]])
    unanimous = np.array([[5, 0], [4, 0], [0, 1]])
    for figure in (raw_agreement, unanimous_share, nominal_alpha, lambda one: gwet_ac1(one, 2)):
        assert figure(nothing) is Undefined.NO_ITEMS
        assert figure(alone) is Undefined.FEWER_THAN_TWO_RATERS
    assert nominal_alpha(unanimous) is Undefined.NO_VARIATION
    assert alpha(unanimous, nominal_distances(2)) is Undefined.NO_VARIATION
    assert alpha_interval(unanimous, nominal_distances(2)) is None
    assert mean_distance(alone, nominal_distances(2)) is Undefined.FEWER_THAN_TWO_RATERS
    assert (raw_agreement(unanimous), unanimous_share(unanimous)) == (1, 1)


def test_ac1_without_variation_needs_a_second_category_to_exist():
    unanimous = np.array([[5], [4]])
    assert gwet_ac1(unanimous, 1) is Undefined.NO_VARIATION
    assert gwet_ac1(np.array([[5, 0], [4, 0]]), 2) == 1


def test_unanimous_items_that_differ_from_each_other_agree_completely():
    assert nominal_alpha(np.array([[5, 0], [0, 5]])) == 1


def test_every_draw_is_the_librarys_alpha_of_the_redrawn_items():
    generator = np.random.default_rng(7)
    table = generator.multinomial(4, [0.5, 0.3, 0.2], size=25)
    table[3] = [1, 0, 0]
    pairable = table[table.sum(axis=1) >= 2]
    draws = np.random.default_rng(42).integers(0, len(pairable), (300, len(pairable)))
    drawn = [
        krippendorff.alpha(value_counts=pairable[rows], level_of_measurement="nominal")
        for rows in draws
    ]
    found = alpha_interval(table, nominal_distances(3), draws=300)
    assert (found.low, found.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=1e-12)
    assert found.low < nominal_alpha(table) < found.high
    assert found.excluded == 0


def test_draws_do_not_depend_on_how_they_are_blocked(monkeypatch):
    expected = alpha_interval(SIX_RATERS, nominal_distances(5))
    monkeypatch.setattr("construction.review.coefficients._BLOCK_VALUES", 100)
    assert alpha_interval(SIX_RATERS, nominal_distances(5)) == expected
    assert alpha_interval(SIX_RATERS, nominal_distances(5), seed=43) != expected


def test_draws_without_variation_are_left_out_and_counted():
    """One of four items differs: (3/4)^4 of all draws miss it and have no variation."""
    table = np.array([[5, 0], [5, 0], [5, 0], [4, 1]])
    found = alpha_interval(table, nominal_distances(2), draws=4000)
    assert found.excluded == pytest.approx(0.75**4, abs=0.03)
    assert found.low < found.high == 0


def test_an_interval_is_withheld_where_more_than_half_of_the_draws_are_undefined():
    """Of two items that differ, every other draw takes one of them twice."""
    table = np.array([[2, 0], [0, 2]])
    found = [alpha_interval(table, nominal_distances(2), draws=99, seed=seed) for seed in range(20)]
    withheld = [one.low is None and one.high is None for one in found]
    assert withheld == [one.excluded > 0.5 for one in found]
    assert 0 < sum(withheld) < 20


def test_one_item_has_no_interval():
    found = alpha_interval(np.array([[4, 1]]), nominal_distances(2))
    assert (found.low, found.high, found.excluded) == (None, None, 0)
