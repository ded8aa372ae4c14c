"""Planning of comparisons: by hand, by simulation, and from two runs."""

import numpy as np
import pytest

from evaluation.power import (
    assumed_spread,
    design_effect,
    detectable,
    items_needed,
    plan,
    sd_of_discordance,
    spread_of,
    spreads_of,
)
from evaluation.scoring import ScoringError, raw
from psychemme.errors import ConfigError
from psychemme.vocabulary import Capability
from tests.support.studies import FAILED, Item, Said, study_of

Z = 1.959963985 + 0.841621234
"""Of alpha 0.05 and power 0.8."""


def test_items_by_hand() -> None:
    # (2.8016 * 0.5 / 0.1)^2 = 196.2; with three items an episode that correlate by 0.2, x 1.4.
    assert items_needed(0.1, 0.5, 1.0) == 197
    assert design_effect(3, 0.2) == pytest.approx(1.4)
    assert items_needed(0.1, 0.5, 1.4) == 275
    # (1.95996 + 1.28155)^2 * 0.25 / 0.01 = 262.7
    assert items_needed(0.1, 0.5, 1.0, power=0.9) == 263
    assert detectable(275, 0.5, 1.4) == pytest.approx(Z * 0.5 * (1.4 / 275) ** 0.5)


def test_what_is_detectable_is_what_needs_as_many_items() -> None:
    for items in (50, 320, 1000):
        assert items_needed(detectable(items, 0.43, 1.7), 0.43, 1.7) == items


def test_discordance_by_hand() -> None:
    # d is 1 on 20%, -1 on 15% and 0 elsewhere: mean 0.05, variance 0.35 - 0.0025.
    assert sd_of_discordance(0.35, 0.05) ** 2 == pytest.approx(0.3475)
    with pytest.raises(ConfigError, match=r"differ on 4\.0% of the items cannot be 5\.0% apart"):
        sd_of_discordance(0.04, 0.05)


@pytest.mark.parametrize(("difference", "power", "alpha"), [(0, 0.8, 0.05), (0.1, 0.04, 0.05)])
def test_impossible_plans_are_refused(difference: float, power: float, alpha: float) -> None:
    with pytest.raises(ConfigError):
        items_needed(difference, 0.5, 1.0, power, alpha)


def test_impossible_episodes_are_refused() -> None:
    for per_episode, icc in ((0.5, 0.1), (2, 1.5), (2, -0.1), (float("nan"), 0.1)):
        with pytest.raises(ConfigError):
            design_effect(per_episode, icc)


def test_the_spread_by_hand() -> None:
    # d = (1, 1), (0, 0): mean 1/2, variance 4 * 1/4 / 3 = 1/3. Sums of episodes are +1 and -1:
    # their variance of the mean is (1 + 1) * 2/1 / 16 = 1/4, thrice that of items, (1/3) / 4.
    found = spread_of([[1, 1], [0, 0]])
    assert found.sd == pytest.approx((1 / 3) ** 0.5)
    assert found.icc == 1.0
    # Opposite within each episode: sums are 0, so that rho is negative and counts as 0.
    assert spread_of([[1, -1], [-1, 1]]).icc == 0.0
    # Sizes 1 and 3: an item's own episode holds (1 + 9) / 4 items.
    assert spread_of([[1], [0, 1, 0]]).per_episode == 2.5


def test_episodes_of_unequal_sizes() -> None:
    # 100 episodes of 1 item and 10 of 10: an item's own episode holds (100 + 1000) / 200 = 5.5,
    # an episode 200 / 110 items. 7.849 * (0.4 - 0.01) / 0.01 * (1 + 4.5 * 0.3) = 719.4.
    spread = assumed_spread([1] * 100 + [10] * 10, sd_of_discordance(0.4, 0.1), 0.3)
    need = plan(spread, 0.1)
    assert (spread.per_episode, need.items, need.episodes) == (5.5, 720, 396)
    assert plan(spread, 0.1, per_episode=5.5).episodes == 131


