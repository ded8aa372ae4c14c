"""The model server that other tests rely on: whole candidates run against it."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from construction.agents import Agent
from construction.footage import frames_at
from construction.graph import RECURSION_LIMIT, build_graph
from construction.nodes import Nodes
from psychemme.clients.openai_compatible import OpenAICompatibleClient
from psychemme.errors import ReplyError
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychemme.vocabulary import CandidateState, Step
from psychology_kb.load import load_profile
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore
from tests.support import model_server
from tests.support.model_server import ModelServer, repeats
from tests.support.requests import request
from tests.support.states import make_state, target

KNOWLEDGE = load_profile("psychemme8")
TARGETS = [
    target(f"c{index}", capability, form, index)
    for index, (capability, form) in enumerate(
        (card.code, form)
        for card in KNOWLEDGE.capabilities
        for form in card.formats
        for _ in range(2)
    )
]
SERVER = Path(model_server.__file__)


async def run_all(url: str, path: Path) -> tuple[Counter[str], list[str]]:
    """Run every target; return how often each route and check was taken, and final states."""
    make_state(path, *TARGETS)
    client = OpenAICompatibleClient("m", url, "key", max_retries=0)
    with ExitStack() as stack:
        runs = stack.enter_context(RunStore(path))
        stores = [stack.enter_context(s(path)) for s in (QuestionStore, AnswerStore, CriticStore)]
        schemas = (Proposal, IndependentAnswer, Critique)
        media = frames_at(Path)
        agents = (Agent(client, s, m, media) for s, m in zip(stores, schemas, strict=True))
        graph = build_graph(Nodes(*agents, runs, KNOWLEDGE, b"secret"))
        slots = asyncio.Semaphore(4)

        async def run(key: str) -> None:
            state = {"candidate_key": key, "round": 0, "route": None}
            async with slots:
                await graph.ainvoke(state, {"recursion_limit": RECURSION_LIMIT})

        await asyncio.gather(*(run(one.key) for one in TARGETS))
        await client.aclose()
        dossiers = [runs.dossier(one.key) for one in TARGETS]
        steps: Counter[str] = Counter()
        for dossier in dossiers:
            for record in dossier.rounds:
                steps[str(record.steps.get(Step.CHECK))] += 1
                steps[str(record.steps.get(Step.ROUTE)).partition(":")[0]] += 1
        return steps, [dossier.outcome.state for dossier in dossiers]


async def test_computed_replies_drive_whole_candidates_through_every_route(tmp_path):
    log = tmp_path / "calls.jsonl"
    with ModelServer(log=log) as server:
        steps, states = await run_all(server.url, tmp_path / "state.db")
    assert {"sound", "defective"} <= steps.keys()
    assert {"accept", "revise_question", "reanswer", "discard"} <= steps.keys()
    assert set(states) == {CandidateState.ACCEPTED, CandidateState.DISCARDED}
    assert len(log.read_text().splitlines()) == server.count()
    assert {call.role for call in server.calls} == {"question", "answer", "critic"}
    assert repeats(log) == 0


@pytest.mark.slow
async def test_the_same_requests_get_the_same_replies(tmp_path):
    with ModelServer() as server:
        first = await run_all(server.url, tmp_path / "one.db")
        count = server.count()
        assert await run_all(server.url, tmp_path / "two.db") == first
    hashes = [call.hash for call in server.calls]
    assert sorted(hashes[:count]) == sorted(hashes[count:])


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server in a process of its own: its address and its log."""
    log = tmp_path / "calls.jsonl"
    command = [sys.executable, str(SERVER), "--log", str(log), "--key", "right"]
    with subprocess.Popen([*command, "--fault", "rejected"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", log
        server.kill()


async def test_a_process_of_its_own_logs_what_comes_twice(process):
    url, log = process
    client = OpenAICompatibleClient("m", url, "right", max_retries=0)
    for _ in range(2):
        with pytest.raises(ReplyError):
            await client.complete(request())
    await client.aclose()
    assert len(log.read_text().splitlines()) == 2
    assert repeats(log) == 1
