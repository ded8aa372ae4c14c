"""When an item leaks: exact, from counts alone (MMHBench, Section 3.5).

Two models answer three times each, without the footage. An item leaks where as many of the six
trials are right as guessing reaches in at most one of twenty items: four of six with four options,
as in the paper. All probabilities are exact fractions.
"""

from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import comb

from psychemme.vocabulary import Format

MODELS = 2
TRIALS_EACH = 3
TRIALS = MODELS * TRIALS_EACH
OPEN_THRESHOLD = 4
"""Open items, where guessing has no known chance, take the paper's four of six."""
_RARE = Fraction(1, 20)


class Decision(StrEnum):
    """What the trials say of an item; `undecided` where too many of them could not be read."""

    LEAKS = "leaks"
    PASSES = "passes"
    UNDECIDED = "undecided"


def chance(form: Format, options: int) -> Fraction | None:
    """Return how often a guess is right, None for an open question.

    The instructions of `multiple` say how many apply of none: any set but the empty one may be it.
    """
    if form is Format.OPEN:
        return None
    return Fraction(1, options if form is Format.SINGLE else 2**options - 1)


def at_least(right: int, trials: int, luck: Fraction) -> Fraction:
    """Return P(Bin(trials, luck) >= right)."""
    return sum(
        (
            comb(trials, k) * luck**k * (1 - luck) ** (trials - k)
            for k in range(max(right, 0), trials + 1)
        ),
        Fraction(0),
    )


@cache
def threshold(form: Format, options: int) -> int:
    """Return how many of the six right trials leak: the fewest that guessing seldom reaches.

    One option leaves nothing to decide: the result is then more than all trials.
    """
    luck = chance(form, options)
    if luck is None:
        return OPEN_THRESHOLD
    return next(k for k in range(TRIALS + 2) if at_least(k, TRIALS, luck) <= _RARE)


def decide(right: int, failed: int, left: int, needed: int) -> Decision | None:
    """Return the decision, None while the trials that are `left` can still make it.

    A `failed` trial might have been right: it counts for neither side.
    """
    if right >= needed:
        return Decision.LEAKS
    if right + failed + left < needed:
        return Decision.PASSES
    return Decision.UNDECIDED if right + left < needed <= right + failed else None


def removed_by_guessing(form: Format, options: int) -> Fraction | None:
    """Return how often an item leaks though its models only guess; None for an open question."""
    luck = chance(form, options)
    return None if luck is None else at_least(threshold(form, options), TRIALS, luck)


@cache
def expected_trials(luck: Fraction, needed: int, right: int = 0, left: int = TRIALS) -> Fraction:
    """Return how many more trials an item takes on average until its decision is fixed."""
    if decide(right, 0, left, needed) is not None:
        return Fraction(0)
    hit = expected_trials(luck, needed, right + 1, left - 1)
    miss = expected_trials(luck, needed, right, left - 1)
    return 1 + luck * hit + (1 - luck) * miss
