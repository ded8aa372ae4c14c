"""Every reviewer has a world of one's own, and no text of it becomes anything but text."""

from html import unescape
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from construction.review import invites
from psychemme.vocabulary import Format
from state.review_desk import ReviewDesk
from state.review_values import AssignmentRecord
from tests.support.review_web import (
    ADDRESS,
    FOOTAGE,
    FOOTAGE_URL,
    Browser,
    browser,
    curator,
    database,
    make_site,
    stored_votes,
)
from tests.support.reviews import CANARY, REVIEWERS, item_version
from tests.support.states import EPISODE_ID

ITEM = "1-c0/1"
CURATOR_ACTS = ("close", "discuss", "assign", "invite", "renew", "revoke")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return make_site(tmp_path_factory.mktemp("isolation") / "w")


@pytest.fixture
def ada(app) -> Browser:
    return browser(app, "ada")


@pytest.fixture
def stranger(app) -> TestClient:
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


# Whose is it


def test_absent_and_foreign_items_are_told_alike(tmp_path):
    app = make_site(tmp_path / "w", names=("ada",))
    with ReviewDesk(database(app)) as desk:
        token = invites.invite(desk, "eve", "Eve")
    ada, eve = browser(app, "ada"), Browser(app, token)
    ada.answer(ITEM)
    ada.say(f"/api/items/{ITEM}/draft", {"draft": {"comment": CANARY}})
    for item in (ITEM, "1-c9/1", "1-c0/2", "1-c0/0", "1-c0/99999999999999999999", "1-c0/x"):
        for path, body in (
            ("draft", {"draft": {}}),
            ("answer", {"answer": "A", "seconds": 1, "watched": 1, "request_id": "request-1"}),
            ("skip", {"skip_reason": "distress", "request_id": "request-1"}),
            ("withdraw", {"request_id": "request-1"}),
        ):
            refused = eve.say(f"/api/items/{item}/{path}", body)
            assert refused.status_code == 404
        assert eve.vote(item).status_code == 404
        assert eve.get(f"/items/{item}").status_code == 404
    for url in (FOOTAGE_URL, f"/media/{EPISODE_ID}/2.mp4", "/media/0123456789abcdee-0-1/1.mp4"):
        assert eve.get(url).status_code == 404
    assert ada.get(FOOTAGE_URL).status_code == 200
    assert len({r.text for r in eve.seen if r.status_code == 404 and ITEM in str(r.url)}) == len(
        {r.text for r in eve.seen if r.status_code == 404 and "1-c9/1" in str(r.url)}
    )
    assert not any(CANARY in r.text for r in eve.seen)


def test_roles_are_kept_apart(ada, app, stranger):
    there = curator(app)
    assert there.get("/").headers["location"] == "/curator"
    assert there.get(f"/items/{ITEM}").status_code == 403
    assert there.get("/api/queue").status_code == 403
    assert there.answer(ITEM).status_code == 403
    assert there.get(FOOTAGE_URL).content == FOOTAGE
    for path in ("", "/queue", "/disagreements", f"/items/{ITEM}", f"/items/{ITEM}/edit"):
        assert ada.get(f"/curator{path}").status_code == 403
        assert stranger.get(f"/curator{path}").status_code == 401
    for act in CURATOR_ACTS:
        assert ada.post(f"/curator/{act}", data={"csrf": ada.csrf}).status_code == 403
    for path in ("/", f"/items/{ITEM}", "/api/queue", FOOTAGE_URL):
        assert stranger.get(path).status_code == 401


def test_drafts_are_each_reviewers_own(app, ada):
    ada.say(f"/api/items/{ITEM}/draft", {"draft": {"comment": CANARY}})
    ben = browser(app, "ben")
    assert CANARY in unescape(ada.get(f"/items/{ITEM}").text)
    assert CANARY not in unescape(ben.get(f"/items/{ITEM}").text)


# Paths, markup, statements


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/media/..%2f..%2fstate.db/1.mp4",
        "/media/%2e%2e%2fstate/1.mp4",
        f"/media/{EPISODE_ID}%00/1.mp4",
        f"/media/{EPISODE_ID}/../../shuffle.mp4",
        f"/media/{EPISODE_ID}/-1.mp4",
        f"/media/{EPISODE_ID}/1.mp4/..",
        f"/media/{EPISODE_ID}/1",
        "/items/..%2f..%2fetc/1",
        "/docs",
        "/openapi.json",
        "/redoc",
        "/state.db",
        "/.git/config",
    ],
)
def test_no_path_leads_out(ada, path):
    found = ada.get(path)
    assert found.status_code == 404
    assert set(found.headers).isdisjoint({"location", "set-cookie"})


INJECTIONS = (
    "1-c0' OR '1'='1",
    '1-c0"; DROP TABLE votes; --',
    "1-c0' UNION SELECT answer_json FROM blind_answers --",
    "%27%20OR%201=1",
    "1-c0\\",
)


def test_statements_in_values_stay_values(app):
    for name, text in zip(REVIEWERS, INJECTIONS, strict=True):
        there = browser(app, name)
        assert there.get(f"/items/{text}/1").status_code == 404
        assert there.answer("1-c1/1", text).status_code == 200
        assert there.vote("1-c1/1", comment=text).status_code == 200
        (vote,) = stored_votes(app, "1-c1/1")[name]
        assert vote.comment == text
        assert there.post("/enter", data={"token": text}).status_code == 400


def test_hostile_text_comes_back_as_text(tmp_path):
    app = make_site(tmp_path / "w", (Format.OPEN, Format.SINGLE))
    with ReviewDesk(database(app)) as desk:
        token = invites.invite(desk, "eve", HOSTILE[:90])
        for number, form in enumerate((Format.OPEN, Format.SINGLE)):
            plain = item_version(f"1-c{number}", form, 2)
            hostile = plain.model_copy(
                update={
                    "question": HOSTILE,
                    "options": tuple(
                        option.model_copy(update={"text": HOSTILE}) for option in plain.options
                    ),
                }
            )
            desk.add_version(hostile, HOSTILE, HOSTILE)
            desk.assign(_assigned(f"1-c{number}", number))
    eve = Browser(app, token)
    draft = {"answer": HOSTILE, "comment": HOSTILE}
    assert eve.say("/api/items/1-c0/2/draft", {"draft": draft}).status_code == 200
    pages = [eve.get("/"), eve.get("/items/1-c0/2"), eve.get("/items/1-c1/2")]
    assert eve.answer("1-c0/2", HOSTILE).status_code == 200
    assert eve.vote("1-c0/2", comment=HOSTILE).status_code == 200
    pages += [eve.get("/items/1-c0/2"), curator(app).get("/curator")]
    for page in pages:
        tags = tags_of(page.text)
        assert [
            attributes for tag, attributes in tags if tag == "script" and "src" not in attributes
        ] == []
        assert [
            tag for tag, attributes in tags if any(n.startswith("on") for n in attributes)
        ] == []
        assert "img" not in {tag for tag, _ in tags}
    assert HOSTILE in unescape(pages[1].text)


def tags_of(page: str) -> list[tuple[str, dict]]:
    found: list[tuple[str, dict]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(page)
    return found


def _assigned(key: str, position: int):
    return [AssignmentRecord(candidate_key=key, version=2, reviewer_id="eve", position=position)]
