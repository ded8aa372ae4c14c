"""Runs as folders: resumable, pinned, idempotent, and honest about what failed."""

import asyncio
import json
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from evaluation.inputs import make_policy
from evaluation.manifest import held, read_manifest
from evaluation.runs import Plan, evaluations
from evaluation.work import Progress, work_through
from psychemme.clients.cards import CardPrice, Cards, ModelCard, load_cards
from psychemme.config import load_settings
from psychemme.errors import (
    ConfigError,
    EndpointError,
    MediaError,
    ReleaseError,
    RunError,
    Stopped,
)
from psychemme.release.read import read_release
from state.engines import open_owner
from tests.support.model_server import Call, ModelServer
from tests.support.releases import make_release

ITEMS = 24


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return make_release(tmp_path / "release", ITEMS)


async def finish(
    release: Path,
    server: ModelServer | None = None,
    mode: str | None = None,
    *,
    model: str = "served",
    condition: str = "asr-only",
    history: str = "matched",
    limit: int | None = None,
    budget: float | None = None,
    cards: Cards | None = None,
    stop: asyncio.Event | None = None,
) -> tuple[Path, Progress]:
    flags = {"concurrency": 4, "max_retries": 0, "base_url": server.url if server else None}
    out = release.parent / "runs"
    policy = make_policy(condition, history)
    plan = Plan(read_release(release), (release,), out, policy, limit)
    stop = stop or asyncio.Event()
    effective = load_settings(release, flags)
    opened = evaluations(plan, [model], effective, cards or load_cards(), stop, mode, budget)
    async with opened as (evaluation,):
        return evaluation.folder, await evaluation.finish()


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "responses.jsonl").read_text().splitlines()]


async def test_every_item_is_asked_once_and_recorded(release: Path) -> None:
    with ModelServer() as server:
        folder, done = await finish(release, server)
        assert server.count("evaluated") == ITEMS == done.settled
        calls = list(server.calls)
    found = rows(folder)
    assert [row["item_id"] for row in found] == sorted(row["item_id"] for row in found)
    assert all(row["model"] == "served" and row["condition"] == "asr-only" for row in found)
    assert all(row["sent"]["transcript_lines"] == 2 for row in found)
    for call in calls:
        assert (call.body["temperature"], call.body["max_tokens"]) == (0.0, 768)
        assert "PRIVATE" not in json.dumps(call.body)
    manifest = read_manifest(folder)
    assert manifest.release.checksum == read_release(release).checksum
    assert len(manifest.items) == ITEMS


async def test_a_second_run_needs_a_word_and_a_resume_pays_for_nothing(release: Path) -> None:
    with ModelServer() as server:
        folder, first = await finish(release, server)
        before = (folder / "responses.jsonl").read_bytes()
        with pytest.raises(RunError, match="holds a run"):
            await finish(release, server)
        again, second = await finish(release, server, "resume")
        assert server.count() == ITEMS
        assert (again, second) == (folder, first)
        assert (folder / "responses.jsonl").read_bytes() == before
        other, _ = await finish(release, server, "fresh")
    assert other != folder
    assert (folder / "responses.jsonl").read_bytes() == before
    assert (other / "responses.jsonl").read_bytes() == before


async def test_an_error_is_kept_and_asked_again_on_resume(release: Path) -> None:
    def fault(call: Call) -> str | None:
        return "rejected" if call.number % 5 == 0 else None

    with ModelServer(fault=fault) as server:
        folder, done = await finish(release, server)
    assert done.settled < ITEMS
    failed = [row for row in rows(folder) if row["outcome"] == "api_error"]
    assert len(failed) == ITEMS - done.settled == done.failures["api_error"]
    assert all(row["raw"] is None and row["answer"] is None for row in failed)
    with ModelServer() as server:
        _, done = await finish(release, server, "resume")
        assert server.count() == len(failed)
    assert done.settled == ITEMS


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("truncated", "truncated"),
        ("content_filter", "content_filter"),
        ("filtered_request", "content_filter"),
        ("gibberish", "unparsed"),
        ("empty", "unparsed"),
    ],
)
async def test_what_the_model_is_to_blame_for_is_settled(
    release: Path, fault: str, outcome: str
) -> None:
    with ModelServer(fault=lambda call: fault) as server:
        folder, done = await finish(release, server)
        assert server.count() == ITEMS
    assert done.settled == ITEMS
    assert {row["outcome"] for row in rows(folder)} == {outcome}


