"""Reviewers who work through their items in real browsers, whatever goes wrong meanwhile."""

import asyncio
import json
import os
import re
import time
from contextlib import suppress
from typing import Any

from psychemme.vocabulary import Approval, Format, Verdict
from state.review_desk import ReviewDesk
from tests.support.review_pages import Server
from tests.support.wires import MARK, Wire

IS_LONG = os.environ.get("PSYCHEMME_SOAK") == "1"
OFFLINE_SECONDS = 60 if IS_LONG else 10
ITEMS = 40
FORMS = [tuple(Format)[n % 3] for n in range(ITEMS)]
PLAIN, HASTY, OFFLINE, MORTAL, OTHER = NAMES = tuple(
    f"{MARK}{name}" for name in ("plain", "hasty", "offline", "mortal", "other")
)
OFFLINE_AFTER, TABS = 10, 3
DEATHS = {12: "request", 25: "response"}
"""After how many verdicts the browser is killed, and what of the next one never arrives."""
PATIENCE = 90
SCRIPT_SECONDS = 15
ACT = re.compile(r"/api/items/([^/]+)/1/(answer|vote|skip|withdraw)$")
FLASH = re.compile(r"Your (answer|verdict) on item (\d+) was (?:committed|saved)")
SHOWN = {
    "first": "body[data-ready] #commit:enabled",
    "second": "body[data-ready] #save:enabled",
    "home": "#next",
    "end": ".lead .good",
    "outside": "[action='/enter'] button",
    "unknown": ".door:not(:has(form))",
}

PAUSE = 0.15
LOOK = """(selectors) => {
  const read = (id) => {
    const box = document.getElementById(id);
    return box && !box.hidden ? box.textContent : null;
  };
  return {
    shown: Object.keys(selectors).find((name) => document.querySelector(selectors[name])),
    trouble: read("trouble"),
    flash: read("flash"),
    watched: read("watched-hint")?.includes("enough"),
    rests: read("play") === "Play",
    failed: location.protocol === "chrome-error:",
    halfway: Boolean(document.getElementById("player")) && !("ready" in document.body.dataset),
  };
}"""


