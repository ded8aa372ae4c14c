"""The evaluation report in a real browser, opened from disk as its readers would."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.report.analyses import make_study, sections
from evaluation.report.page import write_report
from tests.support.report_runs import HOSTILE, REASON, release_of, report_run, runs_of

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
WIDTHS = [(1280, 900), (390, 844)]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    release = release_of(folder / "release")
    whole = runs_of(release)
    runs = [*whole, report_run(release, "gap" * 20, 0.6, unanswered=4)]
    found = {
        kind: write_report(
            release, runs, folder / kind, draws=500, with_references=kind == "private"
        )
        for kind in ("public", "private")
    }
    analysed = sections(make_study(release, whole, draws=200))
    full = write_report(release, whole, folder / "full", analysed=analysed, draws=500)
    return found | {"full": full}


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
def page(browser, files, request) -> Iterator:
    """The page; it must end without a console message, a policy violation or a hostile effect."""
    said: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.add_init_script(
        "window.violations = [];"
        "addEventListener('securitypolicyviolation', e => window.violations.push(e.blockedURI))"
    )
    opened.goto(files[getattr(request, "param", "private")].as_uri())
    yield opened
    assert opened.evaluate("[window.violations, window.owned ?? null]") == [[], None]
    opened.close()
    assert said == []


def column(page, place: int) -> list[str]:
    cells = page.locator(f".board tbody tr > :nth-child({place})")
    return [cell.get_attribute("data-value") for cell in cells.all()]


@pytest.mark.parametrize(("title", "place"), [("Raw", 3), ("Verified", 4), ("Failed", 9)])
def test_the_leaderboard_sorts_by_numbers(page, title, place):
    header = page.locator(".board thead th").nth(place - 1)
    for direction in ("ascending", "descending", "ascending"):
        while header.get_attribute("aria-sort") != direction:
            header.get_by_role("button").click()
        found = column(page, place)
        known = [float(value) for value in found if value]
        assert known == sorted(known, reverse=direction == "descending")
        assert found[len(known) :] == [""] * (len(found) - len(known))
        assert page.locator(".board th[aria-sort]").count() == 1


def test_the_leaderboard_sorts_by_name_with_the_keyboard(page):
    page.get_by_role("button", name="Run", exact=True).focus()
    page.keyboard.press("Enter")
    found = column(page, 1)
    assert sorted(found, key=str.casefold)[1:] == [name for name in found if name[0] != "="]
    page.keyboard.press("Enter")
    assert column(page, 1) == found[::-1]


def test_views_are_chosen(page):
    profile = page.locator("section:has(#profile-1)")
    assert profile.locator("table:visible caption").inner_text().startswith("Verified")
    profile.get_by_label("Measure").select_option("raw")
    assert profile.locator("table:visible").count() == 1
    assert profile.locator("table:visible caption").inner_text().startswith("Raw")
    pairs = page.locator("section:has(#pairs-1)")
    pairs.get_by_label("Compared with").select_option("random (full)")
    shown = pairs.locator("table:visible")
    assert "Less random (full)" in shown.locator("caption").inner_text()
    assert "random (full)" not in shown.locator("tbody").inner_text()


def test_an_item_opens_to_raw_reply_judgement_and_clip(page):
    item = page.locator(".item").nth(1)
    item.locator("summary").first.click()
    item.locator(".mark").first.wait_for()
    assert item.locator(".options .right .code").all_text_contents() == ["A", "B"]
    body = item.locator(".body").inner_text()
    assert "0.0–20.0 s of none.mp4" in body
    assert "PRIVATE-CUE" in body
    assert REASON in body
    item.get_by_text("Raw reply").first.click()
    raw = item.locator("pre:visible").inner_text()
    assert HOSTILE[:60] in raw
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("page", ["public"], indirect=True)
def test_the_public_page_opens_items_without_what_is_private(page):
    for item in page.locator(".item").all()[:6]:
        item.locator("summary").first.click()
    page.locator(".response").first.wait_for()
    assert "PRIVATE" not in page.locator("body").inner_text()
    assert "answer credit" not in page.locator("#items").inner_text()
    assert page.locator(".right").count() == 0


def test_items_are_filtered(page):
    shown = page.locator(".shown")
    page.get_by_label("Search").fill("scene 11")
    assert shown.inner_text() == "1 of 48"
    page.get_by_role("button", name="Clear").click()
    page.locator(".shown", has_text="48 of 48").wait_for()
    page.locator("[name=capability]").select_option("M")
    assert shown.inner_text() == "6 of 48"
    page.locator("[name=capability]").select_option("")
    page.locator("[name=state]").select_option("failed")
    assert 4 <= int(shown.inner_text().split()[0]) < 48
    page.get_by_label("Search").fill("nowhere")
    page.get_by_text("No item fits these filters.").wait_for()


@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_the_page_fits_its_width(page, width, height):
    page.set_viewport_size({"width": width, "height": height})
    for item in page.locator(".item").all()[:3]:
        item.locator("summary").first.click()
    page.locator(".response").nth(10).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("page", ["full"], indirect=True)
@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_the_full_page_fits_its_width_and_draws(page, width, height):
    from playwright.sync_api import expect

    page.set_viewport_size({"width": width, "height": height})
    page.locator("nav").get_by_role("link", name="Analyses").click()
    names = page.locator("ul.contents a")
    assert names.count() >= 7
    names.nth(4).click()
    expect(page.locator(page.evaluate("location.hash"))).to_be_in_viewport()
    for drawing in page.locator("img.drawing").all():
        drawing.scroll_into_view_if_needed()
        assert drawing.evaluate("image => image.complete && image.naturalWidth") > 300
        assert drawing.get_attribute("alt")
    for folded in page.locator("section[aria-labelledby^=analysis] details").all():
        folded.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    tall = page.locator(".apart .scroll").evaluate_all("all => all.map(one => one.clientHeight)")
    assert max(tall) <= 0.6 * 900


def test_a_script_that_slips_into_the_page_does_not_run(browser, files):
    broken = files["public"].with_name("broken.html")
    text = files["public"].read_text(encoding="utf-8")
    broken.write_text(text.replace("</main>", f"<script>window.owned=1</script>{HOSTILE}</main>"))
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(broken.as_uri())
    page.locator("#items").wait_for()
    assert page.evaluate("window.owned ?? null") is None
    assert any("Content Security Policy" in text for text in refused)
    page.close()
