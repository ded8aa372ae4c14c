"""The page of clips in a real browser: it fits, is accessible, and a decision is made by keys."""

import threading
import time
from collections.abc import Iterator

import pytest

from construction.screening.verdicts import read_standings
from tests.support.review_pages import DESK, PHONE, chromium
from tests.support.review_web import CURATOR_TOKEN, database, make_site
from tests.support.screened_clips import BROKEN, COPY, OTHER, fill_clips
from tests.support.states import CLIP

pytestmark = pytest.mark.slow

PAGE = "/curator/clips"
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
    app = make_site(tmp_path / "w")
    fill_clips(app.state.site.workspace, tmp_path)
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
    """The page of clips; no console message and no hostile effect may come of it."""
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
    opened.get_by_role("link", name="Clips").click()
    opened.wait_for_url(f"**{PAGE}")
    yield opened
    assert opened.evaluate("[window.violations, window.owned ?? null]") == [[], None]
    context.close()
    assert said == []


@pytest.mark.parametrize(("width", "height"), [DESK, PHONE])
def test_it_fits_its_width_and_shows_its_pictures(page, tmp_path, width, height):
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=tmp_path / "clips.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    shown = "[...document.images].map((one) => one.complete && one.naturalWidth > 0)"
    assert page.evaluate(shown) == [True] * 3
    small = "[...document.querySelectorAll('.verdicts button')].map((one) => one.offsetHeight)"
    assert min(page.evaluate(small)) >= 24


def test_it_is_accessible(page, browser):
    from axe_playwright_python.sync_playwright import Axe

    # The scanner is a script of its own, which the pages' policy would refuse.
    state, address = page.context.storage_state(), page.url
    for scheme in ("light", "dark"):
        context = browser.new_context(storage_state=state, color_scheme=scheme, bypass_csp=True)
        scanned = context.new_page()
        scanned.goto(address)
        found = Axe().run(scanned).response["violations"]
        faults = [(one["id"], one["nodes"][0]["html"]) for one in found]
        assert faults == [], scheme
        context.close()


def test_a_decision_is_made_with_keys_alone(page, app):
    def focused() -> str:
        return page.evaluate("document.activeElement.id")

    page.locator("body").press("j")
    assert focused() == f"c-{CLIP.id}"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert focused() == f"c-{BROKEN}"
    page.keyboard.press("k")
    assert focused() == f"c-{OTHER}"
    form = page.locator(f"#c-{OTHER} form")
    form.get_by_label("Your name").focus()
    page.keyboard.type("Cu Rator jk")
    page.keyboard.press("Tab")
    page.keyboard.type("the faces are hidden")
    form.get_by_label("Your name").press("Enter")
    assert page.url.endswith(PAGE)
    form.get_by_role("button", name="Refuse").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{PAGE}?done=decided#c-{OTHER}")
    page.get_by_role("status").get_by_text("The decision is kept.").wait_for()
    standing = read_standings(database(app))[OTHER]
    assert (standing.decided_by, standing.name) == ("person", "Cu Rator jk")
    assert standing.is_refused
    assert page.locator(f"#c-{COPY}").get_by_label("Your name").input_value() == "Cu Rator jk"
    page.locator(f"#c-{OTHER}").get_by_text("refused by person").wait_for()


def test_a_decision_without_a_reason_is_not_sent(page, app):
    form = page.locator(f"#c-{OTHER} form")
    form.get_by_label("Your name").fill("Cu Rator")
    form.get_by_role("button", name="Keep").click()
    assert page.evaluate("document.activeElement.name") == "reason"
    assert read_standings(database(app))[OTHER].decided_by == "model"
