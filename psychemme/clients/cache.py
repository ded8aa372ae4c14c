"""A response cache: what one role asked of one model before is not paid for again.

An entry is found by `Request.key`, which covers role, model, parameters, rendered prompt, media
digests and draw, so that a re-answer or a repeat is never a hit; and by the endpoint's address,
since two servers may give different models one name. Each role has a folder of its own. An entry
holds the reply and nothing of the request.
"""

import asyncio
import json
import os
import tempfile
from pathlib import Path
from weakref import WeakValueDictionary

from psychemme.canonical import canonical_json, digest
from psychemme.clients.protocol import Client, Reply, Request, Usage
from psychemme.vocabulary import Role


class ReplyCache:
    """The replies to one role, as files that only their owner may read (mode 600)."""

    def __init__(self, folder: Path, role: Role, endpoint: str) -> None:
        self.role = role
        self._folder = folder / role
        self._endpoint = endpoint

    def find(self, request: Request, model: str) -> Reply | None:
        """Return the reply stored for `request`, marked as cached and free of charge."""
        try:
            entry = json.loads(self._path(request, model).read_bytes())
            text, name = str(entry["text"]), str(entry["model"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Reply(text=text, model=name, usage=Usage(cost=0.0), cached=True)

    def keep(self, request: Request, model: str, reply: Reply) -> None:
        """Store a whole reply; one cut short, filtered or empty is worth another call."""
        if reply.finish_reason != "stop" or not reply.text.strip():
            return
        path = self._path(request, model)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A temporary file has mode 600 from its first byte.
        handle, name = tempfile.mkstemp(prefix=".part-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(canonical_json({"text": reply.text, "model": reply.model}))
        Path(name).replace(path)

    def _path(self, request: Request, model: str) -> Path:
        if request.role is not self.role:
            raise ValueError(f"a {request.role} request has no place in the {self.role} cache")
        key = digest([self._endpoint, request.key(model)])
        return self._folder / key[:2] / f"{key}.json"


class CachedClient:
    """Answers from `cache`, else asks `inner` and keeps the reply; equal requests ask once."""

    def __init__(self, inner: Client, cache: ReplyCache) -> None:
        self._inner, self._cache = inner, cache
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def model(self) -> str:
        """The inner client's model."""
        return self._inner.model

    async def complete(self, request: Request) -> Reply:
        """Return the cached or the inner client's reply.

        Where equal requests come together one asks and the others wait; should it fail or be
        cancelled, the next one asks.
        """
        async with self._asking.setdefault(request.key(self.model), asyncio.Lock()):
            found = await asyncio.to_thread(self._cache.find, request, self.model)
            if found is not None:
                return found
            reply = await self._inner.complete(request)
            await asyncio.to_thread(self._cache.keep, request, self.model, reply)
            return reply

    async def aclose(self) -> None:
        """Close the inner client."""
        await self._inner.aclose()
