"""The candidates page in a real browser, opened from disk as a curator would."""

import shutil
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from construction.report import write_report
from psychemme.media.cut import cut_window
from tests.construction import report_cases as cases

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), "")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    import ffmpeg
    import imageio_ffmpeg

    folder = tmp_path_factory.mktemp("report")
    clip = folder / "a 'clip' <b>.mp4"
    picture = ffmpeg.input(f"testsrc2=s=320x180:r=10:d={cases.DURATION}", f="lavfi")
    sound = ffmpeg.input(f"sine=f=300:d={cases.DURATION}", f="lavfi")
    job = ffmpeg.output(picture, sound, f"file:{clip}", pix_fmt="yuv420p")
    job.run(cmd=imageio_ffmpeg.get_ffmpeg_exe(), quiet=True)
    found = cases.dossiers(str(clip), cases.HOSTILE)
    return write_report(found, cases.coverage_of(found), [cases.run()], folder / "out", cut_window)


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("no chromium executable on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, page_file) -> Iterator:
    """The page; it must end without a console message, a policy violation or a hostile effect."""
    said: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', e => window.violations.push(e.blockedURI))"
    )
    opened.goto(page_file.as_uri())
    yield opened
    assert opened.evaluate("[window.violations, window.owned ?? null]") == [[], None]
    opened.close()
    assert said == []


def until(page, expression: str, seconds: float = 15) -> None:
    """Poll from here: the page's policy forbids the evaluation that playwright's own wait needs."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


VIDEO = "document.querySelector('video')"


def test_the_window_plays_with_space_and_pauses_with_it(page):
    page.locator(".card").first.locator(".question").click()
    page.keyboard.press("Space")
    until(page, f"{VIDEO}.readyState >= 2 && {VIDEO}.currentTime > 0.3")
    assert page.evaluate(f"Math.abs({VIDEO}.duration - {cases.DURATION}) < 0.2")
    page.keyboard.press("Space")
    until(page, f"{VIDEO}.paused")


@pytest.mark.parametrize("selector", [".cues .cue", ".timeline .bar-cue"])
def test_a_cue_seeks_to_its_window_and_loops_it(page, selector):
    cue = page.locator(".card").first.locator(selector).nth(2)
    cue.click()
    assert cue.get_attribute("aria-pressed") == "true"
    until(page, f"{VIDEO}.currentTime >= 5.2")
    # The window lasts 0.9 s: after 2.5 s it has begun again at least twice.
    times = []
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        times.append(page.evaluate(f"{VIDEO}.currentTime"))
        page.wait_for_timeout(40)
    assert min(times) >= 5.1
    assert max(times) <= 6.1 + 0.3
    assert sum(later < earlier for earlier, later in pairwise(times)) >= 1
    page.keyboard.press("Escape")
    assert cue.get_attribute("aria-pressed") == "false"
    until(page, f"{VIDEO}.currentTime > 7")


def test_the_timeline_shows_what_was_measured(page):
    card = page.locator(".card").first
    lanes = card.locator(".lane-name").all_text_contents()
    assert lanes == ["decision", "speech", "", "prosody", "visual", "transcript", "seconds"]
    assert card.locator(".pause").count() == 3
    assert card.locator(".bar-cue").count() == 4
    track = card.locator(".track").first.bounding_box()
    bar = card.locator(".bar-cue").first.bounding_box()
    assert bar["x"] - track["x"] == pytest.approx(track["width"] * 3.4 / 12, abs=2)
    assert bar["width"] == pytest.approx(track["width"] * 1.8 / 12, abs=2)
    card.locator(".flag-at").click()
    until(page, f"{VIDEO}.currentTime === 5.2")


def test_the_transcript_and_the_time_axis_seek(page):
    card = page.locator(".card").first
    card.locator(".transcript summary").click()
    card.locator(".segment").nth(3).click()
    until(page, f"{VIDEO}.currentTime >= 9 && {VIDEO}.currentTime < 11.2 && !{VIDEO}.paused")
    assert card.locator(".caption").text_content() == "Then I will make you a tea."
    page.keyboard.press("Space")
    until(page, f"{VIDEO}.paused")
    card.get_by_role("slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    until(page, f"{VIDEO}.currentTime === 1")


def test_filters_need_no_server(page):
    visible = page.locator(".card:visible")
    page.locator("[name=capability]").select_option("N")
    page.locator(".shown", has_text="1 of 4").wait_for()
    assert visible.get_attribute("data-capability") == "N"
    page.get_by_role("button", name="Clear").click()
    page.locator(".shown", has_text="4 of 4").wait_for()
    page.get_by_label("Search").fill("SLEEP matters")
    page.locator(".shown", has_text="1 of 4").wait_for()
    assert visible.get_attribute("data-format") == "open"
    page.locator("[name=state]").select_option("failed")
    page.get_by_text("No candidate fits these filters.").wait_for()
    page.locator(".heat .cell:enabled").nth(2).click()
    page.locator(".shown", has_text="1 of 4").wait_for()
    assert visible.get_attribute("data-capability") == "T"


def test_a_window_that_is_missing_says_so(page):
    # The third candidate's clip has a hostile name and does not exist.
    card = page.locator(".card").nth(2)
    assert card.locator("video").count() == 0
    assert "No video window" in card.locator(".no-window").text_content()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_page_fits_its_width(page, width, height):
    page.set_viewport_size({"width": width, "height": height})
    for card in page.locator(".card").all():
        card.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_script_that_slips_into_the_page_does_not_run(browser, page_file):
    """The second defence: even unescaped text is refused by the page's policy."""
    broken = page_file.with_name("broken.html")
    text = page_file.read_text(encoding="utf-8")
    assert "</main>" in text
    broken.write_text(
        text.replace("</main>", f"<script>window.owned=1</script>{cases.HOSTILE}</main>"),
        encoding="utf-8",
    )
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(broken.as_uri())
    until(page, "document.querySelector('.lane')")
    assert page.evaluate("window.owned ?? null") is None
    assert any("Content Security Policy" in text for text in refused)
    page.close()