class Outages:
    """When the server was away: only then may a page fail to come."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.count = 0
        self.is_up = asyncio.Event()
        self.is_up.set()
        self.calm = asyncio.Lock()
        """Whoever holds it has a server for the time being."""
        self.news = asyncio.Event()
        self._ended = -float(PATIENCE)

    async def happen(self) -> None:
        """Kill the server and start it again."""
        async with self.calm:
            self.count += 1
            self.is_up.clear()
            self.server.kill()
            await asyncio.sleep(1)
            await asyncio.to_thread(self.server.start)
        self._ended = time.monotonic()
        self.is_up.set()

    @property
    def explains(self) -> bool:
        """Whether the server is away, or was a moment ago."""
        return not self.is_up.is_set() or time.monotonic() < self._ended + 60


class Person:
    """A reviewer who does what the page in front of them asks for, until all is done."""

    def __init__(self, name: str, link: str, wire: Wire, address: str, outages: Outages) -> None:
        self.name, self.link, self.wire, self.address = name, link, wire, address
        self.outages = outages
        self.acknowledged: list[tuple[str, str, str]] = []
        """Item, act and request id of each act that the server answered with success."""
        self.read: set[tuple[str, str]] = set()
        """The acts that the page said are saved, with their items."""
        self.said: dict[str, str] = {}
        self.given = 0
        self.deaths = dict(DEATHS) if name == MORTAL else {}
        self.tab: Any = None
        self.context: Any = None

    @property
    def judged(self) -> int:
        """On how many items a verdict was acknowledged."""
        return len({key for key, act, _ in self.acknowledged if act == "vote"})

    def use(self, context: Any) -> None:
        """Sit down at a browser."""
        self.context = context
        context.on("response", self._note)

    def _note(self, response: Any) -> None:
        request, found = response.request, ACT.search(response.url)
        if request.method == "POST" and found and response.status == 200:
            given = json.loads(request.post_data)["request_id"]
            self.acknowledged.append((found[1], found[2], given))
            self.outages.news.set()

    async def review(self, desk: ReviewDesk, reopen: Any) -> None:
        """Review to the end."""
        self.desk, self.reopen = desk, reopen
        self.tab = self.context.pages[0] if self.context.pages else await self.context.new_page()
        await self._go("/")
        while await self._go_on():
            pass
        assert await self.tab.locator("[data-state=judged]").count() == ITEMS

    async def _go_on(self) -> bool:
        """Do the next thing; returns whether anything is left."""
        # Some calls of the browser have no limit of their own: one that hangs is named.
        async with asyncio.timeout(OFFLINE_SECONDS + 2 * PATIENCE):
            shown = await self._shown(self.tab)
            try:
                if self.name == OFFLINE and self.given == OFFLINE_AFTER and shown != "unknown":
                    await self._lose_the_network()
                elif shown != "end":
                    await self._do(shown)
            except _playwright_error():
                if not self.outages.explains:
                    raise
                await self._go("/")
        return shown != "end"

    async def _do(self, shown: str) -> None:
        if shown in {"home", "outside"}:
            await self._follow(self.tab.locator(SHOWN[shown]))
        elif shown == "unknown":
            await self._go(f"/enter/{self.link}")
        elif shown == "first":
            await self._answer(self.tab)
        else:
            await self._judge(self.tab)
            await self._save(self.tab)

    async def _follow(self, target: Any) -> None:
        """Press what leads on; where it leads nowhere meanwhile, the next look presses again."""
        before = self.tab.url
        await self._press(target)
        with suppress(_playwright_error()):
            await self.tab.wait_for_url(
                lambda url: url != before, wait_until="commit", timeout=5000
            )

    async def _go(self, path: str) -> None:
        for _ in range(PATIENCE):
            await self.outages.is_up.wait()
            with suppress(_playwright_error()):
                await self.tab.goto(self.address + path)
                return
            await asyncio.sleep(1)
        raise AssertionError(f"{self.name} cannot open {path}")

    async def _shown(self, tab: Any) -> str:
        """Return what the page asks for, once it asks for something."""
        begun = time.monotonic()
        while time.monotonic() < begun + PATIENCE:
            with suppress(_playwright_error()):
                seen = await tab.evaluate(LOOK, SHOWN)
                assert seen["trouble"] is None, seen["trouble"]
                if seen["shown"]:
                    self._believe(seen["flash"] or "")
                    return str(seen["shown"])
                # The server may die between a page and its script.
                is_late = seen["halfway"] and time.monotonic() > begun + SCRIPT_SECONDS
                if seen["failed"] or is_late:
                    assert self.outages.explains, "a page did not come, though the server is there"
                    await self._go("/")
            await asyncio.sleep(PAUSE)
        raise AssertionError(f"{self.name} is stuck at {tab.url}: {await self._text(tab)}")

    async def _text(self, tab: Any) -> str:
        return " ".join((await tab.locator("body").inner_text()).split())[:2000]

    def _believe(self, flash: str) -> None:
        """Take the page at its word: what it says is saved must be in the database now."""
        if found := FLASH.match(flash):
            key = f"1-c{int(found[2]) - 1}"
            version = self.desk.version((key, 1))
            stored = version.answers if found[1] == "answer" else version.votes
            assert self.name in stored, flash
            self.read.add((found[1], key))

    async def _press(self, target: Any) -> None:
        if self.name == HASTY:
            await target.dblclick()
        else:
            await target.click()

    async def _choose(self, target: Any) -> None:
        # A draft from before the browser was killed may have chosen it.
        if await target.is_checked():
            return
        await self._press(target)
        if self.name == HASTY and not await target.is_checked():
            await target.click()

    async def _watch(self, tab: Any) -> None:
        seen = await tab.evaluate(LOOK, SHOWN)
        if not seen["watched"]:
            await tab.locator("#speed").select_option("2")
            await self._press(tab.locator("#play"))
        while not seen["watched"]:
            await asyncio.sleep(PAUSE)
            seen = await tab.evaluate(LOOK, SHOWN)
            if not seen["watched"] and seen["rests"]:
                await tab.locator("#play").click()

    async def _answer(self, tab: Any) -> None:
        number = _number(_key(tab))
        if await tab.locator("#open-answer").count():
            await tab.locator("#open-answer").fill(self._words(_key(tab)))
        else:
            boxes = await tab.locator(".choice input[name=answer]").all()
            start = (number + len(self.name)) % len(boxes)
            chosen = 2 if FORMS[number] is Format.MULTIPLE else 1
            for box in (boxes + boxes)[start : start + chosen]:
                await self._choose(box)
        if number % 2:
            await self._watch(tab)
        await self._press(tab.locator("#commit"))
        await self._press(tab.locator("#confirm-yes"))

    async def _judge(self, tab: Any) -> None:
        key = _key(tab)
        await self._watch(tab)
        for verdict in Verdict:
            group = tab.locator(f".verdict[data-verdict={verdict}]")
            approval = approval_of(self.name, key, verdict)
            await self._choose(group.locator(f"[value={approval}]"))
            if approval is Approval.REJECT:
                await self._choose(group.locator(".reasons input").first)
        await tab.locator("#comment").fill(self._words(key))

    def _words(self, key: str) -> str:
        self.said[key] = f"{self.name} says so of {key}."
        return self.said[key]

    async def _save(self, tab: Any) -> None:
        lacks = await tab.locator("#todo").inner_text()
        assert not lacks, f"{self.name} at {tab.url}: {lacks}"
        withheld = self.deaths.pop(self.given, None)
        self.given += 1
        if withheld is None:
            return await self._press(tab.locator("#save"))
        self.wire.withhold(withheld)
        await self._press(tab.locator("#save"))
        await asyncio.wait_for(self.wire.held.wait(), PATIENCE)
        self.use(await self.reopen(self.context))
        self.wire.withhold(None)
        self.tab = self.context.pages[0]
        await self._go("/")
        return None

    async def _lose_the_network(self) -> None:
        """Save several verdicts without a network; they must arrive once it is back."""
        async with self.outages.calm:
            tabs = await self._fill_tabs()
            before = self.judged
            await self.context.set_offline(True)
        for tab in tabs:
            await tab.bring_to_front()
            await self._save(tab)
            await tab.locator("#outbox", has_text="You are offline.").wait_for()
        await asyncio.sleep(OFFLINE_SECONDS)
        assert self.judged == before
        await self.context.set_offline(False)
        end = time.monotonic() + PATIENCE
        while self.judged < before + TABS:
            assert time.monotonic() < end, "what was done offline never arrived"
            await asyncio.sleep(0.1)
        # The other tabs stay: closing one while it moves on can hang in the browser.
        await self.tab.bring_to_front()
        await self._go("/")

    async def _fill_tabs(self) -> list[Any]:
        """Open several items at once and bring each to where only the saving is left."""
        await self._go("/")
        left = await self.tab.locator("[data-state=open] a").all()
        paths = [await place.get_attribute("href") for place in left[:TABS]]
        tabs = [self.tab, *[await self.context.new_page() for _ in paths[1:]]]
        for tab, path in zip(tabs, paths, strict=True):
            await tab.bring_to_front()
            await tab.goto(self.address + path)
            await tab.locator(SHOWN["first"]).wait_for()
            await self._answer(tab)
            await tab.locator(SHOWN["second"]).wait_for()
            await self._judge(tab)
        return tabs


def _playwright_error() -> type[Exception]:
    from playwright.async_api import Error

    return Error


def _key(tab: Any) -> str:
    return str(tab.url).split("/")[-2]


def _number(key: str) -> int:
    return int(key.removeprefix("1-c"))


def approval_of(name: str, key: str, verdict: Verdict) -> Approval:
    at = _number(key) + NAMES.index(name) + tuple(Verdict).index(verdict)
    return Approval.APPROVE if at % 5 else Approval.REJECT
