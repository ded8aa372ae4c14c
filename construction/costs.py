"""What calls took: tokens, money and time, by role and model, from the ledger."""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from construction.screening.due import ratings_ledger
from psychemme.episode import Value
from state.address import Address
from state.leakage import LeakageStore
from state.runs import RunStore
from state.values import LedgerCall

PERCENTILE = 95


class CostRow(Value):
    """The calls of one role to one model. `cost` is in US dollars, None where a price is unknown.

    `calls` includes the `cached` ones, which took no tokens, no money and no time worth counting.
    Latencies are seconds over the other calls, None without any.
    """

    role: str
    model: str
    calls: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    latency_median: float | None
    latency_p95: float | None


class Costs(Value):
    """Rows by role and model, and their sums."""

    rows: tuple[CostRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what `costs --json` prints."""
        totals = {
            name: sum(getattr(row, name) for row in self.rows)
            for name in ("calls", "cached", "input_tokens", "output_tokens")
        }
        costs = [row.cost for row in self.rows]
        known = [cost for cost in costs if cost is not None]
        total = round(math.fsum(known), 9) if len(known) == len(costs) else None
        return {
            "totals": totals | {"cost": total},
            "rows": [row.model_dump(mode="json") for row in self.rows],
        }


def read_costs(database: Address, run: int | None) -> Costs:
    """Return the costs of a run, or of all runs; raises RunError where there is no such run."""
    with RunStore(database) as runs, LeakageStore(database) as leakage:
        if run is not None:
            runs.run(run)
        calls = [*runs.ledger(run), *leakage.ledger(run)]
    # Clips are rated before there is a run.
    return costs_of(calls if run is not None else [*calls, *ratings_ledger(database)])


def spent_of_newest(database: Address) -> float | None:
    """Return the US dollars that the newest run has cost, None where a price is unknown."""
    with RunStore(database) as runs:
        found = costs_of(runs.ledger(runs.runs()[-1].ordinal)).to_json()["totals"]["cost"]
    return None if found is None else float(found)


def costs_of(calls: Iterable[LedgerCall]) -> Costs:
    """Return `calls` summed by role and model."""
    groups: dict[tuple[str, str], list[LedgerCall]] = {}
    for call in calls:
        groups.setdefault((call.role, call.model), []).append(call)
    return Costs(rows=tuple(_row(*place, held) for place, held in sorted(groups.items())))


def _row(role: str, model: str, calls: Sequence[LedgerCall]) -> CostRow:
    known = [call.cost for call in calls if call.cost is not None]
    latencies = sorted(call.latency for call in calls if not call.cached)
    return CostRow(
        role=role,
        model=model,
        calls=len(calls),
        cached=sum(call.cached for call in calls),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        cost=round(math.fsum(known), 9) if len(known) == len(calls) else None,
        latency_median=median(latencies) if latencies else None,
        latency_p95=_percentile(latencies) if latencies else None,
    )


def _percentile(ordered: Sequence[float]) -> float:
    """Return the smallest value that `PERCENTILE` of 100 do not exceed."""
    return ordered[math.ceil(len(ordered) * PERCENTILE / 100) - 1]
