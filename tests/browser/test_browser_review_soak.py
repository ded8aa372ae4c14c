"""Five reviewers at once, in real browsers, with everything that goes wrong while they work.

One is killed while a vote is on its way, one loses the network with votes waiting, one
double-clicks everything, and the server is killed twice. The one without a network is so for ten
seconds; `make soak` makes it the full minute. The clip is short and played at double speed, so that
it is watched to its end on every item as the page demands.

Every browser has a wire of its own, which keeps each byte it received and when.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from construction.review.rules import ENOUGH_WATCHED
from psychemme.items import Critique
from psychemme.vocabulary import Verdict
from state.review_desk import ReviewDesk
from state.stores import AnswerStore, CriticStore, QuestionStore
from state.values import CallRecord
from tests.support import reviews
from tests.support.review_pages import ARGUMENTS, CHROMIUM, Server, draw_footage, served
from tests.support.review_people import (
    DEATHS,
    FORMS,
    ITEMS,
    MORTAL,
    NAMES,
    PATIENCE,
    Outages,
    Person,
    approval_of,
)
from tests.support.review_web import database, invited, make_site
from tests.support.states import EPISODE_ID, independent, proposal
from tests.support.wires import MARK, Wire

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not CHROMIUM, reason="no chromium executable on PATH"),
]

CLIP_SECONDS = 1.0
AGENT, MODEL, NOTE = (f"{MARK}{what}" for what in ("agent", "model", "note"))
SERVER_DEATHS = (60, 130)
"""After how many acknowledged verdicts of all reviewers the server is killed."""


def canary(key: str) -> str:
    """Return the word in every private text of an item."""
    return f"{MARK}canary{key.replace('-', '')}"


def lay_out(root: Path) -> Any:
    """Return a site whose items hold a word of their own in every private text."""
    plain = reviews.item_version

    def item_version(key, form):
        with mock.patch.object(reviews, "CANARY", canary(key)):
            return plain(key, form)

    with mock.patch.object(reviews, "item_version", item_version):
        app = make_site(root, FORMS, NAMES)
    draw_footage(root / "review" / f"{EPISODE_ID}-1.mp4", CLIP_SECONDS)
    return app


async def plant(path: Path) -> None:
    """Store what agents said and curators noted of every item, and by which model."""
    call = CallRecord(
        attempt=0,
        request_key="key",
        text=AGENT,
        finish_reason="stop",
        model=MODEL,
        prompt_id="prompt",
        prompt_hash="hash",
        parameters_json="{}",
    )
    critique = Critique(
        cue_support=True, logical_coherence=True, capability_alignment=True, comment=AGENT
    )
    answer = independent().model_copy(update={"rationale": AGENT})
    with QuestionStore(path) as question, AnswerStore(path) as answers, CriticStore(path) as critic:
        for number, form in enumerate(FORMS):
            key = f"1-c{number}"
            await question.record(key, 0, call)
            await question.save(key, 0, proposal(AGENT, form=form))
            await answers.save(key, 0, answer, "ABC")
            await critic.save(key, 0, critique)
    with ReviewDesk(path) as desk:
        for number in range(ITEMS):
            desk.note((f"1-c{number}", 1), MODEL, NOTE)


def kill(profile: Path) -> None:
    """Kill the browser of a profile outright."""
    mine, found = f"--user-data-dir={profile}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if mine in words and not any(word.startswith(b"--type=") for word in words):
                found.append(int(process.name))
    (pid,) = found
    os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def browsers(profile: Path, people: list[Person]) -> AsyncIterator[Any]:
    """Give everyone a browser; yields how the mortal one is killed and opened again."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        kind, how = playwright.chromium, {"executable_path": CHROMIUM, "args": ARGUMENTS}
        shared = await kind.launch(**how)

        async def reopen(context: Any = None) -> Any:
            if context is not None:
                gone = asyncio.Event()
                context.on("close", lambda _: gone.set())
                kill(profile)
                await asyncio.wait_for(gone.wait(), PATIENCE)
            return await kind.launch_persistent_context(str(profile), **how)

        for person in people:
            person.use(await (reopen() if person.name == MORTAL else shared.new_context()))
        yield reopen
        for person in people:
            await person.context.close()
        await shared.close()


