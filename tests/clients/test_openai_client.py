import asyncio
import base64
import json
import logging
import traceback
from pathlib import Path

import httpx2
import pytest

from psychemme.clients.failures import ReplyFault
from psychemme.clients.openai_compatible import MOST_REREADS, OpenAICompatibleClient
from psychemme.clients.protocol import MediaPart, Usage
from psychemme.errors import ConfigError, EndpointError, ReplyError, WorkspaceError
from psychemme.items import IndependentAnswer
from tests.support.model_server import ModelServer
from tests.support.requests import request

KEY = "sk-very-secret"
GOOD = '{"answer": "A", "rationale": "seen"}'


def client(url: str, **settings) -> OpenAICompatibleClient:
    settings = {"timeout": 5.0, "max_retries": 1, "pause": 0.01} | settings
    return OpenAICompatibleClient("served-model", url, KEY, **settings)


async def ask(server: ModelServer, asked=None, **settings):
    door = client(server.url, **settings)
    try:
        return await door.complete(asked or request())
    finally:
        await door.aclose()


@pytest.fixture
def frame(tmp_path: Path) -> MediaPart:
    path = tmp_path / "frame.jpg"
    path.write_bytes(b"\xff\xd8 jpeg")
    return MediaPart("image", "image/jpeg", "0" * 64, path, 3.0)


def faulty(*names: str | None, then: str | None = None) -> ModelServer:
    """A server whose first calls meet `names`, and later ones `then`."""
    replies = {"answer": GOOD, "unknown": GOOD}
    return ModelServer(replies, fault=lambda c: names[c.number] if c.number < len(names) else then)


async def test_a_reply_comes_back_verbatim_with_its_usage():
    with faulty() as server:
        reply = await ask(server)
    assert reply.text == GOOD
    assert reply.model == "served-model"
    assert reply.finish_reason == "stop"
    assert reply.usage == Usage(input_tokens=100, output_tokens=20, cost=None)
    assert 0 < reply.latency < 5


async def test_what_is_sent(frame):
    late = MediaPart("image", "image/png", "1" * 64, frame.path, 4.256)
    exchange = (("{bad", "no JSON object"), (" ", "nothing"))
    with faulty() as server:
        await ask(server, request(media=(frame, late), exchange=exchange))
    body = server.calls[0].body
    assert {k: body[k] for k in body if k != "messages"} == {
        "model": "served-model",
        "temperature": 0.5,
        "max_tokens": 300,
        "seed": 7,
    }
    system, user, *repair = body["messages"]
    instruction, _, schema = system["content"].rpartition("\n")
    assert instruction == "You answer.\n\nReply with one JSON object of this schema:"
    assert json.loads(schema) == IndependentAnswer.model_json_schema()
    url = f"data:image/jpeg;base64,{base64.b64encode(frame.path.read_bytes()).decode()}"
    assert user["content"] == [
        {"type": "text", "text": request().user},
        {"type": "text", "text": "frame at 3.00 s"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "frame at 4.26 s"},
        {"type": "image_url", "image_url": {"url": url.replace("jpeg", "png", 1)}},
    ]
    assert [message["role"] for message in repair] == ["assistant", "user"] * 2
    assert repair[0]["content"] == "{bad"
    assert repair[1]["content"].startswith("no JSON object\nReply again with the JSON object")
    assert repair[2]["content"].strip()


async def test_the_same_request_is_the_same_bytes_and_needs_no_seed():
    asked = request(parameters=type(request().parameters)(seed=None))
    with faulty() as server:
        await ask(server, asked)
        await ask(server, asked)
    assert server.calls[0].hash == server.calls[1].hash
    assert "seed" not in server.calls[0].body


