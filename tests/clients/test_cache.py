"""The response cache: a resume or an equal request is served once; nothing else ever is."""

import asyncio
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from psychemme.clients.cache import CachedClient, ReplyCache
from psychemme.clients.protocol import MediaPart, Parameters, Reply, Request, Usage
from psychemme.clients.scripted import ScriptedClient
from psychemme.vocabulary import AgentRole
from tests.support.requests import REQUEST, request

PICTURE = MediaPart("image", "image/jpeg", "1" * 64, Path("one.jpg"), 0.0)
SAID = Reply("said", "m", usage=Usage(10, 5, 0.01))


@dataclass
class Slow:
    """Replies after a while, or fails first; counts what reaches it."""

    model: str = "m"
    reply: Reply = SAID
    failures: int = 0
    asked: int = 0

    async def complete(self, _: Request) -> Reply:
        self.asked += 1
        await asyncio.sleep(0.15)
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        return self.reply

    async def aclose(self) -> None:
        pass


def cached(inner: Any, folder: Path, endpoint: str = "http://one/v1") -> CachedClient:
    return CachedClient(inner, ReplyCache(folder, AgentRole.ANSWER, endpoint))


async def test_an_equal_request_is_free_and_says_so(tmp_path):
    inner = Slow()
    first = await cached(inner, tmp_path).complete(request())
    again = await cached(inner, tmp_path).complete(request())
    assert inner.asked == 1
    assert (first.cached, first.usage.cost) == (False, 0.01)
    assert again == Reply("said", "m", usage=Usage(0, 0, 0.0), cached=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, draw=1),
        lambda r: replace(r, user="other"),
        lambda r: replace(r, system="other"),
        lambda r: replace(r, parameters=Parameters(seed=8)),
        lambda r: replace(r, media=(PICTURE,)),
        lambda r: replace(r, exchange=(("said", "wrong"),)),
    ],
    ids=["draw", "user", "system", "seed", "media", "repair"],
)
async def test_any_difference_is_a_new_call(tmp_path, change: Callable[[Request], Request]):
    inner = Slow()
    client = cached(inner, tmp_path)
    await client.complete(REQUEST)
    await client.complete(change(REQUEST))
    assert inner.asked == 2


async def test_another_model_or_endpoint_is_never_hit(tmp_path):
    inner = Slow()
    await cached(inner, tmp_path).complete(REQUEST)
    await cached(inner, tmp_path, "http://two/v1").complete(REQUEST)
    other = Slow(model="n")
    await cached(other, tmp_path).complete(REQUEST)
    assert (inner.asked, other.asked) == (2, 1)


async def test_roles_share_nothing(tmp_path):
    client = cached(Slow(), tmp_path)
    with pytest.raises(ValueError, match="no place in the answer cache"):
        await client.complete(request(role=AgentRole.CRITIC))
    question = CachedClient(Slow(), ReplyCache(tmp_path, AgentRole.QUESTION, "http://one/v1"))
    await question.complete(request(role=AgentRole.QUESTION))
    await client.complete(REQUEST)
    assert {path.name for path in tmp_path.iterdir()} == {"question", "answer"}


async def test_entries_hold_no_prompt_and_belong_to_their_owner(tmp_path):
    await cached(Slow(), tmp_path).complete(request(user="PROMPT-TEXT", media=(PICTURE,)))
    (entry,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert b"PROMPT-TEXT" not in entry.read_bytes()
    assert PICTURE.sha256.encode() not in entry.read_bytes()


async def test_equal_requests_at_once_ask_once(tmp_path):
    inner = Slow()
    client = cached(inner, tmp_path)
    replies = await asyncio.gather(*(client.complete(REQUEST) for _ in range(20)))
    assert inner.asked == 1
    assert sum(reply.cached for reply in replies) == 19


async def test_when_the_one_that_asks_fails_or_is_cancelled_the_next_asks(tmp_path):
    inner = Slow(failures=1)
    client = cached(inner, tmp_path)
    tasks = [asyncio.create_task(client.complete(REQUEST)) for _ in range(4)]
    await asyncio.sleep(0.2)
    tasks[1].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], ConnectionError)
    assert isinstance(results[1], asyncio.CancelledError)
    assert [reply.text for reply in results[2:]] == ["said", "said"]
    assert inner.asked == 3


@pytest.mark.parametrize(
    "reply",
    [Reply("{", "m", "length"), Reply("no", "m", "content_filter"), Reply(" ", "m")],
    ids=["truncated", "filtered", "empty"],
)
async def test_a_reply_that_is_not_whole_is_not_kept(tmp_path, reply):
    inner = Slow(reply=reply)
    client = cached(inner, tmp_path)
    assert [await client.complete(REQUEST) for _ in range(2)] == [reply] * 2
    assert inner.asked == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"text": 1}', b"\xff"])
async def test_a_damaged_entry_is_a_miss(tmp_path, content):
    inner = Slow()
    await cached(inner, tmp_path).complete(REQUEST)
    (entry,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    entry.write_bytes(content)
    assert not (await cached(inner, tmp_path).complete(REQUEST)).cached
    assert (await cached(inner, tmp_path).complete(REQUEST)).cached


async def test_what_the_cache_says_is_what_was_said(tmp_path):
    said = 'quotes " braces {} \u202e and \n lines'
    inner = ScriptedClient("m", {AgentRole.ANSWER: [said]})
    client = cached(inner, tmp_path)
    assert [(await client.complete(REQUEST)).text for _ in range(2)] == [said, said]
