"""A wire between a browser and a server that keeps every byte the browser was sent."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

from psychemme.canonical import now

MARK = "zq7x4k"
"""Every word that some browser must not receive begins with it."""


class Wire:
    """Carries a browser's bytes to the server and back, and keeps what the browser was sent."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._joined: set[asyncio.Task[None]] = set()
        self.received: list[list[tuple[int, bytes]]] = []
        """For each connection, when (UTC microseconds) it brought what."""
        self.withheld: str | None = None
        self.held = asyncio.Event()

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[str]:
        """Return the address at which a browser finds the server through this wire."""
        listener = await asyncio.start_server(self._join, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        listener.close()
        for task in self._joined:
            task.cancel()
        await asyncio.gather(*self._joined, return_exceptions=True)

    def withhold(self, what: str | None) -> None:
        """Keep the next votes' "request" or "response" from arriving; None lets all through."""
        self.withheld = what
        self.held.clear()

    def words(self) -> Iterator[tuple[int, str]]:
        """Yield when each marked word arrived, and which it is."""
        for pieces in self.received:
            whole, ends = b"".join(data for _, data in pieces), []
            for at, data in pieces:
                ends.append((len(data) + (ends[-1][0] if ends else 0), at))
            for found in re.finditer(rf"{MARK}\w+".encode(), whole, re.IGNORECASE):
                at = next(at for end, at in ends if found.start() < end)
                yield at, found[0].decode().lower()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._joined.add(task)
        with suppress(asyncio.CancelledError):
            await self._carry(reader, writer)
        self._joined.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        is_mute = asyncio.Event()
        ways = [
            asyncio.create_task(self._ask(reader, server, is_mute)),
            asyncio.create_task(self._answer(answers, writer, is_mute)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in (writer, server):
                end.close()

    async def _ask(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, is_mute: asyncio.Event
    ) -> None:
        while data := await reader.read(2**16):
            if self.withheld and re.match(rb"POST /api/items/\S+/vote ", data):
                if self.withheld == "request":
                    self.held.set()
                    await asyncio.Event().wait()
                is_mute.set()
            server.write(data)
            await server.drain()

    async def _answer(
        self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter, is_mute: asyncio.Event
    ) -> None:
        pieces: list[tuple[int, bytes]] = []
        self.received.append(pieces)
        while data := await answers.read(2**16):
            if is_mute.is_set():
                self.held.set()
                continue
            pieces.append((now(), data))
            writer.write(data)
            await writer.drain()
