"""Who is let in, for how long, and from where a change may come."""

import re

import pytest
from starlette.testclient import TestClient

from construction.review import invites
from construction.review.invites import CURATOR_SESSION, DAY
from construction.review.web.ratelimit import Failures
from psychemme.canonical import now
from psychemme.pages.tokens import hash_token
from state.review_desk import ReviewDesk
from tests.support.review_web import (
    ADDRESS,
    CURATOR_TOKEN,
    Browser,
    browser,
    curator,
    database,
    invited,
    make_site,
    stored_votes,
)

ITEM = "1-c0/1"
CURATOR_ACTS = ("close", "discuss", "assign", "invite", "renew", "revoke")


@pytest.fixture
def app(tmp_path):
    return make_site(tmp_path / "w")


@pytest.fixture
def ada(app) -> Browser:
    return browser(app, "ada")


@pytest.fixture
def stranger(app) -> TestClient:
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


# Entering and leaving


def test_looking_at_a_link_signs_nobody_in(app, stranger):
    token = invited(app, "ada")
    seen = stranger.get(f"/enter/{token}")
    assert seen.status_code == 200
    assert token in seen.text
    assert not stranger.cookies
    assert stranger.post("/enter", data={"token": token}).status_code == 303


def test_a_session_cookie_is_for_this_site_alone(app, stranger):
    entered = stranger.post("/enter", data={"token": invited(app, "ada")})
    name, *flags = entered.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=lax", "path=/"} <= set(flags)
    assert not {flag for flag in flags if flag == "secure" or flag.startswith("domain")}
    assert name.startswith("psychemme=")


def test_behind_tls_the_cookie_travels_over_nothing_else(tmp_path):
    app = make_site(tmp_path / "w", is_secure=True, hosts=("review.example.org",))
    address = "https://review.example.org"
    there = Browser(app, invited(app, "ada"), address)
    assert there.get("/").status_code == 200
    over_tls = there.seen[0].headers["set-cookie"].lower()
    assert over_tls.startswith("__host-psychemme=")
    assert "; secure" in over_tls
    draft = (f"/api/items/{ITEM}/draft", {"draft": {}})
    assert there.say(*draft, origin=address).status_code == 200
    assert there.say(*draft, origin="http://review.example.org").status_code == 403


def test_links_made_behind_tls_lead_there(tmp_path):
    app = make_site(
        tmp_path / "w",
        is_secure=True,
        hosts=("review.example.org",),
    )
    address = "https://review.example.org"
    there = Browser(app, CURATOR_TOKEN, address)
    fields = {"reviewer": "zoe", "name": "Zoe", "csrf": there.csrf}
    (made,) = re.findall(
        f"{address}/enter/([\\w-]+)", there.post("/curator/invite", data=fields).text
    )
    assert Browser(app, made, address).get("/").status_code == 200


@pytest.mark.parametrize("state", ["unknown", "expired", "revoked", "renewed", "empty"])
def test_a_link_that_is_not_valid_is_refused_in_the_same_words(app, stranger, state, monkeypatch):
    token = invited(app, "ada")
    with ReviewDesk(database(app)) as desk:
        if state == "expired":
            desk.renew("ada", hash_token(token), now() - 1)
        elif state == "revoked":
            desk.revoke("ada")
        elif state == "renewed":
            invites.renew(desk, "ada")
    given = {"unknown": "x" * 43, "empty": " "}.get(state, token)
    refused = stranger.post("/enter", data={"token": given})
    assert refused.status_code == 400
    assert "This link is not valid, or no longer." in refused.text
    assert "set-cookie" not in refused.headers


def test_a_session_ends_with_its_link_its_time_or_its_owner(app):
    for end in ("revoked", "expired", "left"):
        there = browser(app, "ada")
        assert there.get("/").status_code == 200
        with ReviewDesk(database(app)) as desk:
            if end == "revoked":
                desk.revoke("ada")
            elif end == "expired":
                desk.renew("ada", "other", now() + DAY)
        cookie = dict(there.cookies)
        if end == "left":
            assert there.post("/leave", data={"csrf": there.csrf}).status_code == 200
            assert not there.cookies
        there.cookies.update(cookie)
        assert there.get("/").status_code == 401
        assert there.say(f"/api/items/{ITEM}/draft", {"draft": {}}).status_code == 401