def test_what_cannot_be_known_is_none() -> None:
    nothing = spread_of([])
    assert (nothing.items, nothing.sd, plan(nothing, 0.05).items) == (0, None, None)
    one_episode = spread_of([[1, 0, 0]])
    assert one_episode.icc is None
    assert plan(one_episode, 0.05).items is None
    assert plan(one_episode, 0.05, icc=0.1).detectable is not None
    assert plan(spread_of([[0.5], [0.5]]), 0.05).items is None
    apart = plan(spread_of([[1], [0], [0]]), 0.05)
    assert apart.design_effect == 1
    assert apart.items == apart.episodes


def clustered(rng: np.random.Generator, trials: int, k: int, m: int, rho: float) -> np.ndarray:
    """Return standard normal values (trials, k, m) that correlate by rho within their episode."""
    own = rng.standard_normal((trials, k, 1)) * rho**0.5
    return own + rng.standard_normal((trials, k, m)) * (1 - rho) ** 0.5


def found_share(d: np.ndarray) -> float:
    """Return how often the mean differs from 0 by an episode-robust z test at 0.05."""
    _, k, m = d.shape
    mean = d.mean(axis=(1, 2))
    sums = (d - mean[:, None, None]).sum(axis=2)
    error = np.sqrt((sums**2).sum(axis=1) * k / (k - 1)) / (k * m)
    return float((np.abs(mean / error) > 1.959964).mean())


@pytest.mark.parametrize(("m", "rho", "sd"), [(1, 0.0, 0.5), (3, 0.3, 0.6), (5, 0.1, 0.4)])
def test_planned_items_have_the_wanted_power(m: int, rho: float, sd: float) -> None:
    rng, difference = np.random.default_rng(5), 0.1
    need = plan(assumed_spread([], sd), difference, m, rho)
    d = difference + sd * clustered(rng, 3000, need.episodes, m, rho)
    assert found_share(d) == pytest.approx(0.8, abs=0.03)


def test_planned_items_have_power_where_credits_are_0_or_1() -> None:
    rng, difference, discordance = np.random.default_rng(6), 0.08, 0.3
    need = plan(assumed_spread([], sd_of_discordance(discordance, difference)), difference)
    chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    d = rng.choice([1.0, -1.0, 0.0], p=chances, size=(3000, need.items, 1))
    assert found_share(d) == pytest.approx(0.8, abs=0.03)


def test_the_correlation_is_recovered() -> None:
    d = clustered(np.random.default_rng(7), 1, 4000, 3, 0.25)[0]
    found = spread_of([list(each) for each in d])
    assert found.icc == pytest.approx(0.25, abs=0.03)
    assert found.sd == pytest.approx(1, abs=0.03)


def test_two_runs_give_the_spread_of_each_capability() -> None:
    right, wrong = Said("A"), Said("B")
    items = [
        Item("q1", "e1", "G", "single", "A", {"m": right, "n": wrong}),
        Item("q2", "e1", "G", "single", "A", {"m": right, "n": wrong}),
        Item("q3", "e2", "G", "single", "A", {"m": right, "n": right}),
        Item("q4", "e2", "G", "single", "A", {"m": wrong, "n": FAILED}),
        Item("q5", "e2", "T", "single", "A", {"m": wrong, "n": right}),
    ]
    study = study_of(items, declared=("G", "T", "M"))
    found = spreads_of(*study.runs, raw)
    assert found[Capability.GROUNDING] == spread_of([[1, 1], [0, 0]])
    assert found[Capability.TIMING].items == 1
    assert found[Capability.MEMORY].items == 0


def test_runs_over_other_items_are_refused() -> None:
    items = [
        Item("q1", "e1", "G", "single", "A", {"m": Said("A"), "n": Said("A")}),
        Item("q2", "e1", "G", "single", "A", {"m": Said("A")}),
    ]
    with pytest.raises(ScoringError, match="differ in 1 items"):
        spreads_of(*study_of(items).runs, raw)
