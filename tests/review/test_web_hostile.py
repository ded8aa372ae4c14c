"""Malformed, oversized and misdirected requests: refused in plain words, with nothing stored."""

import json
import logging
import re

import pytest
from starlette.testclient import TestClient

from psychemme.errors import ConfigError
from state.review_desk import ReviewDesk
from tests.support.review_web import (
    ADDRESS,
    FOOTAGE_URL,
    Browser,
    browser,
    curator,
    database,
    invited,
    make_site,
    stored_votes,
)
from tests.support.reviews import CANARY

ITEM = "1-c0/1"
WORDS_OF_LIBRARIES = ("traceback", "sqlite", "sqlalchemy", "pydantic", "starlette", "fastapi")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return make_site(tmp_path_factory.mktemp("hostile") / "w")


@pytest.fixture(scope="module")
def ada(app) -> Browser:
    return browser(app, "ada")


@pytest.fixture
def stranger(app) -> TestClient:
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


# Where a request comes from


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8765"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": ADDRESS},
        {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    ],
)
def test_other_sites_change_nothing(app, ada, stranger, headers):
    assert ada.vote(ITEM).status_code == 409
    body = {"skip_reason": "distress", "request_id": "request-1"}
    assert ada.say(f"/api/items/{ITEM}/skip", body, **headers).status_code == 403
    token = invited(app, "ben")
    assert stranger.post("/enter", data={"token": token}, headers=headers).status_code == 403
    assert stored_votes(app, ITEM) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ADDRESS, "sec-fetch-site": "same-origin"},
        {"origin": "null", "sec-fetch-site": "same-origin"},
        {"origin": ADDRESS},
    ],
)
def test_the_page_itself_is_served(app, stranger, headers):
    entered = stranger.post("/enter", data={"token": invited(app, "ben")}, headers=headers)
    assert entered.status_code == 303


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "", "127.0.0.1@evil", "["])
def test_a_host_that_is_not_ours_is_refused(ada, host):
    assert ada.get("/", headers={"host": host}).status_code == 400
    foreign = {"host": host, "origin": f"http://{host}x"}
    assert ada.post("/enter", headers=foreign).status_code == 403
    assert ada.post("/enter", headers={"host": host}, data={"token": "x"}).status_code == 400


# Bodies


BAD_BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"draft": 1}',
    b'{"draft": {}, "more": 1}',
    b'{"draft": {"a": NaN}}',
    b'{"draft": {"a": Infinity}}',
    b'{"draft": {"a": 1e999}}',
    b'{"draft": {"a": "\\u0000"}}',
    b'{"draft": {"a": "\\ud800"}}',
    b'{"draft": {"\\ud800": 1}}',
    b'{"draft": {"a": {"b": {"c": 1}}}}',
    b'{"draft": {"a": "' + b"x" * 4001 + b'"}}',
    b'{"draft": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    b'{"draft": {"a": ' + b"9" * 5000 + b"}}",
    b'{"draft": ' + json.dumps({f"k{n}": 1 for n in range(65)}).encode() + b"}",
)


@pytest.mark.parametrize("body", BAD_BODIES)
def test_a_malformed_body_is_refused_without_a_word_of_it(ada, body):
    headers = {"x-csrf-token": ada.csrf, "content-type": "application/json"}
    refused = ada.post(f"/api/items/{ITEM}/draft", content=body, headers=headers)
    assert refused.status_code in {400, 422}
    assert set(refused.json()) == {"problem", "action"}
    quiet(refused)


@pytest.mark.parametrize("version", ["0", "-1", "2", "x", "9" * 30])
@pytest.mark.parametrize("key", ["1-c0", "1-c9", "%00", "..%2f", "'; DROP TABLE votes; --"])
def test_curators_pages_of_no_item_are_not_found(app, version, key):
    there = curator(app)
    at = f"/curator/items/{key}/{version}"
    notes = {"author": "x", "note": "y", "csrf": there.csrf}
    found = [
        there.get(at),
        there.get(f"{at}/edit"),
        there.post(f"{at}/edit", data=notes),
        there.post(f"{at}/note", data=notes),
    ]
    assert {response.status_code for response in found} <= {400, 404}


def test_curators_forms_take_no_text_that_is_none(app):
    there = curator(app)
    for note in (b"\\ud800", b"\\x00"):
        parts = (
            b'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n' + there.csrf.encode(),
            b'--b\r\nContent-Disposition: form-data; name="author"\r\n\r\nx',
            b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\n' + note,
            b"--b--",
        )
        kind = "multipart/form-data; boundary=b; charset=unicode_escape"
        refused = there.post(
            f"/curator/items/{ITEM}/note",
            content=b"\r\n".join(parts),
            headers={"content-type": kind},
        )
        assert refused.status_code in {400, 422}
        quiet(refused)


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": -1},
        {"seconds": "5"},
        {"seconds": True},
        {"seconds": 10**400},
        {"watched": 1.01},
        {"watched": None},
        {"request_id": "short"},
        {"request_id": "a" * 65},
        {"request_id": "request-1\n"},
        {"answer": None},
        {"answer": 1},
        {"answer": {"A": 1}},
        {"answer": ["A"] * 27},
        {"answer": ["\x00"]},
        {"more": 1},
    ],
)
def test_an_answer_of_another_shape_is_refused(app, ada, changes):
    body = {"answer": "A", "seconds": 1, "watched": 1, "request_id": "request-1"} | changes
    refused = ada.post(
        f"/api/items/{ITEM}/answer",
        content=json.dumps(body).encode(),
        headers={"x-csrf-token": ada.csrf, "content-type": "application/json"},
    )
    assert refused.status_code == 422
    with ReviewDesk(database(app)) as desk:
        assert desk.version(("1-c0", 1)).answers == {}


