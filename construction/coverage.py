"""What became of the candidates, cell by cell, against the plan's targets.

A candidate counts in the most specific target that covers it, or in a row of its own with target
0, so that the rows sum to the totals: started = accepted + discarded + failed + pending.
Yield is accepted / (accepted + discarded); a failure is a machine's and never enters it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from construction.plan import ANY, Cell, Target, home
from psychemme.episode import Value
from psychemme.vocabulary import EVER_ACCEPTED, CandidateState, Capability, DurationBand, Format

Dimension = Literal["capability", "format", "source_group", "duration_band"]
_DIMENSIONS: tuple[Dimension, ...] = ("capability", "format", "source_group", "duration_band")
_UNEXPLAINED = "unexplained"


class Outcome(Value):
    """A candidate as counting and sampling see it; `reason` says why it was discarded."""

    episode_id: str
    capability: Capability
    format: Format
    source_group: str
    duration_band: DurationBand
    state: CandidateState
    reason: str | None = None
    batch: int = 0

    @property
    def place(self) -> Cell:
        """The narrowest cell that holds this candidate."""
        return Cell.model_construct(**{name: getattr(self, name) for name in _DIMENSIONS})


class Tally(Value):
    """Candidates by what became of them; accepted means ever accepted by the graph."""

    accepted: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Tally":
        """Count `outcomes`."""
        return cls.counted(Counter(outcome.state for outcome in outcomes))

    @classmethod
    def counted(cls, states: Mapping[CandidateState, int]) -> "Tally":
        """Sum how many candidates are in each state."""
        fates: Counter[str] = Counter()
        for state, count in states.items():
            fates[_fate(state)] += count
        return cls(**fates)

    @property
    def started(self) -> int:
        """All candidates."""
        return self.accepted + self.discarded + self.failed + self.pending

    @property
    def attempts(self) -> int:
        """The candidates that the graph has judged."""
        return self.accepted + self.discarded


class Row(Value):
    """One line of coverage; `"*"` stands for every value. `reasons` counts discards by reason."""

    capability: str = ANY
    format: str = ANY
    source_group: str = ANY
    duration_band: str = ANY
    target: int
    tally: Tally
    deficit: int
    reasons: Mapping[str, int]

    @property
    def acceptance(self) -> float | None:
        """The yield, None before the first judged candidate."""
        return self.tally.accepted / self.tally.attempts if self.tally.attempts else None

    def to_json(self) -> dict[str, Any]:
        """Return the row as `coverage --json` prints it."""
        return {
            **{name: getattr(self, name) for name in _DIMENSIONS},
            "target": self.target,
            "attempts": self.tally.attempts,
            "accepted": self.tally.accepted,
            "discarded": self.tally.discarded,
            "failed": self.tally.failed,
            "yield": self.acceptance,
            "deficit": self.deficit,
        }


class CoverageReport(Value):
    """Totals and rows that reconcile; building one that does not raises `ValueError`."""

    started: int
    totals: Tally
    rows: tuple[Row, ...]
    reasons: Mapping[str, int]

    @model_validator(mode="after")
    def _reconciles(self) -> Self:
        in_rows = sum(row.tally.started for row in self.rows)
        if not self.started == self.totals.started == in_rows:
            raise ValueError(
                f"started {self.started}, counted {self.totals.started}, in rows {in_rows}"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the report as `coverage --json` prints it."""
        totals = {"started": self.started, **self.totals.model_dump()}
        return {"totals": totals, "cells": [row.to_json() for row in self.rows]}


def by_cell(targets: Sequence[Target], outcomes: Iterable[Outcome]) -> dict[Cell, list[Outcome]]:
    """Return the outcomes of every target's cell and, after those, of every place without one."""
    cells: dict[Cell, list[Outcome]] = {target.cell: [] for target in targets}
    homes: dict[Cell, Cell] = {}
    for outcome in outcomes:
        place = outcome.place
        if place not in homes:
            homes[place] = home(targets, place)
        cells.setdefault(homes[place], []).append(outcome)
    return cells


def coverage(targets: Sequence[Target], outcomes: Sequence[Outcome]) -> CoverageReport:
    """Return what `outcomes` cover of `targets`, rows in taxonomy order."""
    counts = {target.cell: target.count for target in targets}
    rows = [
        _row(cell.model_dump(), counts.get(cell, 0), held)
        for cell, held in by_cell(targets, outcomes).items()
    ]
    return CoverageReport(
        started=len(outcomes),
        totals=Tally.of(outcomes),
        rows=tuple(sorted(rows, key=_order)),
        reasons=_reasons(outcomes),
    )


def by(
    dimension: Dimension, targets: Sequence[Target], outcomes: Sequence[Outcome]
) -> tuple[Row, ...]:
    """Return coverage summed over all dimensions but one.

    Candidates count under their own value; target and deficit are the sums over the cells that
    name the value, so that a surplus in one cell never hides a deficit in another.
    """
    held: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        held[getattr(outcome, dimension)].append(outcome)
    cells = [row for row in coverage(targets, outcomes).rows if getattr(row, dimension) != ANY]
    values = {*held, *(getattr(row, dimension) for row in cells)}
    rows = []
    for value in values:
        named = [row for row in cells if getattr(row, dimension) == value]
        row = _row({dimension: value}, sum(row.target for row in named), held[value])
        rows.append(row.model_copy(update={"deficit": sum(row.deficit for row in named)}))
    return tuple(sorted(rows, key=_order))


def _fate(state: CandidateState) -> str:
    return CandidateState.ACCEPTED.value if state in EVER_ACCEPTED else state.value


def _reasons(outcomes: Iterable[Outcome]) -> dict[str, int]:
    discarded = (o for o in outcomes if o.state is CandidateState.DISCARDED)
    return dict(sorted(Counter(o.reason or _UNEXPLAINED for o in discarded).items()))


def _row(cell: Mapping[str, Any], target: int, held: Sequence[Outcome]) -> Row:
    tally = Tally.of(held)
    deficit = max(0, target - tally.accepted)
    return Row(**cell, target=target, tally=tally, deficit=deficit, reasons=_reasons(held))


def _order(row: Row) -> tuple[int, int, str, int]:
    return (
        [ANY, *Capability].index(row.capability),
        [ANY, *Format].index(row.format),
        row.source_group,
        [ANY, *DurationBand].index(row.duration_band),
    )