@pytest.mark.parametrize("fault", ["unauthorized", "not_found"])
async def test_an_endpoint_that_refuses_stops_the_run(release: Path, fault: str) -> None:
    with ModelServer(fault=lambda call: fault) as server:
        with pytest.raises(EndpointError):
            await finish(release, server)
        assert server.count() <= 4
    with ModelServer() as server:
        _, done = await finish(release, server, "resume")
    assert done.settled == ITEMS


async def test_another_release_is_refused(release: Path) -> None:
    with ModelServer() as server:
        await finish(release, server, limit=2)
        make_release(release, ITEMS, version="1.0.1")
        make_release(release, ITEMS + 1)
        with pytest.raises(ReleaseError, match="checksum"):
            await finish(release, server, "resume", limit=2)


async def test_what_a_run_pins_may_not_change(release: Path) -> None:
    with ModelServer() as server:
        await finish(release, server, limit=2)
        with pytest.raises(RunError, match="items was"):
            await finish(release, server, "resume", limit=3)
        kin = Cards((ModelCard(name="served", native_video=True),))
        with pytest.raises(RunError, match="card was"):
            await finish(release, server, "resume", limit=2, cards=kin)


async def test_missing_clips_cost_nothing(release: Path) -> None:
    with ModelServer() as server:
        with pytest.raises(MediaError, match="8 episodes"):
            await finish(release, server, condition="full")
        assert server.count() == 0
    assert not (release.parent / "runs").exists()


async def test_a_budget_stops_and_resumes(release: Path) -> None:
    cards = Cards((ModelCard(name="served", price=CardPrice(input=10_000, output=0)),))
    with ModelServer() as server:
        with pytest.raises(Stopped):
            await finish(release, server, cards=cards, budget=5.0)
        paid = server.count()
        assert 0 < paid < ITEMS
        _, done = await finish(release, server, "resume", cards=cards, budget=1000.0)
        assert server.count() == ITEMS
    assert done.settled == ITEMS
    with pytest.raises(ConfigError, match="price"):
        await finish(release, server, "fresh", budget=5.0)


async def test_a_price_that_is_set_goes_before_the_card(release: Path, monkeypatch) -> None:
    monkeypatch.setenv("PSYCHEMME_INPUT_PRICE", "10000")
    monkeypatch.setenv("PSYCHEMME_OUTPUT_PRICE", "0")
    with ModelServer() as server:
        with pytest.raises(Stopped):
            await finish(release, server, budget=5.0)
        assert 0 < server.count() < ITEMS


async def test_withheld_history_is_asked_of_its_cohort(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release", 64)
    with ModelServer() as server:
        folder, _ = await finish(release, server, history="mismatched:42")
    manifest = read_manifest(folder)
    assert manifest.condition == "asr-only+history-mismatched:42"
    assert len(manifest.items) == 8
    assert set(manifest.donors) == set(manifest.items)
    assert {r["sent"]["history_of"] for r in rows(folder)} == set(manifest.donors.values())


async def test_what_was_called_is_never_changed(release: Path) -> None:
    with ModelServer() as server:
        folder, _ = await finish(release, server, limit=2)
    engine = open_owner(folder / "run.db")
    for attack in ("UPDATE calls SET text = 'x'", "DELETE FROM calls"):
        with pytest.raises(IntegrityError, match="append-only"), engine.begin() as connection:
            connection.execute(text(attack))
    engine.dispose()


async def test_stopping_finishes_what_is_in_hand() -> None:
    stop, done = asyncio.Event(), []

    async def do(thing: int) -> None:
        await asyncio.sleep(0.01)
        done.append(thing)
        if thing == 5:
            stop.set()

    with pytest.raises(Stopped):
        await work_through(range(100), do, 4, stop)
    assert set(range(6)) <= set(done)
    assert len(done) <= 9


async def test_what_cannot_start_leaves_no_run_behind(release: Path) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        await finish(release)
    assert not (release.parent / "runs").exists()


async def test_two_processes_do_not_share_a_run(release: Path) -> None:
    with ModelServer() as server:
        folder, _ = await finish(release, server, limit=2)
        with held(folder), pytest.raises(RunError, match="Another process"):
            await finish(release, server, "resume", limit=2)