async def break_the_server(outages: Outages, people: list[Person]) -> None:
    """Kill the server in the middle of the work, twice."""
    for after in SERVER_DEATHS:
        while sum(person.judged for person in people) < after:
            outages.news.clear()
            await outages.news.wait()
        await outages.happen()


async def work(server: Server, site: Any, profile: Path) -> list[Person]:
    """Have five people review at once; returns them when all are done."""
    outages, people = Outages(server), []
    async with AsyncExitStack() as stack:
        for name in NAMES:
            wire = Wire(server.port)
            address = await stack.enter_async_context(wire.laid())
            people.append(Person(name, invited(site, name), wire, address, outages))
        desk = stack.enter_context(ReviewDesk(database(site)))
        reopen = await stack.enter_async_context(browsers(profile, people))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(break_the_server(outages, people))
            for person in people:
                tasks.create_task(person.review(desk, reopen))
    assert outages.count == len(SERVER_DEATHS)
    return people


def check_everyone_has_one_verdict_on_every_item_in_the_words_given(person, versions):
    assert person.said.keys() == versions.keys()
    for key, version in versions.items():
        (vote,) = version.votes[person.name]
        assert version.standing()[person.name] == vote
        assert vote.comment == person.said[key]
        assert vote.verdicts == {v: approval_of(person.name, key, v) for v in Verdict}
        assert vote.watched >= ENOUGH_WATCHED


def check_what_was_acknowledged_is_stored_exactly_once(person, versions):
    for key, act, request in person.acknowledged:
        version = versions[key]
        answer = version.answers[person.name].request_id
        votes = [vote.request_id for vote in version.votes[person.name]]
        assert ([answer] if act == "answer" else votes).count(request) == 1
    # A killed browser may never have learnt of what it sent last.
    assert person.judged >= ITEMS - (len(DEATHS) if person.name == MORTAL else 0)
    assert len(person.read) >= ITEMS


def check_nothing_of_others_and_no_early_reference_arrived(person, versions):
    committed = {
        canary(key): version.answers[person.name].committed_at for key, version in versions.items()
    }
    arrived: dict[str, int] = {}
    for at, word in person.wire.words():
        arrived[word] = min(at, arrived.get(word, at))
    # The own words and, in time, every reference do arrive: the search finds what there is.
    assert arrived.keys() == {person.name, *committed}
    assert [word for word, at in committed.items() if arrived[word] < at] == []


def work_through(folder: Path) -> tuple[Path, list[Person]]:
    """Have everything reviewed in a workspace of its own; returns its database and the people."""
    site = lay_out(folder / "workspace")
    path = database(site)
    asyncio.run(plant(path))
    with served(site.state.site.workspace.root) as server:
        return path, asyncio.run(work(server, site, folder / "profile"))


def is_of_the_browser(failures: BaseExceptionGroup[Exception]) -> bool:
    """Whether nothing failed but calls of a browser, which can hang or die by itself."""
    from playwright.async_api import Error

    return failures.split((Error, TimeoutError))[1] is None


def test_five_reviewers_at_once_lose_nothing_and_see_nothing_of_each_other(tmp_path):
    try:
        path, people = work_through(tmp_path / "first")
    except ExceptionGroup as failures:
        if not is_of_the_browser(failures):
            raise
        path, people = work_through(tmp_path / "second")
    stored = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert all(word.encode() in stored for word in (AGENT, MODEL, NOTE))
    with ReviewDesk(path) as desk:
        versions = {version.item.candidate_key: version for version in desk.versions()}
    assert len(versions) == ITEMS
    for person in people:
        check_everyone_has_one_verdict_on_every_item_in_the_words_given(person, versions)
        check_what_was_acknowledged_is_stored_exactly_once(person, versions)
        check_nothing_of_others_and_no_early_reference_arrived(person, versions)
