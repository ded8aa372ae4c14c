"""Costs, budgets, dry runs and the cache, as a user meets them."""

from pathlib import Path

import pytest

from construction.costs import costs_of
from psychemme.cli.costs import money
from state.values import LedgerCall
from tests.support.commands import read, run
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

COUNT = 8
KEY = {"PSYCHEMME_API_KEY": "sk-test-0123456789"}
PRICES = {"PSYCHEMME_INPUT_PRICE": "1", "PSYCHEMME_OUTPUT_PRICE": "5"}
ONE_CALL = (100 * 1 + 20 * 5) / 1_000_000
"""The server reports 100 tokens in and 20 out for every call."""


def generate(server: ModelServer, *words: str, count: int | None = COUNT) -> tuple[str, ...]:
    size = () if count is None else ("--count", str(count))
    return ("generate", "--model", "served", "--base-url", server.url, *size, *words)


def call(role: str, latency: float, cost: float | None = 0.5, cached: bool = False) -> LedgerCall:
    return LedgerCall(
        candidate_key="1-c", round=0, role=role, attempt=0, model="m", input_tokens=10,
        output_tokens=5, cost=cost, latency=latency, cached=cached,
    )  # fmt: skip


def test_rows_sum_to_the_totals_and_percentiles_leave_cached_calls_out():
    calls = [call("answer", n / 10) for n in range(1, 21)]
    found = costs_of([*calls, call("answer", 0.0, 0.0, cached=True), call("critic", 3.0)])
    answer, critic = found.rows
    assert (answer.calls, answer.cached, answer.cost) == (21, 1, 10.0)
    assert (answer.latency_median, answer.latency_p95) == (pytest.approx(1.05), 1.9)
    assert (critic.latency_median, critic.latency_p95) == (3.0, 3.0)
    assert found.to_json()["totals"] == {
        "calls": 22, "cached": 1, "input_tokens": 220, "output_tokens": 110, "cost": 10.5,
    }  # fmt: skip


def test_one_unknown_cost_makes_the_sum_unknown():
    found = costs_of([call("answer", 1.0), call("critic", 1.0, cost=None)])
    assert [row.cost for row in found.rows] == [0.5, None]
    assert found.to_json()["totals"]["cost"] is None
    assert costs_of([]).to_json()["totals"]["cost"] == 0


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, "unknown"), (0.0, "$0.00"), (0.0123, "$0.0123"), (12.5, "$12.50")]
)
def test_money_keeps_small_sums(cost, shown):
    assert money(cost) == shown


def test_costs_are_read_from_the_ledger(workspace: Path):
    with ModelServer() as server:
        run(workspace, *generate(server), **KEY, **PRICES)
        asked = server.count()
    shown = read(workspace, "costs")
    assert shown["totals"]["calls"] == asked
    assert shown["totals"]["cost"] == pytest.approx(asked * ONE_CALL)
    assert {row["role"] for row in shown["rows"]} == {"question", "answer", "critic"}
    assert all(row["latency_p95"] >= row["latency_median"] > 0 for row in shown["rows"])
    assert f"calls {asked}" in run(workspace, "costs").stdout
    assert "There is no run 9" in run(workspace, "costs", "--run", "9", expect=1).stderr


@pytest.mark.slow
def test_a_fresh_run_of_the_same_seed_is_served_from_the_cache_unless_told_not_to(
    workspace: Path,
):
    with ModelServer() as server:
        run(workspace, *generate(server), **KEY)
        asked = server.count()
        run(workspace, *generate(server, "--fresh"), **KEY)
        assert server.count() == asked
        second = read(workspace, "costs", "--run", "2")["totals"]
        assert (second["calls"], second["cached"], second["cost"]) == (asked, asked, 0)
        run(workspace, *generate(server, "--fresh", "--no-cache"), **KEY)
        assert server.count() == 2 * asked
    first, *others = (read(workspace, "candidates", "list", "--run", n) for n in ("1", "2", "3"))
    assert [[row | {"run": 1} for row in rows] for rows in others] == [first, first]


@pytest.mark.slow
def test_a_budget_stops_with_3_near_its_limit_and_resumes_with_more(workspace: Path):
    limit, slots = 6 * ONE_CALL, 2
    with ModelServer() as server:
        words = ("--concurrency", str(slots), "--budget")
        stopped = run(workspace, *generate(server, *words, str(limit)), expect=3, **KEY, **PRICES)
        spent = read(workspace, "costs")["totals"]["cost"]
        assert 0 < spent <= limit + slots * ONE_CALL
        assert "budget" in stopped.stderr
        assert "--resume" in stopped.stderr
        assert read(workspace, "coverage")["totals"]["pending"] > 0
        run(workspace, *generate(server, *words, str(limit), "--resume"), expect=3, **KEY, **PRICES)
        run(workspace, *generate(server, *words, "1", "--resume"), **KEY, **PRICES)
        assert len({one.hash for one in server.calls}) == server.count()
    totals = read(workspace, "coverage")["totals"]
    assert (totals["started"], totals["pending"], totals["failed"]) == (COUNT, 0, 0)


def test_a_budget_with_an_unknown_price_refuses_to_start(workspace: Path):
    with ModelServer() as server:
        refused = run(workspace, *generate(server, "--budget", "5"), expect=1, **KEY)
        assert server.count() == 0
    assert "served" in refused.stderr
    assert "PSYCHEMME_INPUT_PRICE" in refused.stderr
    assert read(workspace, "costs")["totals"]["calls"] == 0


def files(workspace: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and path.suffix not in (".db-wal", ".db-shm")
    }


def test_a_dry_run_asks_nothing_stores_nothing_and_states_its_basis(workspace: Path):
    before = files(workspace)
    with ModelServer() as server:
        shown = run(workspace, *generate(server, "--dry-run", count=100), **PRICES)
        assert server.count() == 0
    assert files(workspace) == before
    assert "candidates 100" in shown.stdout
    assert "60%, 25%, 15%" in shown.stdout
    assert "cost $" in shown.stdout


def test_a_dry_run_learns_from_earlier_runs(workspace: Path):
    with ModelServer() as server:
        run(workspace, *generate(server, count=16), **KEY)
        shown = run(workspace, *generate(server, "--dry-run", "--fresh", count=16))
        calls = read(workspace, "costs")["totals"]["calls"]
    assert "earlier runs" in shown.stdout
    assert "cost unknown" in shown.stdout
    rows = [line.split() for line in shown.stdout.splitlines() if "served" in line]
    estimated = sum(int(next(word for word in row if word.isdigit())) for row in rows)
    assert estimated == pytest.approx(calls, rel=0.5)
