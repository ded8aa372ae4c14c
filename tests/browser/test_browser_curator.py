"""The curator's pages in a real browser."""

import json
import threading
import time
from collections.abc import Iterator

import pytest

from state.review import ReviewStore
from state.review_desk import ReviewDesk
from tests.construction.report_cases import HOSTILE
from tests.support.review_pages import DESK, PHONE, chromium, draw_footage
from tests.support.review_web import CURATOR_TOKEN, database, make_site
from tests.support.reviews import approval, own_answer
from tests.support.states import EPISODE, EPISODE_ID

pytestmark = pytest.mark.slow

FIRST = ("1-c0", 1)
PAGE = "/curator/items/1-c0/1"
VIDEO = "document.querySelector('video')"
PATHS = ("/curator", "/curator/queue", "/curator/disagreements", PAGE, f"{PAGE}/edit")
SPY = (
    "window.violations = [];"
    "addEventListener('securitypolicyviolation', e => window.violations.push(e.blockedURI))"
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def app(tmp_path):
    """A site on which three reviewers judged an item, one of them against it."""
    app = make_site(tmp_path / "w")
    draw_footage(tmp_path / "w" / "review" / f"{EPISODE_ID}-1.mp4", EPISODE.duration)
    with ReviewStore(database(app)) as store:
        for name in ("ada", "ben", "cleo"):
            store.commit_answer(name, FIRST, own_answer("A", name))
            verdicts = approval("x").verdicts | (
                {"answer_correctness": "reject"} if name == "ben" else {}
            )
            store.cast(name, FIRST, approval(f"{name}-1", verdicts=verdicts, comment=HOSTILE))
    return app


@pytest.fixture
def address(app) -> Iterator[str]:
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def page(browser, address):
    """The curator's overview; no console message and no hostile effect may come of it."""
    said: list[str] = []
    context = browser.new_context(
        base_url=address, viewport={"width": DESK[0], "height": DESK[1]}, locale="en"
    )
    context.add_init_script(SPY)
    opened = context.new_page()
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(f"/enter/{CURATOR_TOKEN}")
    opened.get_by_role("button").click()
    opened.wait_for_url("**/curator")
    yield opened
    assert opened.evaluate("[window.violations, window.owned ?? null]") == [[], None]
    context.close()
    assert [text for text in said if "400 (Bad Request)" not in text] == []


def until(page, expression: str, seconds: float = 15) -> None:
    """Poll from here: the page's policy forbids the evaluation that playwright's own wait needs."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


@pytest.mark.parametrize(("width", "height"), [DESK, PHONE])
def test_every_page_fits_its_width(page, width, height):
    page.set_viewport_size({"width": width, "height": height})
    for path in PATHS:
        page.goto(path)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width, path


def test_every_page_is_accessible(page, browser):
    from axe_playwright_python.sync_playwright import Axe

    # The scanner is a script of its own, which the pages' policy would refuse.
    state = page.context.storage_state()
    address = page.url.removesuffix("/curator")
    for scheme in ("light", "dark"):
        context = browser.new_context(
            base_url=address, storage_state=state, color_scheme=scheme, bypass_csp=True
        )
        scanned = context.new_page()
        for path in PATHS:
            scanned.goto(path)
            found = Axe().run(scanned).response["violations"]
            faults = [(one["id"], one["nodes"][0]["html"]) for one in found]
            assert faults == [], (path, scheme)
        context.close()


def test_a_cue_loops_its_window_and_the_time_axis_seeks(page):
    page.goto(PAGE)
    cue = page.locator(".cue").first  # 1 to 3 s
    cue.click()
    assert cue.get_attribute("aria-pressed") == "true"
    until(page, f"{VIDEO}.currentTime > 1.2")
    page.evaluate(f"{VIDEO}.playbackRate = 4")
    for _ in range(20):
        assert 0.9 <= page.evaluate(f"{VIDEO}.currentTime") <= 3.6
        page.wait_for_timeout(60)
    page.keyboard.press("Escape")
    assert cue.get_attribute("aria-pressed") == "false"
    page.locator(".track.axis").click(position={"x": 1, "y": 10})
    until(page, f"{VIDEO}.currentTime < 1")
    page.locator(".bar-window.m-speech").click()
    until(page, f"{VIDEO}.currentTime >= 1 && !{VIDEO}.paused")
    said = json.dumps(EPISODE.transcript[0].text)
    until(page, f"document.querySelector('.caption').textContent === {said}")


def test_the_queue_filters_itself(page):
    page.goto("/curator/queue")
    assert page.locator("tbody tr").count() == 2
    page.get_by_label("Format").select_option("open")
    page.wait_for_url("**format=open*")
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="Clear").click()
    page.locator("tbody tr").nth(1).wait_for()


def test_an_edit_is_corrected_and_saved(page, app):
    page.goto(PAGE)
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Question").fill("What is asked for first?")
    page.get_by_label("Cue 1 ends").fill("40")
    page.get_by_label("Your name").fill("Cu Rator")
    page.get_by_label("Reason").fill("写得更清楚")
    page.get_by_role("button", name="Save as version 2").click()
    page.get_by_text("Not saved: 1 place below needs correction.").wait_for()
    assert page.get_by_label("Question").input_value() == "What is asked for first?"
    assert page.get_by_label("Cue 1 ends").get_attribute("aria-invalid") == "true"
    page.get_by_label("Cue 1 ends").fill("2.5")
    page.get_by_role("button", name="Save as version 2").click()
    page.wait_for_url("**/1-c0/2?done=edited")
    assert page.locator("ins").first.is_visible()
    with ReviewDesk(database(app)) as desk:
        assert desk.version(("1-c0", 2)).item.question == "What is asked for first?"


def test_a_disagreement_is_noted(page, app):
    page.goto("/curator/disagreements")
    page.locator(".adjudication summary").click()
    page.get_by_label("Your name").fill("Cu Rator")
    page.get_by_label("Note").fill(HOSTILE)
    page.get_by_role("button", name="Add the note").click()
    page.get_by_role("status").get_by_text("The note is added.").wait_for()
    assert page.locator(".notes .said").text_content() == HOSTILE
    with ReviewDesk(database(app)) as desk:
        assert [note.note for note in desk.version(FIRST).notes] == [HOSTILE]


def test_a_link_is_shown_once_and_revoked(page):
    page.locator(".invite [name=reviewer]").fill("zoe")
    page.locator(".invite [name=name]").fill(HOSTILE[:90])
    page.get_by_role("button", name="Invite").click()
    link = page.get_by_label("Link").input_value()
    assert "/enter/" in link
    page.get_by_role("link", name="Overview", exact=True).click()
    assert link not in page.content()
    row = page.locator(".reviewers tr", has_text="zoe")
    row.locator("summary").click()
    row.get_by_role("button", name="Revoke").click()
    row.get_by_text("revoked", exact=True).wait_for()
