import json

import pytest

from psychemme.clients.protocol import Reply, Usage
from psychemme.clients.recorded import RecordedClient
from psychemme.clients.scripted import ScriptedClient
from psychemme.errors import ConfigError
from tests.support.requests import request

FULL = Reply("text\nwith \u2028 breaks", "m", "length", Usage(3, 4, 0.5), 1.25)


async def recorded(path, *requests):
    inner = ScriptedClient("m", lambda asked: FULL)
    client = RecordedClient(path, inner)
    for asked in requests:
        assert await client.complete(asked) == FULL
    return inner


async def test_a_recording_replays_without_a_model(tmp_path):
    path = tmp_path / "replies.jsonl"
    await recorded(path, request(), request(draw=1))
    replay = RecordedClient(path)
    assert replay.model == "m"
    assert await replay.complete(request(draw=1)) == FULL
    await replay.aclose()


async def test_only_what_is_missing_is_asked(tmp_path):
    path = tmp_path / "replies.jsonl"
    await recorded(path, request())
    inner = await recorded(path, request(), request(draw=1), request(draw=1))
    assert [asked.draw for asked in inner.requests] == [1]
    assert len(path.read_text(encoding="utf-8").split("\n")) == 3


async def test_nothing_of_the_request_is_kept(tmp_path):
    path = tmp_path / "replies.jsonl"
    await recorded(path, request())
    assert "PROMPT-TEXT" not in path.read_text(encoding="utf-8")
    assert set(json.loads(path.read_bytes())) == {
        "key", "model", "text", "finish_reason", "input_tokens", "output_tokens", "cost", "latency",
    }  # fmt: skip


async def test_a_missing_key_is_named(tmp_path):
    path = tmp_path / "replies.jsonl"
    await recorded(path, request())
    asked = request(user="another PROMPT-TEXT")
    with pytest.raises(ConfigError, match=asked.key("m")) as caught:
        await RecordedClient(path).complete(asked)
    assert "Record it" in caught.value.action
    assert "PROMPT-TEXT" not in str(caught.value)


async def test_a_line_torn_by_a_kill_is_recorded_again(tmp_path):
    path = tmp_path / "replies.jsonl"
    await recorded(path, request(), request(draw=1))
    whole = path.read_bytes()
    torn = whole[:-20]
    path.write_bytes(torn)
    await RecordedClient(path).complete(request())
    assert path.read_bytes() == torn
    inner = await recorded(path, request(), request(draw=1))
    assert len(inner.requests) == 1
    assert path.read_bytes() == whole


async def test_files_that_are_no_recording_are_refused(tmp_path):
    path = tmp_path / "replies.jsonl"
    with pytest.raises(ConfigError, match="no model"):
        RecordedClient(path)
    await recorded(path, request())
    with pytest.raises(ConfigError, match="m, other"):
        RecordedClient(path, ScriptedClient("other", {}))
    path.write_text('{"key": 1}\n' + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1"):
        RecordedClient(path)
