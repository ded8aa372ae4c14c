"""A served review page and its reviewers in real browsers, for tests.

Run as a module it serves a workspace: `python -m tests.support.review_pages ROOT PORT`. The server
is a process of its own, so that it can be killed.
"""

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
DESK, PHONE = (1280, 800), (390, 844)
FOOTAGE_SECONDS = 4
VIDEO = "document.getElementById('video')"
_SPY = (
    "window.violations = [];"
    "addEventListener('securitypolicyviolation', e => window.violations.push(e.blockedURI))"
)


class Server:
    """A review page on loopback that can be killed and started again at the same address."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = found.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Serve; returns once the page answers."""
        command = [sys.executable, "-m", __name__, str(self.root), str(self.port)]
        self.process = subprocess.Popen(command)
        end = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill the process outright (SIGKILL)."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/static/review.css", timeout=2):
                return True
        except OSError:
            return False


@contextmanager
def served(root: Path) -> Iterator[Server]:
    """Serve the workspace at `root` until the end."""
    server = Server(root)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def draw_footage(target: Path, seconds: float = FOOTAGE_SECONDS) -> None:
    """Write footage that browsers play: a moving test picture with a tone."""
    import ffmpeg
    import imageio_ffmpeg

    target.parent.mkdir(parents=True, exist_ok=True)
    picture = ffmpeg.input(f"testsrc2=s=320x180:r=25:d={seconds}", f="lavfi")
    sound = ffmpeg.input(f"sine=f=300:d={seconds}", f="lavfi")
    job = ffmpeg.output(picture, sound, f"file:{target}", pix_fmt="yuv420p")
    job.run(cmd=imageio_ffmpeg.get_ffmpeg_exe(), quiet=True, overwrite_output=True)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser; skips the test where there is none."""
    import pytest

    if not CHROMIUM:
        pytest.skip("no chromium executable on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


class ReviewerPage:
    """One reviewer's browser: a context of its own, so that cookies and storage are apart."""

    def __init__(
        self, browser: Any, address: str, token: str, size: tuple[int, int] = DESK, **options: Any
    ) -> None:
        width, height = size
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.context.add_init_script(_SPY)
        self.address = address
        self.token = token
        self.said: list[str] = []
        self.sent: list[tuple[str, int]] = []
        self.tab = self.context.new_page()
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("response", lambda answer: self._note(answer))
        self.sign_in()

    def _note(self, response: Any) -> None:
        if response.request.method == "POST":
            self.sent.append((response.url.removeprefix(self.address), response.status))

    def sign_in(self) -> None:
        """Open the invite link and press its button."""
        self.tab.goto(f"{self.address}/enter/{self.token}")
        self.tab.get_by_role("button").click()
        self.tab.wait_for_url(f"{self.address}/")

    def ready(self, selector: str) -> None:
        """Wait for a part of an item's page, and until its script listens."""
        self.tab.locator(f"body[data-ready] {selector}").wait_for()

    def open_next(self) -> None:
        """Open the first item with work left, from the list."""
        self.tab.goto(self.address)
        self.tab.locator("#next").click()
        self.ready("#question")

    def open_item(self, number: int) -> None:
        """Open an item by its number in the reviewer's own list."""
        self.tab.goto(self.address)
        self.tab.locator(".items a").nth(number - 1).click()
        self.ready("#question")

    def choose(self, answer: str | Sequence[int]) -> None:
        """Write an open answer, or choose options by their place (from 1)."""
        if isinstance(answer, str):
            self.tab.locator("#open-answer").fill(answer)
            return
        for place in answer:
            self.tab.locator(".choice input[name=answer]").nth(place - 1).check()

    def commit(self) -> None:
        """Commit the answer that is chosen, and wait for the second step."""
        self.tab.locator("#commit").click()
        self.tab.locator("#confirm-yes").click()
        self.ready("#second")

    def answer_anything(self) -> None:
        """Give and commit some answer, whatever the format."""
        is_open = self.tab.locator("#open-answer").count()
        self.choose("a word of my own" if is_open else [1])
        self.commit()

    def watch(self) -> None:
        """Play the whole clip at double speed."""
        self.tab.locator("#seek").fill("0")
        self.tab.locator("#speed").select_option("2")
        if self.is_true(f"{VIDEO}.paused"):
            self.tab.locator("#play").click()
        self.until("document.getElementById('watched-hint').textContent.includes('enough')")

    def approve(self, comment: str = "") -> None:
        """Approve all three verdicts; a comment is written where one is needed."""
        for group in self.tab.locator(".verdict").all():
            group.locator("[value=approve]").check()
        needed = self.tab.locator("#comment-need").inner_text() == "needed"
        if comment or needed:
            self.tab.locator("#comment").fill(comment or "The reference reads the clip better.")

    def reject(self, verdict: str, reason: int = 1) -> None:
        """Reject one verdict for its reason at a place (from 1)."""
        group = self.tab.locator(f".verdict[data-verdict={verdict}]")
        group.locator("[value=reject]").check()
        group.locator(".reasons input").nth(reason - 1).check()

    def save(self) -> None:
        """Save the verdict, and wait until it is committed and the page has gone on."""
        before = self.tab.url
        self.tab.locator("#save").click()
        self.tab.wait_for_url(lambda url: url != before)

    def judge(self) -> None:
        """Do both steps on the item that is open: some answer, all of the clip, approval."""
        if self.tab.locator("#first").count():
            self.answer_anything()
        self.watch()
        self.approve()
        self.save()

    def skip(self, reason: str) -> None:
        """Skip the item that is open."""
        before = self.tab.url
        self.tab.locator("#skip summary").click()
        self.tab.locator(f"#skip [value={reason}]").check()
        self.tab.locator("#skip-send").click()
        self.tab.wait_for_url(lambda url: url != before)

    def is_true(self, expression: str) -> bool:
        """Evaluate an expression in the page."""
        return bool(self.tab.evaluate(f"() => Boolean({expression})"))

    def until(self, expression: str, seconds: float = 30) -> None:
        """Poll from here: the page's policy forbids the evaluation playwright's own wait needs."""
        end = time.monotonic() + seconds
        while not self.is_true(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.tab.wait_for_timeout(50)

    def votes_sent(self) -> int:
        """Return how many acts on votes the server has acknowledged to this browser."""
        acts = re.compile(r"/(vote|skip|withdraw)$")
        return sum(status == 200 for path, status in self.sent if acts.search(path))

    def close(self) -> None:
        """Close the browser's context; nothing hostile may have run in it."""
        self.tab.wait_for_load_state()
        assert self.tab.evaluate("[window.violations, window.owned ?? null]") == [[], None]
        self.context.close()


def _serve(root: Path, port: int) -> None:
    import uvicorn

    from construction.review.web.app import create_app
    from construction.workspace import Workspace

    uvicorn.run(create_app(Workspace(root)), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