async def test_no_environment_of_the_sdk_is_sent(monkeypatch):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://elsewhere")
    seen = []

    def record(sent: httpx2.Request) -> httpx2.Response:
        seen.append(sent)
        return httpx2.Response(200, json={"choices": [{"message": {"content": GOOD}}]})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(record))
    await client("http://here/v1", http_client=http).complete(request())
    assert str(seen[0].url) == "http://here/v1/chat/completions"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "elsewhere" not in str(seen[0].headers)


@pytest.mark.parametrize(
    ("fault", "finish_reason", "text"),
    [
        ("no_content", "stop", ""),
        ("empty", "stop", ""),
        ("truncated", "length", '{"answer": "A'),
        ("content_filter", "content_filter", ""),
        ("refusal", "content_filter", "I cannot help with that."),
    ],
)
async def test_a_poor_completion_is_still_a_reply(fault, finish_reason, text):
    with faulty(then=fault) as server:
        reply = await ask(server)
    assert (reply.finish_reason, reply.text) == (finish_reason, text)
    assert server.count() == 1


async def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": '{"answer": '}, {"type": "text", "text": '"A"}'}, {"x": 1}]
    body = {"choices": [{"message": {"content": parts}, "finish_reason": None}], "usage": None}
    http = _mock(httpx2.Response(200, json=body))
    reply = await client("http://here/v1", http_client=http).complete(request())
    assert (reply.text, reply.finish_reason) == ('{"answer": "A"}', "stop")
    assert reply.usage == Usage()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("no_choices", ReplyFault.NO_CHOICES),
        ("empty_choices", ReplyFault.NO_CHOICES),
        ("error_body", ReplyFault.ERROR_BODY),
        ("html", ReplyFault.NOT_JSON),
        ("html_as_json", ReplyFault.NOT_JSON),
    ],
)
async def test_a_success_that_is_none_is_asked_again_then_fails(fault, code):
    with faulty(fault) as server:
        assert (await ask(server)).text == GOOD
    with faulty(then=fault) as server, pytest.raises(ReplyError) as caught:
        await ask(server)
    assert caught.value.code == code
    assert server.count() == MOST_REREADS + 1


@pytest.mark.parametrize(
    "body",
    ["", "[]", '"text"', "null", "[" * 100_000, '{"choices": [{}]}', '{"choices": 3}', "\ufeff{}",
     '{"choices": [{"message": {"content": "\\ud800"}}]}'],
)  # fmt: skip
async def test_any_body_with_status_200_is_a_reply_error(body):
    door = client("http://here/v1", http_client=_mock(httpx2.Response(200, text=body)), pause=0)
    with pytest.raises(ReplyError):
        await door.complete(request())


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("rejected", ReplyFault.REJECTED),
        ("too_large", ReplyFault.REJECTED),
        ("filtered_request", ReplyFault.REFUSED),
    ],
)
async def test_one_refused_request_fails_alone(fault, code):
    with faulty(fault) as server:
        with pytest.raises(ReplyError) as caught:
            await ask(server)
        assert (await ask(server)).text == GOOD
    assert caught.value.code == code
    assert server.count() == 2


@pytest.mark.parametrize(
    ("fault", "problem", "action"),
    [
        ("unauthorized", "API key", "PSYCHEMME_API_KEY"),
        ("unpaid", "payment", "account"),
        ("forbidden", "served-model", "permission"),
        ("not_found", "served-model", "PSYCHEMME_BASE_URL"),
        ("no_model", "served-model", "PSYCHEMME_BASE_URL"),
        ("no_temperature", "temperature", "model"),
    ],
)
async def test_what_no_request_survives_stops_at_once(fault, problem, action):
    with faulty(then=fault) as server, pytest.raises(EndpointError) as caught:
        await ask(server, max_retries=6)
    assert server.count() == 1
    assert problem in caught.value.problem
    assert action in caught.value.action
    _assert_nothing_leaks(caught.value)


async def test_a_wrong_path_is_named():
    with faulty() as server, pytest.raises(EndpointError, match="usually ends in /v1"):
        await client(server.url.removesuffix("/v1")).complete(request())


