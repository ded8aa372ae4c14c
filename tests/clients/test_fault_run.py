"""Whole runs against a server that fails in every way it can: they end, and nothing is lost."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.generate import prepare
from construction.coverage import Tally
from construction.runs import generation
from construction.workspace import open_workspace
from psychemme.config import load_settings
from psychemme.errors import EndpointError
from psychemme.vocabulary import CandidateState
from state.runs import RunStore
from tests.support.model_server import Call, ModelServer, computed

COUNT, SLOTS = 200, 16
KEY = "sk-test-0123456789"
ABSORBED = (
    "no_choices", "empty_choices", "html", "html_as_json", "error_body", "throttled",
    "throttled_bare", "broken", "unavailable", "cut", "drop", "truncated", "gibberish", "empty",
    "no_content", "refusal", "content_filter", "wrong_schema", "hang", "drip",
)  # fmt: skip
"""Faults that a second try or a repair gets over."""
FATAL = {"rejected": "rejected", "too_large": "rejected", "filtered_request": "refused"}
"""Faults of one request, and the code its candidate fails with."""
SLOW = ("hang", "drip")


class Faults:
    """Every third request meets the next fault when it first comes, and none when it comes again.

    Repairs are spared, since two faults in a row may rightly fail a candidate; and faults that
    take a timeout each are rarer.
    """

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self._seen: set[str] = set()

    def __call__(self, call: Call) -> str | None:
        is_repair = len(call.body["messages"]) > 2
        if is_repair or call.hash in self._seen or call.number % 3:
            return None
        self._seen.add(call.hash)
        names = [*ABSORBED, *FATAL]
        name = names[len(self._seen) % len(names)]
        if name in SLOW and self.met[name] >= 3:
            return None
        self.met[name] += 1
        return name


def chatty(call: Call) -> str:
    """Wrap the valid reply as models do: in prose, in a fence, after thinking."""
    reply = computed(call)
    return (
        reply,
        f"Sure, here it is:\n```json\n{reply}\n```\nHope that helps!",
        f'<think>Maybe {{"answer": "A"}}? No.</think>\n{reply}',
        json.dumps(json.loads(reply), indent=4),
    )[call.number % 4]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSYCHEMME_API_KEY", KEY)
    monkeypatch.setenv("PSYCHEMME_TIMEOUT", "2")
    prepare(tmp_path / "workspace", COUNT, SLOTS)
    return tmp_path / "workspace"


async def generate(
    workspace: Path,
    server: ModelServer,
    *,
    resume: bool = False,
    stop: Callable[[Tally], bool] = lambda _: False,
) -> Tally:
    """Run all candidates; `stop` asks to stop after a tally."""
    flags = {
        "model": "served",
        "base_url": server.url,
        "concurrency": SLOTS,
        "plan": workspace / "plan.yaml",
    }
    opened, settings = open_workspace(workspace), load_settings(workspace, flags)
    asked = asyncio.Event()
    async with generation(opened, settings, COUNT, resume, False, asked) as job:
        job.report = lambda tally: asked.set() if stop(tally) else None
        return await job.finish()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_mixed_faults_reach_the_end_with_the_outcomes_that_the_docs_state(workspace: Path):
    faults = Faults()
    with ModelServer(chatty, fault=faults) as server:
        tally = await generate(workspace, server)
    assert set(faults.met) == {*ABSORBED, *FATAL}
    assert tally.started == COUNT
    assert tally.pending == 0
    assert tally.accepted
    assert tally.discarded
    with RunStore(open_workspace(workspace).database) as runs:
        outcomes = runs.outcomes(1)
        ledger = runs.ledger(1)
    failed = Counter(o.reason for o in outcomes if o.state is CandidateState.FAILED)
    expected: Counter[str] = Counter()
    for name, code in FATAL.items():
        expected[code] += faults.met[name]
    assert failed == expected
    assert Counter(o.state for o in outcomes) == {
        CandidateState.ACCEPTED: tally.accepted,
        CandidateState.DISCARDED: tally.discarded,
        CandidateState.FAILED: tally.failed,
    }
    # Every reply that was served is in the ledger once.
    assert len({(c.candidate_key, c.round, c.role, c.attempt) for c in ledger}) == len(ledger)
    assert all(c.input_tokens > 0 for c in ledger)


async def test_a_refused_key_stops_at_once_with_the_next_action_and_resumes(workspace: Path):
    def refuse(call: Call) -> str | None:
        return "unauthorized" if call.number >= 30 else None

    with ModelServer(fault=refuse) as server:
        with pytest.raises(EndpointError, match="PSYCHEMME_API_KEY") as refused:
            await generate(workspace, server)
        assert server.count() <= 30 + SLOTS
    assert "--resume" in refused.value.action
    assert KEY not in str(refused.value)
    with RunStore(open_workspace(workspace).database) as runs:
        states = Counter(o.state for o in runs.outcomes(1))
        answered = len(runs.ledger(1))
    assert states[CandidateState.FAILED] == 0
    assert states[CandidateState.PENDING] > 0
    assert answered == 30
