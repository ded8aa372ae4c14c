"""The pages of people studies in a real browser, against a server that can be killed."""

import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from evaluation.people.rows import Kind
from evaluation.people.store import PeopleStore
from evaluation.people.study import read_study
from psychemme.vocabulary import Format
from tests.support.people import study_at, task_of
from tests.support.report_runs import HOSTILE, release_of
from tests.support.review_pages import DESK, PHONE, chromium, draw_footage

pytestmark = pytest.mark.slow

_SPY = (
    "window.bad = [];"
    "addEventListener('securitypolicyviolation', e => window.bad.push(e.blockedURI))"
)


def size(shape):
    width, height = shape
    return {"width": width, "height": height}


class Server:
    """The pages of one study in a process of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = found.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-m", "tests.support.people", str(self.folder), str(self.port)]
        self.process = subprocess.Popen(command)
        end = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def _answers(self):
        try:
            with urllib.request.urlopen(f"{self.address}/static/people.css", timeout=2):
                return True
        except OSError:
            return False


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    draw_footage(target := tmp_path_factory.mktemp("film") / "film.mp4")
    return target.read_bytes()


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return release_of(tmp_path_factory.mktemp("release"))


class Visit:
    """A study with hostile words everywhere, its server, and ada's browser."""

    def __init__(self, browser, folder, kind, release, film):
        self.folder, self.kind = folder, kind
        self.tokens = study_at(folder, kind, release, film=film, is_hostile=True)
        self.study = read_study(folder)
        self.server = Server(folder)
        self.server.start()
        self.context = browser.new_context(viewport=size(DESK))
        self.context.add_init_script(_SPY)
        self.said = []
        self.tab = self.context.new_page()
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.goto(f"{self.server.address}/enter/{self.tokens['ada']}")
        self.fits("enter")
        self.tab.get_by_role("button", name="Enter").click()
        if kind is Kind.BASELINE:
            self.tab.get_by_role("heading", name="Before you start").wait_for()
            self.fits("declare")
            self.tab.get_by_role("button", name="I did not review").click()
        self.tab.locator(".items").wait_for()

    def open(self, number):
        self.tab.goto(f"{self.server.address}/tasks/{number}")
        self.tab.locator("body[data-ready]").wait_for()

    def saved(self):
        self.tab.locator("#saved", has_text=re.compile(r"^Saved \d")).wait_for()

    def kept(self, number):
        with PeopleStore(self.folder) as store:
            return store.answers("ada").get(self.study.orders["ada"][number - 1])

    def answer(self, number):
        """Answer the open page by mouse."""
        task = task_of(self.study, "ada", number)
        if self.kind is Kind.BASELINE and task.question.format is Format.OPEN:
            self.tab.locator("#answer").fill(HOSTILE)
        elif self.kind is Kind.ENDORSE:
            for place, group in enumerate(self.tab.locator(".decision").all()):
                group.locator(f"[value={'no' if place == 0 else 'yes'}]").check()
            self.tab.locator("textarea").first.fill(HOSTILE)
        else:
            for group in self.tab.locator("fieldset.group").all():
                group.locator("input").nth(1).check()

    def fits(self, name):
        """The page is never wider than its window."""
        for width, height in (DESK, PHONE):
            self.tab.set_viewport_size(size((width, height)))
            wide = self.tab.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} at {width} is {wide} wide"
        self.tab.set_viewport_size(size(DESK))

    def axe(self):
        from axe_playwright_python.sync_playwright import Axe

        for shape in (DESK, PHONE):
            for scheme in ("light", "dark"):
                self.tab.set_viewport_size(size(shape))
                self.tab.emulate_media(color_scheme=scheme)
                found = Axe().run(self.tab).response["violations"]
                assert found == [], [(v["id"], v["nodes"][0]["html"]) for v in found]
        self.tab.emulate_media(color_scheme="light")
        self.tab.set_viewport_size(size(DESK))

    def close(self):
        assert self.tab.evaluate("window.owned") is None
        assert self.tab.evaluate("window.bad") == []
        assert self.said == []
        self.context.close()
        self.server.kill()


@pytest.fixture
def visit(browser, tmp_path, release, film):
    made = []

    def start(kind):
        made.append(Visit(browser, tmp_path / "study", kind, release, film))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", list(Kind))
