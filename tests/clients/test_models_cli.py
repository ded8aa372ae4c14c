import json
import os
import struct
import zlib

import pytest

from psychemme.clients.cards import FILE_NAME
from psychemme.clients.check import SIDE, red_png
from tests.support.commands import read, run
from tests.support.model_server import ModelServer

YES = '{"word": "yes, red"}'


def found(workspace, name: str, server: ModelServer | str, expect: int = 0, **extra: str):
    url = server if isinstance(server, str) else server.url
    done = run(
        workspace, "models", "check", name, "--json", "--base-url", url, expect=expect, **extra
    )
    return {one["what"]: one for one in json.loads(done.stdout)["findings"]}


def test_the_list_names_the_cards_of_the_workspace_first(tmp_path):
    (tmp_path / FILE_NAME).write_text("cards: [{name: mine, price: {input: 1, output: 2}}]")
    cards = read(tmp_path, "models", "list")
    assert cards[0]["name"] == "mine"
    assert cards[0]["price"] == {"input": 1.0, "output": 2.0, "source": ""}
    assert len(cards) > 30
    table = run(tmp_path, "models", "list").stdout
    assert "mine" in table
    assert "gemini-3.1-pro-preview" in table


def test_a_check_says_what_works(tmp_path):
    with ModelServer(lambda call: YES) as server:
        findings = found(tmp_path, "gpt-4.1", server)
    assert all(one["works"] for one in findings.values())
    assert findings["json mode"]["found"] == "json_schema"
    assert findings["image"]["found"] == "taken, and seen"
    assert findings["usage"]["found"] == "100 in, 20 out"
    assert len(server.calls) == 2
    _, picture = server.calls[1].body["messages"][1]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    # No key is set: a harmless word goes along.
    assert server.calls[0].authorization == "Bearer none"


def test_an_unknown_model_says_so_and_needs_no_json_mode(tmp_path):
    with ModelServer(lambda call: YES) as server:
        done = run(tmp_path, "models", "check", "mine", PSYCHEMME_BASE_URL=server.url)
    assert "No card is known for this model" in done.stdout
    assert "response_format" not in server.calls[0].body


def test_a_refused_key_is_named(tmp_path):
    with ModelServer(key="right") as server:
        findings = found(tmp_path, "mine", server, expect=1, PSYCHEMME_API_KEY="sk-wrong-key")
    assert findings["reachable"]["works"]
    assert findings["key"]["works"] is False
    assert "PSYCHEMME_API_KEY" in findings["key"]["action"]
    assert "sk-wrong-key" not in json.dumps(findings)


def test_no_server_is_a_finding(tmp_path):
    findings = found(tmp_path, "mine", "http://127.0.0.1:9/v1", expect=1, PSYCHEMME_MAX_RETRIES="0")
    assert findings["reachable"]["works"] is False
    assert findings["key"]["works"] is None


def test_a_model_that_takes_no_picture(tmp_path):
    def fault(call):
        return "rejected" if isinstance(call.body["messages"][1]["content"], list) else None

    with ModelServer(lambda call: YES, fault=fault) as server:
        findings = found(tmp_path, "mine", server, expect=1)
    assert findings["chat"]["works"]
    assert findings["image"]["works"] is False
    assert "images: {most: 0}" in findings["image"]["action"]


def test_prose_fails_the_json_check(tmp_path):
    with ModelServer(lambda call: "yes") as server:
        findings = found(tmp_path, "mine", server, expect=1)
    assert findings["chat"]["works"]
    assert "no JSON object" in findings["json mode"]["found"]


def test_a_hosted_model_without_its_key(tmp_path):
    if "OPENAI_API_KEY" in os.environ:
        pytest.skip("a key is set")
    done = run(tmp_path, "models", "check", "gpt-4.1", expect=1)
    assert "Set OPENAI_API_KEY" in done.stderr


def test_the_signal_baseline_needs_no_endpoint(tmp_path):
    assert "needs no endpoint" in run(tmp_path, "models", "check", "signal").stdout


def test_the_picture_is_a_red_square():
    data = red_png()
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT") + 4
    rows = zlib.decompress(data[start:])
    assert (width, height) == (SIDE, SIDE)
    assert rows == (b"\0" + b"\xff\0\0" * SIDE) * SIDE
