"""Which items and responses people get, and which of a judge's decisions are moved: all by seed."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import ceil, floor
from typing import TypeVar

from evaluation.judge import Judgement
from evaluation.people.rows import FAR, LEVELS, Decision
from evaluation.people.study import Task, seeded
from psychemme.errors import ConfigError
from psychemme.release.rows import QuestionRow

LEAST_PLANTED, MOST_PLANTED = 0.1, 0.3
"""Fractions of all decisions; at most one decision of a response is moved."""

T = TypeVar("T")


def draw_items(
    questions: Iterable[QuestionRow], count: int, seed: int, *, is_stratified: bool
) -> tuple[str, ...]:
    """Return `count` item ids, in ascending order, every item as likely as any other.

    Stratified, each capability gets its share of them, rounded by largest remainder, and one at
    the least. Raises ConfigError where there are fewer items, or fewer of them than capabilities.
    """
    rows = sorted(questions, key=lambda row: row.id)
    if count > len(rows):
        raise ConfigError(f"The release has {len(rows)} items, not {count}.", "Ask for fewer.")
    if not is_stratified:
        return tuple(sorted(row.id for row in seeded(seed, "items").sample(rows, count)))
    strata = _strata(rows, lambda row: row.capability)
    if count < len(strata):
        raise ConfigError(
            f"{count} items cannot be of {len(strata)} capabilities.", "Ask for more items."
        )
    drawn = [
        row.id
        for place, size in _shares({c: len(some) for c, some in strata.items()}, count).items()
        for row in seeded(seed, "items", place).sample(strata[place], size)
    ]
    return tuple(sorted(drawn))


def _shares(sizes: Mapping[T, int], count: int) -> dict[T, int]:
    total = sum(sizes.values())
    exact = {place: count * size / total for place, size in sizes.items()}
    shares = {place: max(1, floor(share)) for place, share in exact.items()}
    while (left := count - sum(shares.values())) != 0:
        step = 1 if left > 0 else -1
        open_ = [p for p in shares if (shares[p] < sizes[p] if left > 0 else shares[p] > 1)]
        place = max(open_, key=lambda p: step * (exact[p] - shares[p]))
        shares[place] += step
    return shares


def draw_evenly(
    cases: Iterable[T], stratum: Callable[[T], Hashable], count: int, seed: int
) -> list[T]:
    """Return `count` of the cases, all where there are not so many, one of each stratum in turn."""
    chance = seeded(seed, "cases")
    strata = sorted(_strata(cases, stratum).items(), key=lambda pair: str(pair[0]))
    queues = [chance.sample(some, len(some)) for _, some in strata]
    # Whose turn comes first decides who is left out of the last round.
    chance.shuffle(queues)
    drawn: list[T] = []
    for turn in range(max(map(len, queues), default=0)):
        drawn.extend(queue[turn] for queue in queues if turn < len(queue))
    return drawn[:count]


def draw_anyhow(cases: Sequence[T], count: int, seed: int) -> list[T]:
    """Return `count` of the cases, or all, each as likely as any other."""
    return seeded(seed, "cases").sample(cases, min(count, len(cases)))


def plant(tasks: Sequence[Task], share: float, seed: int) -> tuple[Task, ...]:
    """Return the tasks with at least `share` of all their decisions moved by two levels or more.

    Raises ConfigError where `share` is not between the limits.
    """
    if not LEAST_PLANTED <= share <= MOST_PLANTED:
        raise ConfigError(
            f"A planted share of {share:g} is not from {LEAST_PLANTED} to {MOST_PLANTED}.",
            "Use for example --planted 0.1.",
        )
    # 0.1 * 30 is a little more than 3.
    count = ceil(round(share * sum(len(task.decisions) for task in tasks), 9))
    chance = seeded(seed, "planted")
    found = list(tasks)
    for place in sorted(chance.sample(range(len(tasks)), count)):
        task = found[place]
        far = {d: levels for d in task.decisions if (levels := _far(task.judgement, d))}
        decision = chance.choice(sorted(far))
        found[place] = task.model_copy(update={"planted": {decision: chance.choice(far[decision])}})
    return tuple(found)


def _far(judgement: Judgement | None, decision: Decision) -> list[str | float]:
    levels: list[str | float] = [*LEVELS[decision]]
    at = levels.index(getattr(judgement, decision))
    return [level for place, level in enumerate(levels) if abs(place - at) >= FAR]


def _strata(cases: Iterable[T], stratum: Callable[[T], Hashable]) -> dict[Hashable, list[T]]:
    found: dict[Hashable, list[T]] = defaultdict(list)
    for case in cases:
        found[stratum(case)].append(case)
    return dict(found)