def test_each_kind_is_done_from_link_to_finish(visit, kind):
    one = visit(kind)
    tab = one.tab
    one.fits("list")
    one.axe()
    tab.locator("#next").click()
    for number in range(1, 7):
        tab.wait_for_url(f"**/tasks/{number}")
        tab.locator("body[data-ready]").wait_for()
        if number == 1:
            one.fits("empty")
        one.answer(number)
        one.saved()
        if number <= 2:
            one.fits(f"task{number}")
            one.axe()
        tab.locator("#next").click()
    tab.locator("#finish button").wait_for()
    one.fits("done")
    tab.locator("#finish button").click()
    tab.locator(".notice", has_text="You have finished").wait_for()
    one.open(1)
    assert tab.locator("form input:enabled, form textarea:enabled").count() == 0
    one.fits("finished")
    with PeopleStore(one.folder) as store:
        assert len(store.answers("ada")) == 6
        assert store.finished("ada")


def test_the_keyboard_is_enough(visit):
    one = visit(Kind.ERRORS)
    tab = one.tab
    one.open(1)
    tab.keyboard.press("k")
    end = time.monotonic() + 20
    while tab.evaluate("document.getElementById('video').currentTime") < 0.3:
        assert time.monotonic() < end, "the clip does not play"
        time.sleep(0.1)
    tab.keyboard.press("k")
    assert tab.locator("#captions").get_attribute("aria-pressed") == "false"
    tab.keyboard.press("c")
    assert tab.locator("#captions").get_attribute("aria-pressed") == "true"
    tab.keyboard.press("3")
    one.saved()
    assert one.kept(1).content == {"category": "attribution"}
    tab.keyboard.press("n")
    tab.wait_for_url("**/tasks/2")
    tab.locator("body[data-ready]").wait_for()
    tab.keyboard.press("p")
    tab.wait_for_url("**/tasks/1")
    assert tab.locator("input:checked").get_attribute("value") == "attribution"


def test_who_cannot_answer_gives_no_answer(visit):
    one = visit(Kind.BASELINE)
    tab = one.tab
    tasks = ((n, task_of(one.study, "ada", n)) for n in range(1, 7))
    one.open(next(n for n, task in tasks if task.question.format is Format.SINGLE))
    option, cannot = tab.locator("[name=answer]").first, tab.locator("[name=cannot_answer]")
    option.check()
    cannot.check()
    assert not option.is_checked()
    option.check()
    assert not cannot.is_checked()


def test_what_is_not_sent_is_shown_and_sent_later(visit):
    one = visit(Kind.ERRORS)
    tab = one.tab
    one.open(1)
    one.context.set_offline(True)
    tab.locator("[value=norm]").check()
    tab.locator("#saved", has_text="Not saved yet: you are offline").wait_for()
    tab.locator("#next").click()
    assert tab.url.endswith("/tasks/1")
    assert one.kept(1) is None
    one.fits("offline")
    tab.locator("[value=other]").check()
    one.context.set_offline(False)
    tab.wait_for_url("**/tasks/2")
    assert one.kept(1).content == {"category": "other"}


def test_a_killed_server_loses_nothing_that_was_acknowledged(visit):
    one = visit(Kind.ERRORS)
    tab = one.tab
    one.open(1)
    tab.locator("[value=norm]").dblclick()
    one.saved()
    one.server.kill()
    assert one.kept(1).revision == 1
    tab.locator("[value=temporal]").check()
    tab.locator("#saved", has_text="Not saved yet: trying again").wait_for()
    one.server.start()
    one.saved()
    assert one.kept(1).content == {"category": "temporal"}
    assert one.kept(1).revision == 2


class Elsewhere:
    """Ada at another browser, or an answer of hers that is on its way."""

    def __init__(self, one):
        self.store = PeopleStore(one.folder)
        self.task = one.study.orders["ada"][0]

    def keep(self, content, revision):
        with self.store as store:
            store.keep("ada", self.task, content, 1.0, revision)


def leave_unsent(one, value):
    """Choose a category that is not sent, and close the page.

    The server is away, not the network: a page that is closed offline may still send, for the
    browser lets go of the emulation first.
    """
    one.open(1)
    one.server.kill()
    one.tab.locator(f"[value={value}]").check()
    one.tab.locator("#saved", has_text="Not saved yet: trying again").wait_for()
    one.tab.close()
    one.server.start()
    one.tab = one.context.new_page()


