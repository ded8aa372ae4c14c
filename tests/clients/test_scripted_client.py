import pytest

from psychemme.clients.protocol import Reply
from psychemme.clients.scripted import ScriptedClient, ScriptExhausted
from psychemme.errors import PsychemmeError
from psychemme.items import IndependentAnswer
from psychemme.vocabulary import AgentRole
from tests.support.requests import request

ANSWER = IndependentAnswer(answer="A")


async def test_each_role_has_lines_of_its_own_in_order():
    script = {
        AgentRole.ANSWER: ["first", ANSWER, lambda asked: f"draw {asked.draw}"],
        AgentRole.CRITIC: [Reply("cut", "m", finish_reason="length")],
    }
    client = ScriptedClient("m", script)
    replies = [
        await client.complete(asked)
        for asked in (
            request(),
            request(role=AgentRole.CRITIC),
            request(),
            request(draw=3),
        )
    ]
    assert [reply.text for reply in replies] == ["first", "cut", ANSWER.model_dump_json(), "draw 3"]
    assert replies[1].finish_reason == "length"
    assert [asked.role for asked in client.requests] == ["answer", "critic", "answer", "answer"]
    await client.aclose()


async def test_a_script_that_runs_out_raises():
    client = ScriptedClient("m", {AgentRole.ANSWER: ["only"]})
    await client.complete(request())
    with pytest.raises(ScriptExhausted, match="reply number 2 for answer"):
        await client.complete(request())
    with pytest.raises(PsychemmeError, match="reply number 1 for critic"):
        await client.complete(request(role=AgentRole.CRITIC))


async def test_a_function_answers_every_role():
    client = ScriptedClient("m", lambda asked: asked.role.value)
    assert (await client.complete(request(role=AgentRole.CRITIC))).text == "critic"
    assert (await client.complete(request())).model == "m"
