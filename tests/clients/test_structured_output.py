import json

import pytest
from pydantic import BaseModel

from construction.agents import MOST_REPAIRS, Agent, Task
from construction.footage import frames_at
from psychemme.clients.cards import JsonMode, generic_card
from psychemme.clients.openai_compatible import OpenAICompatibleClient
from psychemme.clients.structured import response_format, strict_schema
from psychemme.episode import Episode
from psychemme.errors import EndpointError, ReplyError
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychemme.vocabulary import AgentRole, Format
from state.values import CallRecord, Material
from tests.support.model_server import FAULTS, Fault, ModelServer
from tests.support.requests import request

GOOD = '{"answer": "A", "flag": null, "rationale": "seen"}'
ALLOWED = {"type", "enum", "const", "description", "anyOf", "items", "properties", "required",
           "additionalProperties"}  # fmt: skip


def client(server: ModelServer, mode: JsonMode, **settings) -> OpenAICompatibleClient:
    card = generic_card("m").model_copy(update={"json_mode": mode})
    return OpenAICompatibleClient("m", server.url, "key", 5.0, max_retries=0, card=card, **settings)


def refuse(monkeypatch: pytest.MonkeyPatch, text: str, status: int = 400, param: object = None):
    body = json.dumps({"error": {"message": text, "code": None, "param": param}})
    monkeypatch.setitem(FAULTS, "refused_format", Fault(status, body))


def kinds(server: ModelServer) -> list[str | None]:
    return [call.body.get("response_format", {}).get("type") for call in server.calls]


def nodes(schema):
    yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        yield from nodes(inner)
    if "items" in schema:
        yield from nodes(schema["items"])


@pytest.mark.parametrize("schema", [Proposal, IndependentAnswer, Critique])
def test_a_strict_schema_is_closed_and_complete(schema):
    strict = strict_schema(schema)
    assert list(strict["properties"]) == list(schema.model_fields)
    for node in nodes(strict):
        assert node.keys() <= ALLOWED
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    assert "$ref" not in json.dumps(strict)


def test_a_schema_that_holds_itself_is_refused():
    with pytest.raises(ValueError, match="holds itself"):
        strict_schema(Tree)


class Tree(BaseModel):
    branches: tuple["Tree", ...] = ()


def test_what_each_mode_sends():
    named = response_format(IndependentAnswer, JsonMode.JSON_SCHEMA)["response_format"]
    assert named == {
        "type": "json_schema",
        "json_schema": {
            "name": "IndependentAnswer",
            "strict": True,
            "schema": strict_schema(IndependentAnswer),
        },
    }
    sent = response_format(IndependentAnswer, JsonMode.JSON_OBJECT)
    assert sent == {"response_format": {"type": "json_object"}}
    assert response_format(IndependentAnswer, JsonMode.NONE) == {}


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("response_format type must be one of text or json_object", None),
        ("Unsupported value", "response_format"),
        ("failed to parse grammar", None),
        ("Unsupported", ["response_format"]),
    ],
)
async def test_a_refused_mode_is_loosened_once_and_remembered(monkeypatch, text, param):
    refuse(monkeypatch, text, param=param)

    def fault(call):
        return "refused_format" if "json_schema" in str(call.body.get("response_format")) else None

    with ModelServer({"answer": GOOD}, fault=fault) as server:
        door = client(server, JsonMode.JSON_SCHEMA)
        for _ in range(3):
            assert (await door.complete(request())).text == GOOD
        await door.aclose()
    assert kinds(server) == ["json_schema", "json_object", "json_object", "json_object"]
    assert door.json_mode is JsonMode.JSON_OBJECT


async def test_at_last_the_reply_is_plain_text(monkeypatch):
    refuse(monkeypatch, "response_format is not supported", status=422)

    def fault(call):
        return "refused_format" if "response_format" in call.body else None

    with ModelServer({"answer": GOOD}, fault=fault) as server:
        door = client(server, JsonMode.JSON_SCHEMA)
        await door.complete(request())
        await door.complete(request())
        await door.aclose()
    assert kinds(server) == ["json_schema", "json_object", None, None]


async def test_another_refusal_changes_nothing(monkeypatch):
    refuse(monkeypatch, "x" * 400 + " response_format, said the prompt", param="messages")
    with ModelServer(fault=lambda call: "refused_format") as server:
        door = client(server, JsonMode.JSON_SCHEMA)
        with pytest.raises(ReplyError):
            await door.complete(request())
        await door.aclose()
    assert kinds(server) == ["json_schema"]


async def test_a_wrong_key_names_the_variable_it_comes_from():
    with ModelServer(key="right") as server:
        door = client(server, JsonMode.NONE, key_variable="OPENAI_API_KEY")
        with pytest.raises(EndpointError, match="Set OPENAI_API_KEY") as caught:
            await door.complete(request())
        await door.aclose()
    assert caught.value.status == 401


class Store:
    agent_role = AgentRole.ANSWER

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    async def recorded(self, *_):
        return None

    async def record(self, key, at, call):
        self.calls.append(call)


MATERIAL = Material(episode_id="e", preparation=1, episode=Episode(duration=10))
TASK = Task("key", "candidate", 0, {
    "episode": MATERIAL.episode, "norms": (), "distinctions": (), "format": Format.OPEN,
    "question": "What?", "options": (), "decision_time": None, "feedback": (),
}, MATERIAL)  # fmt: skip


@pytest.mark.parametrize("mode", JsonMode)
@pytest.mark.parametrize(
    ("fault", "code", "text", "finish"),
    [
        ("truncated", "truncated", '{"answer": "A', "length"),
        ("empty", "empty", "", "stop"),
        ("refusal", "refused", "I cannot help with that.", "content_filter"),
        ("gibberish", "invalid", "certainly! {", "stop"),
    ],
)
async def test_a_poor_reply_is_a_typed_failure_that_keeps_what_came(
    mode, fault, code, text, finish
):
    store = Store()
    with ModelServer(fault=lambda call: fault) as server:
        door = client(server, mode)
        with pytest.raises(ReplyError) as caught:
            await Agent(door, store, IndependentAnswer, frames_at(lambda _: None)).ask(TASK)
        await door.aclose()
    assert caught.value.code == code
    kept = {(call.text, call.finish_reason) for call in store.calls}
    assert kept == {(text, finish)}
    assert len(store.calls) == MOST_REPAIRS + 1


async def test_the_repair_conversation_says_what_was_wrong():
    def replies(call):
        return GOOD if len(call.body["messages"]) > 2 else '{"answer": "A", "flag": "ambiguous"}'

    store = Store()
    with ModelServer(replies) as server:
        door = client(server, JsonMode.JSON_OBJECT)
        agent = Agent(door, store, IndependentAnswer, frames_at(lambda _: None))
        assert (await agent.ask(TASK)).answer == "A"
        await door.aclose()
    said, complaint = server.calls[1].body["messages"][2:]
    assert "ambiguous" in said["content"]
    assert "give either `answer` or `flag`" in complaint["content"]
