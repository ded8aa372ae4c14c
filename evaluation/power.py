"""How many items a paired comparison of two runs needs, where items come in episodes.

Each item has a paired difference d, run A's credit less run B's; the figure is its mean over the n
items of a capability. Items of one episode are alike, so that the mean varies as if there were
fewer (Kish, Survey Sampling, 1965; Donner and Klar, Design and Analysis of Cluster Randomization
Trials, 2000):

    Var(mean d) = sd^2 / n * deff,   deff = 1 + (m - 1) rho

with the standard deviation sd of d over items, m items per episode and rho their correlation within
an episode. By the normal approximation a two-sided test at level alpha finds a true difference
delta with the wanted power where

    n >= (z(1 - alpha/2) + z(power))^2 sd^2 deff / delta^2.

It is close from about 30 episodes on, and optimistic with fewer. All figures are fractions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, fsum, inf, sqrt
from statistics import NormalDist

from evaluation.report.runs import ReportRun
from evaluation.scoring import Quantity, ScoringError, raw, verified
from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychemme.release.read import Release
from psychemme.vocabulary import Capability

MEASURES: Mapping[str, Quantity] = {"raw": raw, "verified": verified}


class Spread(Value):
    """How the paired differences of a pool of items vary.

    `sd` is over items; `icc` is the correlation within an episode, None where no episode holds two
    items or nothing varies; a negative estimate counts as 0. `per_episode` is the size of an item's
    own episode, averaged over items: what counts for the design effect, but more than the items of
    an episode where sizes differ.
    """

    items: int
    episodes: int
    per_episode: float
    sd: float | None
    icc: float | None


class Need(Value):
    """What finds the wanted difference, and what the items there are can find.

    None where it is unknown: nothing varies, there is no item, or no correlation is known.
    """

    spread: Spread
    design_effect: float | None = None
    items: int | None = None
    episodes: int | None = None
    detectable: float | None = None


def design_effect(per_episode: float, icc: float) -> float:
    """Return 1 + (m - 1) rho; raise ConfigError where no episodes are like that."""
    if not 1 <= per_episode < inf:
        raise ConfigError(f"{per_episode:g} items an episode is not 1 or more.", "Use 1 or more.")
    if not 0 <= icc <= 1:
        raise ConfigError(f"A correlation of {icc:g} is not from 0 to 1.", "Use for example 0.1.")
    return 1 + (per_episode - 1) * icc


def sd_of_discordance(discordance: float, difference: float) -> float:
    """Return the sd of d where credits are 0 or 1 and differ on a share `discordance` of items.

    d is 1 or -1 there and 0 elsewhere, so that its variance is discordance - difference^2. Raises
    ConfigError where so few differing items cannot make that difference.
    """
    if not abs(difference) <= discordance <= 1:
        raise ConfigError(
            f"Runs that differ on {discordance:.1%} of the items cannot be "
            f"{abs(difference):.1%} apart.",
            "Give a discordance from the difference up to 100.",
        )
    return sqrt(discordance - difference**2)


def items_needed(
    difference: float, sd: float, deff: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return how many items find `difference` with `power`; raise ConfigError naming the rule."""
    if not 0 < difference <= 1:
        raise ConfigError(
            f"A difference of {100 * difference:g} points is not above 0 and up to 100.",
            "Use for example --difference 5.",
        )
    # Above rounding errors: what comes out at 63.000000001 needs 63.
    return max(1, ceil((_z(power, alpha) * sd / difference) ** 2 * deff - 1e-9))


def detectable(
    items: int, sd: float, deff: float, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Return the difference that `items` find with `power`."""
    return _z(power, alpha) * sd * sqrt(deff / items)


def _z(power: float, alpha: float) -> float:
    if not (0 < alpha < 1 and alpha < power < 1):
        raise ConfigError(
            f"Power {power:g} at alpha {alpha:g}: give 0 < alpha < power < 1.",
            "Use for example --power 0.8 --alpha 0.05.",
        )
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)


def plan(
    spread: Spread,
    difference: float,
    per_episode: float | None = None,
    icc: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Need:
    """Return what `spread` asks for; `per_episode` and `icc` replace what it says.

    Episodes are as many as hold the items, at sizes like those of `spread`, or at `per_episode`.
    """
    planned = spread.per_episode if per_episode is None else per_episode
    rho = spread.icc if icc is None else icc
    if not spread.sd or (rho is None and max(planned, spread.per_episode) > 1):
        return Need(spread=spread)
    deff = design_effect(planned, rho or 0.0)
    items = items_needed(difference, spread.sd, deff, power, alpha)
    least = None
    if spread.items:
        present = design_effect(spread.per_episode, rho or 0.0)
        least = detectable(spread.items, spread.sd, present, power, alpha)
    held = planned
    if per_episode is None and spread.items:
        held = spread.items / spread.episodes
    episodes = ceil(items / held - 1e-9)
    return Need(spread=spread, design_effect=deff, items=items, episodes=episodes, detectable=least)


def spreads_of(one: ReportRun, other: ReportRun, credit: Quantity) -> dict[Capability, Spread]:
    """Return the spread of the paired differences of two runs in each declared capability.

    Raises ScoringError where they hold different items, or an item is unscored.
    """
    mine, theirs = ({x.item_id: x for x in run.scored.items} for run in (one, other))
    if mine.keys() != theirs.keys():
        raise ScoringError(
            f"{one.name} and {other.name} differ in {len(mine.keys() ^ theirs.keys())} items.",
            "Plan from two runs over the same items.",
        )
    found: dict[Capability, dict[str, list[float]]] = {each: {} for each in one.scored.declared}
    for name, item in sorted(mine.items()):
        d = credit(item) - credit(theirs[name])
        found[item.capability].setdefault(item.episode_id, []).append(d)
    return {
        capability: spread_of(list(episodes.values())) for capability, episodes in found.items()
    }


def spread_of(episodes: Sequence[Sequence[float]]) -> Spread:
    """Return how the differences (items by episode) vary.

    The variance of their mean is taken from the sums of episodes, as the episode bootstrap takes
    it, and rho from what it is beyond that of as many unrelated items.
    """
    every = [d for each in episodes for d in each]
    n, k = len(every), len(episodes)
    found = assumed_spread(list(map(len, episodes)), 0.0)
    if n < 2:
        return found.model_copy(update={"sd": None})
    mean = fsum(every) / n
    variance = fsum((d - mean) ** 2 for d in every) / (n - 1)
    icc = None
    if found.per_episode > 1 and k > 1 and variance > 0:
        by_episode = fsum(fsum(d - mean for d in each) ** 2 for each in episodes)
        deff = by_episode * k / (k - 1) / (n * variance)
        icc = min(1.0, max(0.0, (deff - 1) / (found.per_episode - 1)))
    return found.model_copy(update={"sd": sqrt(variance), "icc": icc})


def assumed_spread(sizes: Sequence[int], sd: float, icc: float | None = None) -> Spread:
    """Return the spread of items in episodes of these `sizes` with an assumed `sd` and `icc`."""
    n = sum(sizes)
    own = sum(size**2 for size in sizes) / n if n else 1.0
    return Spread(items=n, episodes=len(sizes), per_episode=own, sd=sd, icc=icc)


def episode_sizes(release: Release) -> dict[Capability, list[int]]:
    """Return how many items each episode holds, by declared capability."""
    counts = Counter((row.capability, row.episode_id) for row in release.questions.values())
    found: dict[Capability, list[int]] = {each: [] for each in release.manifest.capabilities}
    for (capability, _), size in sorted(counts.items()):
        found[capability].append(size)
    return found
