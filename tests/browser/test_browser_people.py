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