def test_a_session_has_an_end_of_its_own(app, monkeypatch):
    there, desk_browser = browser(app, "ada"), curator(app)
    monkeypatch.setattr("state.review_desk.now", lambda: now() + CURATOR_SESSION + 1)
    assert desk_browser.get("/curator").status_code == 401
    assert there.get("/").status_code == 200
    monkeypatch.setattr("state.review_desk.now", lambda: now() + 15 * DAY)
    assert there.get("/").status_code == 401


def test_entering_again_makes_a_new_session_and_ends_the_one_before(app):
    there = browser(app, "ada")
    (before,) = there.cookies.values()
    token = invited(app, "ben")
    assert there.post("/enter", data={"token": token}).status_code == 303
    (after,) = there.cookies.values()
    assert before != after
    with ReviewDesk(database(app)) as desk:
        assert desk.session(hash_token(before)) is None
        assert desk.session(hash_token(after)).reviewer_id == "ben"


def test_a_planted_session_is_never_adopted(app, stranger):
    stranger.cookies.set("psychemme", "planted")
    assert stranger.get("/").status_code == 401
    token = invited(app, "ada")
    entered = stranger.post("/enter", data={"token": token})
    assert "planted" not in entered.headers["set-cookie"]
    with ReviewDesk(database(app)) as desk:
        assert desk.session(hash_token("planted")) is None


def test_no_token_is_stored(app):
    token = invited(app, "ada")
    there = Browser(app, token)
    held = b"".join(f.read_bytes() for f in database(app).parent.glob("state.db*"))
    for secret in (token, *there.cookies.values(), there.csrf, CURATOR_TOKEN):
        assert secret.encode() not in held


def test_too_many_refused_links_close_the_door_for_a_while(app, stranger):
    refused = [stranger.post("/enter", data={"token": f"t{n}"}).status_code for n in range(11)]
    assert refused == [400] * 10 + [429]
    wait = stranger.post("/enter", data={"token": invited(app, "ada")})
    assert wait.status_code == 429
    assert 0 < int(wait.headers["retry-after"]) <= 300
    elsewhere = TestClient(app, base_url=ADDRESS, client=("10.0.0.9", 1), follow_redirects=False)
    assert elsewhere.post("/enter", data={"token": invited(app, "ada")}).status_code == 303


def test_the_door_opens_again_and_memory_stays_bounded():
    at = [0.0]
    failures = Failures(most=2, window=60, clock=lambda: at[0])
    for _ in range(3):
        failures.note("2001:db8::1")
        at[0] += 10
    assert failures.wait("2001:db8::ffff") == 40  # the same subscriber
    assert failures.wait("2001:db8:1::1") == 0
    at[0] = 70.0
    assert failures.wait("2001:db8::1") == 0
    failures.note("2001:db8::1")
    failures.note("2001:db8::1")
    assert failures.wait("2001:db8::1") == 60
    for number in range(10_000):
        failures.note(f"10.{number >> 8}.{number & 255}.1")
    assert failures.wait("2001:db8::1") == 0  # the oldest are forgotten


# Where a request comes from


def every_change(app) -> list[str]:
    paths = app.openapi()["paths"]
    found = [path for path, acts in paths.items() if "post" in acts]
    return [p.replace("{key}", "1-c0").replace("{version}", "1") for p in found]


def test_every_change_needs_the_sessions_own_token(app, ada):
    paths = every_change(app)
    assert len(paths) == 5
    other = browser(app, "ben").csrf
    body = {"request_id": "request-1"}
    for path in [*paths, "/leave"]:
        for headers in ({}, {"x-csrf-token": ""}, {"x-csrf-token": other}, {"x-csrf-token": "ü"}):
            coded = {name: value.encode() for name, value in headers.items()}
            refused = ada.post(path, json=body, headers=coded)
            assert refused.status_code in {403, 422}, path
    assert stored_votes(app, ITEM) == {}
    assert ada.get("/").status_code == 200
    there = curator(app)
    for act in CURATOR_ACTS:
        assert there.post(f"/curator/{act}", data={"csrf": other}).status_code == 403
        assert there.post(f"/curator/{act}").status_code == 403