@pytest.mark.parametrize("fault", ["throttled", "broken", "unavailable", "drop"])
async def test_a_passing_fault_is_waited_out(fault):
    with faulty(fault, fault) as server:
        assert (await ask(server, max_retries=2)).text == GOOD
    assert server.count() == 3
    assert len({call.hash for call in server.calls}) == 1


@pytest.mark.parametrize(
    ("fault", "why"),
    [("throttled", "HTTP 429"), ("broken", "HTTP 500"), ("drop", "connection failed")],
)
async def test_a_lasting_fault_stops_and_says_how_to_go_on(fault, why):
    with faulty(then=fault) as server, pytest.raises(EndpointError) as caught:
        await ask(server, max_retries=2)
    assert server.count() == 3
    assert f"did not answer after 3 tries ({why})" in caught.value.problem
    assert "--resume" in caught.value.action
    _assert_nothing_leaks(caught.value)


async def test_a_server_that_hangs_times_out():
    with faulty(then="hang") as server, pytest.raises(EndpointError) as caught:
        await ask(server, timeout=0.2, max_retries=0)
    assert "did not answer (timed out)" in caught.value.problem
    assert "PSYCHEMME_TIMEOUT" in caught.value.action


async def test_no_server_at_all():
    with faulty() as server:
        url = server.url
    with pytest.raises(EndpointError, match=r"connection failed") as caught:
        await client(url, max_retries=0).complete(request())
    assert url in caught.value.problem


async def test_a_newer_name_of_the_token_limit_is_learnt_once():
    def fault(call):
        return "no_max_tokens" if "max_tokens" in call.body else None

    with ModelServer({"answer": GOOD}, fault=fault) as server:
        door = client(server.url)
        for _ in range(2):
            assert (await door.complete(request())).text == GOOD
        await door.aclose()
    limits = [call.body.get("max_completion_tokens") for call in server.calls]
    assert limits == [None, 300, 300]


async def test_a_lost_frame_says_how_to_get_it_back(frame):
    frame.path.unlink()
    with faulty() as server, pytest.raises(WorkspaceError, match="psychemme prepare"):
        await ask(server, request(media=(frame,)))
    assert server.count() == 0


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://here", "http://", KEY])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="PSYCHEMME_BASE_URL") as caught:
        client(url)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "ключ"])
def test_a_key_no_header_can_carry_is_refused(key):
    with pytest.raises(ConfigError, match="PSYCHEMME_API_KEY") as caught:
        OpenAICompatibleClient("m", "http://here/v1", key)
    assert not key or key not in str(caught.value)


async def test_credentials_in_the_address_are_not_shown():
    door = client("http://me:hush@here/v1?token=hush", http_client=_mock(httpx2.Response(401)))
    with pytest.raises(EndpointError) as caught:
        await door.complete(request())
    assert "hush" not in str(caught.value)
    assert "http://here/v1" in str(caught.value)


async def test_logs_hold_neither_key_nor_prompt(caplog):
    caplog.set_level(logging.DEBUG)
    with faulty("throttled") as server:
        await ask(server)
    assert KEY not in caplog.text
    assert "PROMPT-TEXT" not in caplog.text


async def test_calls_run_side_by_side():
    with ModelServer({"answer": GOOD}, delay=0.1) as server:
        door = client(server.url)
        await asyncio.gather(*(door.complete(request()) for _ in range(8)))
        await door.aclose()
    assert server.most_at_once > 3


def _mock(response: httpx2.Response) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: response))


def _assert_nothing_leaks(error: EndpointError) -> None:
    shown = "".join(traceback.format_exception(error, chain=True)) + repr(error)
    for secret in (KEY, "SERVER-TEXT", "PROMPT-TEXT"):
        assert secret not in shown
    assert error.__context__ is None
    assert error.__cause__ is None
