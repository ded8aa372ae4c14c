"""Scores of several runs summed per episode, in the shape the bootstrap needs.

Shapes: E units (episodes or recording groups), C declared capabilities, R runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evaluation.bootstrap import Floats
from evaluation.scoring import ItemScore, Quantity, ScoringError, by_capability, raw, verified
from psychemme.vocabulary import Capability

Unit = Literal["episode", "recording group"]


@dataclass(frozen=True, eq=False)
class EpisodeTable:
    """What the runs earned in each unit: sums `a` and `v` (E, C, R), items `n` (E, C).

    `units` are in ascending code-point order; `groups` has the recording group of each.
    """

    unit: Unit
    units: tuple[str, ...]
    groups: tuple[str, ...]
    declared: tuple[Capability, ...]
    runs: tuple[str, ...]
    a: Floats
    v: Floats
    n: Floats

    @classmethod
    def of(
        cls,
        runs: Mapping[str, Sequence[ItemScore]],
        declared: Sequence[Capability],
        credit: Quantity = verified,
    ) -> "EpisodeTable":
        """Sum the scores of each run, joined by item id; `credit` replaces v for other weights.

        For an analysis of a subset give every run that subset: its episodes are what is redrawn.
        Raises ScoringError where there is no run or no item, where an item is unscored or not of
        a declared capability, and where runs do not hold the same items.
        """
        if not runs:
            raise ScoringError("there is no run to compare.", "Name at least one.")
        joined = {name: _by_id(name, scores) for name, scores in runs.items()}
        items = next(iter(joined.values()))
        for name, scores in joined.items():
            _require_same(next(iter(runs)), items, name, scores)
        by_capability(list(items.values()), declared)
        groups = _groups(items.values())
        units = sorted(groups)
        shape = len(units), len(declared)
        cells = _cells(items.values(), units, declared)

        def of_runs(quantity: Quantity) -> Floats:
            every = ([quantity(scores[item]) for item in items] for scores in joined.values())
            return np.stack([_summed(cells, shape, values) for values in every], axis=-1)

        return cls(
            unit="episode",
            units=tuple(units),
            groups=tuple(groups[unit] for unit in units),
            declared=tuple(declared),
            runs=tuple(runs),
            a=of_runs(raw),
            v=of_runs(credit),
            n=_summed(cells, shape, None),
        )

    def by_recording_group(self) -> "EpisodeTable":
        """Return the table whose units are recording groups, for the sensitivity interval."""
        units = sorted(set(self.groups))
        place = {unit: row for row, unit in enumerate(units)}
        rows = np.array([place[group] for group in self.groups])

        def merged(sums: Floats) -> Floats:
            into = np.zeros((len(units), *sums.shape[1:]))
            np.add.at(into, rows, sums)
            return into

        return replace(
            self,
            unit="recording group",
            units=tuple(units),
            groups=tuple(units),
            a=merged(self.a),
            v=merged(self.v),
            n=merged(self.n),
        )

    def averaged(self, runs: Sequence[str], name: str) -> "EpisodeTable":
        """Return the table with `runs`, such as three seeds, replaced by their mean per item.

        Raises ScoringError where `runs` is empty or one of them is not in the table.
        """
        missing = sorted(set(runs) - set(self.runs))
        if missing or not runs:
            raise ScoringError(
                f"runs to average: {', '.join(missing) or 'none'}; there is no such run.",
                f"Choose among {', '.join(self.runs)}.",
            )
        kept = [index for index, run in enumerate(self.runs) if run not in runs]
        taken = [self.runs.index(run) for run in runs]

        def mean(sums: Floats) -> Floats:
            return np.dstack([sums[..., kept], sums[..., taken].mean(axis=-1)])

        names = (*(self.runs[index] for index in kept), name)
        return replace(self, runs=names, a=mean(self.a), v=mean(self.v))


def _cells(
    scores: Iterable[ItemScore], units: Sequence[str], declared: Sequence[Capability]
) -> NDArray[np.int64]:
    """Return the index of each item's unit and capability in the flattened (E, C)."""
    row = {unit: index for index, unit in enumerate(units)}
    column = {capability: index for index, capability in enumerate(declared)}
    return np.array([row[s.episode_id] * len(column) + column[s.capability] for s in scores])


def _summed(
    cells: NDArray[np.int64], shape: tuple[int, int], values: Sequence[float] | None
) -> Floats:
    """Return the sums (E, C) of the items' values, or how many items there are."""
    found = np.bincount(cells, values, minlength=shape[0] * shape[1])
    return found.astype(np.float64).reshape(shape)


def _by_id(run: str, scores: Sequence[ItemScore]) -> dict[str, ItemScore]:
    """Return the scores by item id in ascending order, so that no order changes a sum."""
    found = {one.item_id: one for one in sorted(scores, key=lambda one: one.item_id)}
    if len(found) < len(scores):
        raise ScoringError(
            f"run {run} scores {len(scores) - len(found)} items twice.",
            "Keep one score per item, model and condition.",
        )
    return found


def _require_same(
    first: str, items: Mapping[str, ItemScore], name: str, scores: Mapping[str, ItemScore]
) -> None:
    """Raise ScoringError unless both runs hold the same items of the same release."""
    apart = sorted(items.keys() ^ scores.keys()) or [
        item
        for item, one in scores.items()
        if (one.episode_id, one.recording_group, one.capability)
        != (
            items[item].episode_id,
            items[item].recording_group,
            items[item].capability,
        )
    ]
    if apart:
        raise ScoringError(
            f"runs {first} and {name} differ in {len(apart)} items, such as {apart[0]}.",
            "Compare runs over the same items of one release.",
        )


def _groups(scores: Iterable[ItemScore]) -> dict[str, str]:
    """Return the recording group of each episode."""
    groups: dict[str, str] = {}
    for one in scores:
        if groups.setdefault(one.episode_id, one.recording_group) != one.recording_group:
            raise ScoringError(
                f"episode {one.episode_id} is in more than one recording group.",
                "Correct the release's episodes.",
            )
    return groups