def chosen(tab):
    return tab.locator("input:checked").get_attribute("value")


@pytest.mark.parametrize("choice", ["take", "keep"])
def test_what_was_not_sent_overrides_nothing_newer(visit, choice):
    one = visit(Kind.ERRORS)
    leave_unsent(one, "norm")
    Elsewhere(one).keep({"category": "temporal"}, 0)
    one.open(1)
    assert chosen(one.tab) == "temporal"
    assert "norm" in one.tab.locator("#left").inner_text().lower()
    one.fits("conflict")
    one.axe()
    assert one.kept(1).content == {"category": "temporal"}
    one.tab.locator(f"#{choice}").click()
    one.saved()
    one.open(1)
    assert not one.tab.locator("#unsent").is_visible()
    expected = "norm" if choice == "take" else "temporal"
    assert (chosen(one.tab), one.kept(1).content) == (expected, {"category": expected})
    assert one.kept(1).revision == (2 if choice == "take" else 1)


def test_what_was_sent_without_hearing_back_goes_on_silently(visit):
    one = visit(Kind.ERRORS)
    leave_unsent(one, "norm")
    # The server has it; its answer was lost.
    Elsewhere(one).keep({"category": "norm"}, 0)
    one.open(1)
    one.saved()
    assert not one.tab.locator("#unsent").is_visible()
    Elsewhere(one).keep({"category": "temporal"}, 1)
    one.open(1)
    assert (chosen(one.tab), one.kept(1).revision) == ("temporal", 2)
    assert not one.tab.locator("#unsent").is_visible()


def test_an_answer_that_came_too_late_is_not_lost(visit):
    one = visit(Kind.ERRORS)
    one.open(1)
    Elsewhere(one).keep({"category": "temporal"}, 0)
    one.tab.locator("[value=norm]").check()
    one.tab.locator("#trouble", has_text="changed in another window").wait_for()
    one.open(1)
    assert chosen(one.tab) == "temporal"
    assert one.tab.locator("#unsent").is_visible()


def test_what_is_taken_back_before_it_was_sent_is_gone(visit):
    one = visit(Kind.ERRORS)
    one.open(1)
    one.tab.locator("[value=temporal]").check()
    one.saved()
    one.context.set_offline(True)
    one.tab.locator("[value=norm]").check()
    one.tab.locator("#saved", has_text="offline").wait_for()
    one.tab.locator("[value=temporal]").check()
    one.context.set_offline(False)
    one.saved()
    one.open(1)
    assert (chosen(one.tab), one.kept(1).content) == ("temporal", {"category": "temporal"})


def test_drafts_of_one_study_never_reach_another(browser, tmp_path, release, film):
    visits = [Visit(browser, tmp_path / name, Kind.ERRORS, release, film) for name in "ab"]
    one, two = visits
    leave_unsent(one, "norm")
    drafts = one.context.storage_state()
    # The other study is served where this one was.
    one.server.kill()
    two.server.kill()
    two.server.port, two.server.address = one.server.port, one.server.address
    two.server.start()
    context = browser.new_context(storage_state=drafts)
    tab = context.new_page()
    tab.goto(f"{two.server.address}/enter/{two.tokens['ada']}")
    tab.get_by_role("button", name="Enter").click()
    tab.locator(".items").wait_for()
    tab.goto(f"{two.server.address}/tasks/1")
    tab.locator("body[data-ready]").wait_for()
    assert tab.evaluate("localStorage.length") == 1
    assert tab.locator("input:checked").count() == 0
    assert two.kept(1) is None
    context.close()
    for visit in visits:
        visit.context.close()
    two.server.kill()


def test_a_page_that_was_closed_unsent_goes_on_where_it_was(visit):
    one = visit(Kind.LABEL)
    tab = one.tab
    tab.on("dialog", lambda dialog: dialog.accept())
    one.open(1)
    tab.locator("[name=evidence_support][value=weak]").check()
    one.saved()
    one.server.kill()
    tab.locator("[name=logical_integrity][value=weak]").check()
    tab.locator("#saved", has_text="trying again").wait_for()
    one.server.start()
    one.open(1)
    one.saved()
    assert one.kept(1).content["logical_integrity"] == "weak"
