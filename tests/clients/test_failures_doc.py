"""Each row of docs/failures.md is brought about, from the agent down to the HTTP response."""

from pathlib import Path

import pytest

from construction.agents import MOST_REPAIRS, Agent, Task
from construction.footage import frames_at
from psychemme.clients.failures import ReplyFault
from psychemme.clients.openai_compatible import MOST_REREADS, OpenAICompatibleClient
from psychemme.episode import Episode
from psychemme.errors import ReplyError, UserError
from psychemme.items import IndependentAnswer
from psychemme.vocabulary import AgentRole, Format
from state.values import Frame, Material
from tests.support.model_server import ModelServer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "failures.md"
RETRIES = 1
REPAIRED, REREAD, RETRIED = 1 + MOST_REPAIRS, 1 + MOST_REREADS, 1 + RETRIES
TRIES = {
    "1, then 2 repairs": REPAIRED,
    "3": REREAD,
    "1": 1,
    "1, then `max_retries`": RETRIED,
}
FAULTS = {
    "invalid": ("gibberish",),
    "empty": ("empty", "no_content"),
    "truncated": ("truncated",),
    "refused": ("content_filter", "refusal"),
    "rejected": ("rejected", "too_large"),
    "no_choices": ("no_choices", "empty_choices"),
    "error_body": ("error_body",),
    "not_json": ("html", "html_as_json"),
    "HTTP 401": ("unauthorized",),
    "HTTP 402": ("unpaid",),
    "HTTP 403": ("forbidden",),
    "HTTP 404": ("not_found", "no_model"),
    "unsupported parameter": ("no_temperature",),
    "HTTP 429": ("throttled",),
    "HTTP 500": ("broken", "unavailable"),
    "connection failed": ("drop",),
    "timed out": ("hang",),
    "missing frame": (None,),
}
INPUTS = {
    "episode": Episode(duration=10.0),
    "norms": (),
    "distinctions": (),
    "format": Format.OPEN,
    "question": "What happens?",
    "options": (),
    "decision_time": None,
    "feedback": (),
}


class Store:
    """What an agent asks of its store, without a database."""

    agent_role = AgentRole.ANSWER

    async def recorded(self, *_):
        return None

    async def record(self, *_):
        return None


def rows() -> list[tuple[str, str, str]]:
    """Return code, tries and outcome of every row."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [(code.strip("`"), tries.split(";")[0], outcome) for code, _, tries, outcome in cells]


def test_every_code_and_every_fault_has_one_row():
    listed = [code for code, _, _ in rows()]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(FAULTS)
    assert set(ReplyFault) == {code for code, _, outcome in rows() if outcome == "candidate failed"}


@pytest.mark.parametrize(
    ("code", "tries", "outcome", "fault"),
    [(*row, fault) for row in rows() for fault in FAULTS.get(row[0], ())],
)
async def test_a_row_tells_what_comes_of_a_fault(code, tries, outcome, fault, tmp_path):
    frames = (Frame(sha256="0" * 64, time=0.0),) if code == "missing frame" else ()
    material = Material(
        episode_id="episode", preparation=1, episode=INPUTS["episode"], frames=frames
    )
    task = Task("key", "candidate", 0, INPUTS, material)
    with ModelServer(fault=lambda call: fault) as server:
        client = OpenAICompatibleClient(
            "m", server.url, "key", 1.5 if fault == "hang" else 10.0, max_retries=RETRIES, pause=0.0
        )
        media = frames_at(lambda _: tmp_path / "none")
        agent = Agent(client, Store(), IndependentAnswer, media)
        with pytest.raises(ReplyError if outcome == "candidate failed" else UserError) as caught:
            await agent.ask(task)
        await client.aclose()
    if outcome == "candidate failed":
        assert caught.value.code == code
    else:
        assert outcome == "run stops"
        assert "--resume" in caught.value.action or code == "unsupported parameter"
    assert server.count() == (0 if code == "missing frame" else TRIES[tries])
