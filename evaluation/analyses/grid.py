"""The scores of runs over the same items as arrays, and cells of tables from sums over them.

Shapes: N items, R runs, S strata, M values, b draws in a block.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.analyses.estimating import EpisodeEstimate, episode_sums, estimated, shown
from evaluation.analyses.values import Study, same_items, scores_of
from evaluation.bootstrap import Floats
from evaluation.scoring import ItemScore, Quantity
from psychemme.vocabulary import Capability

Cells = NDArray[Any]
"""`Shown` cells in any shape."""

Blocks = Mapping[str, Floats]
"""Figures of each draw by name, each (b, ...); NaN where undefined."""


@dataclass(frozen=True, eq=False)
class Grid:
    """What R runs earned on the same N items, in ascending order of item id.

    `scores` are by run, then by item; `items` are those of the first run, for what all runs share.
    """

    study: Study
    scores: tuple[tuple[ItemScore, ...], ...]

    @classmethod
    def of(cls, study: Study) -> "Grid":
        """Join the runs of a study by item id.

        Raises ScoringError on an unscored item and on runs over different items, NotApplicable
        without a run.
        """
        items = same_items(study.runs)
        found = [scores_of(run) for run in study.runs]
        return cls(study, tuple(tuple(scores[item] for item in items) for scores in found))

    @property
    def items(self) -> tuple[ItemScore, ...]:
        """The items, for capability, format and episode."""
        return self.scores[0]

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(run.name for run in self.study.runs)

    @property
    def ones(self) -> Floats:
        """1 for every item, (N, 1): the value that counts them, or the stratum of all."""
        return np.ones((len(self.items), 1))

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The places of both runs of every pair, (2, pairs)."""
        found = list(combinations(range(len(self.runs)), 2))
        return np.array(found, dtype=np.int64).reshape(-1, 2).T

    def values(self, quantity: Quantity) -> Floats:
        """Return a quantity of every score, (N, R)."""
        return np.array([[float(quantity(one)) for one in run] for run in self.scores]).T

    def where(self, holds: Callable[[ItemScore], bool]) -> Floats:
        """Return 1 for the items of which something holds, else 0, (N,)."""
        return np.array([float(holds(item)) for item in self.items])

    def by_capability(self) -> Floats:
        """Return 1 where an item is of a declared capability, (N, C)."""
        declared = self.study.declared
        return np.array([[float(item.capability == c) for c in declared] for item in self.items])

    def episodes(self, members: Floats) -> int:
        """Return how many episodes the items with a 1 in `members` (N,) come from."""
        held = zip(self.items, members, strict=True)
        return len({item.episode_id for item, is_member in held if is_member})

    def estimated(
        self,
        strata: Floats,
        values: Floats,
        figures: Callable[[Floats], Blocks],
        differences: Collection[str] = (),
    ) -> dict[str, Cells]:
        """Return cells of figures of totals (b, S, M), by the names that `figures` gives.

        `strata` (N, S) has a 1 for each item of a stratum, `values` (N, M) is summed over it. Only
        episodes of items in a stratum are redrawn. Raises ScoringError where there is none.
        """
        shape = strata.shape[1], values.shape[1]
        held = np.flatnonzero(strata.any(axis=1))
        crossed = (strata[held, :, None] * values[held, None, :]).reshape(len(held), -1)
        episodes = [self.items[place].episode_id for place in held]
        sums = episode_sums(zip(episodes, crossed, strict=True))

        def blocks(totals: Floats) -> Blocks:
            return figures(totals.reshape(-1, *shape))

        def flat(totals: Floats) -> Floats:
            return np.concatenate(
                [block.reshape(len(totals), -1) for block in blocks(totals).values()], axis=1
            )

        shapes = {name: block.shape[1:] for name, block in blocks(sums[:1]).items()}
        found = iter(estimated(sums, flat, self.study.draws, self.study.seed))
        return {name: _cells(one, found, name in differences) for name, one in shapes.items()}


def named(capability: Capability) -> str:
    """Return a capability as rows name it: its letter and its name."""
    return f"{capability} {capability.name.capitalize()}"


def counts(members: Floats) -> list[int]:
    """Return how many items each column (N, S) holds."""
    return [int(n) for n in members.sum(axis=0)]


def _cells(shape: Sequence[int], found: Iterator[EpisodeEstimate], is_difference: bool) -> Cells:
    cells = np.empty(prod(shape), dtype=object)
    cells[:] = [shown(next(found), is_difference=is_difference) for _ in range(len(cells))]
    return cells.reshape(shape)