def test_only_json_is_taken_for_json(ada):
    body = json.dumps({"draft": {}}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"x-csrf-token": ada.csrf, "content-type": kind}
        refused = ada.post(f"/api/items/{ITEM}/draft", content=body, headers=headers)
        assert refused.status_code in {400, 422}, kind


def test_an_oversized_body_is_refused_however_it_is_sent(app, ada, stranger):
    headers = {"x-csrf-token": ada.csrf, "content-type": "application/json"}
    whole = b'{"draft": {"a": "' + b"x" * 70_000 + b'"}}'
    pieces = (whole[n : n + 1000] for n in range(0, len(whole), 1000))
    for content in (whole, pieces):
        refused = ada.post(f"/api/items/{ITEM}/draft", content=content, headers=headers)
        assert refused.status_code == 413
        assert refused.json()["problem"]
    assert stranger.post("/enter", data={"token": "x" * 70_000}).status_code == 413
    assert stranger.post("/enter", data={"token": "x" * 200}).status_code == 422
    files = {"token": ("a.txt", b"x" * 100)}
    assert stranger.post("/enter", files=files).status_code == 422


def test_other_methods_are_refused(ada):
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "GET", "PROPFIND"):
        refused = ada.request(method, f"/api/items/{ITEM}/vote", headers={"x-csrf-token": ada.csrf})
        assert refused.status_code == 405, method
        assert "POST" in refused.headers["allow"]
    headers = {"x-csrf-token": ada.csrf, "x-http-method-override": "DELETE"}
    assert ada.post("/", headers=headers).status_code == 405
    assert ada.get("/leave").status_code == 405
    assert ada.get("/").status_code == 200


def test_no_header_is_made_of_what_was_sent(ada, app, stranger):
    token = "x%0d%0aset-cookie:%20planted=1"
    for found in (
        stranger.get(f"/enter/{token}"),
        stranger.post("/enter", data={"token": "x\r\nset-cookie: planted=1"}),
        ada.get("/items/1-c0%0d%0ax-planted:%201/1"),
        ada.get("/curator?done=%0d%0ax-planted:%201"),
    ):
        assert "planted" not in str(found.headers)


# Every response


def quiet(response) -> None:
    text = response.text.lower()
    assert not [word for word in WORDS_OF_LIBRARIES if word in text]


def test_every_response_carries_the_protective_headers(app, ada, stranger):
    ada.get("/")
    ada.get(f"/items/{ITEM}")
    ada.get("/static/base.css")
    ada.get(FOOTAGE_URL)
    ada.get(FOOTAGE_URL, headers={"range": "bytes=999999-"})
    ada.get("/nothing")
    ada.put("/")
    ada.get("/", headers={"host": "evil.example"})
    ada.post("/leave", content=b"x" * 70_000)
    ada.post("/leave", headers={"origin": "https://evil.example"})
    ada.answer(ITEM, "no such option")
    desk = curator(app)
    for path in ("", "/queue", "/disagreements", f"/items/{ITEM}", f"/items/{ITEM}/edit"):
        desk.get(f"/curator{path}")
    for found in (*ada.seen, *desk.seen, stranger.get("/"), stranger.get("/enter/x")):
        assert found.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        )
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cross-origin-opener-policy"] == "same-origin"
        assert found.headers["cross-origin-resource-policy"] == "same-origin"
        is_static = "/static/" in str(found.url)
        assert found.headers["cache-control"] == ("no-cache" if is_static else "no-store")
        assert "server" not in found.headers
        assert "access-control-allow-origin" not in found.headers
        if found.headers.get("content-type", "").startswith("text/html"):
            assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|style=", found.text)
            assert 'name="referrer"' not in found.text
            quiet(found)


def test_a_fault_of_the_server_is_told_in_plain_words(app, ada, monkeypatch, caplog):
    def fail(*_: object) -> None:
        raise RuntimeError(f"sqlalchemy {CANARY}")

    monkeypatch.setattr(app.state.site.store, "work", fail)
    caplog.set_level(logging.DEBUG)
    for found in (ada.get(f"/items/{ITEM}"), ada.answer(ITEM)):
        assert found.status_code == 500
        assert found.headers["cache-control"] == "no-store"
        quiet(found)
        assert CANARY not in found.text
    assert "RuntimeError" in caplog.text
    assert CANARY not in caplog.text


def test_what_the_server_can_mend_is_logged_in_its_words_and_not_told(
    app, ada, monkeypatch, caplog
):
    def fail(*_: object) -> None:
        raise ConfigError(f"The password {CANARY}\x1b is refused.", "Correct it.")

    monkeypatch.setattr(app.state.site.store, "work", fail)
    found = ada.get(f"/items/{ITEM}")
    assert found.status_code == 500
    assert CANARY not in found.text
    assert f"The password {CANARY}\N{REPLACEMENT CHARACTER} is refused. Correct it." in caplog.text
    assert "File " not in caplog.text


def test_no_token_is_logged(app, stranger, caplog):
    caplog.set_level(logging.DEBUG)
    token = invited(app, "ben")
    stranger.get(f"/enter/{token}")
    stranger.post("/enter", data={"token": token})
    stranger.get("/")
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    assert not [r for r in ours if token in r.getMessage()]
    assert not [r for r in ours if next(iter(stranger.cookies.values())) in r.getMessage()]
