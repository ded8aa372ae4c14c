"""Ask a model one tiny thing, and one about a tiny picture, and say what works."""

import hashlib
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import Field

from psychemme.clients.cards import JsonMode, ModelCard
from psychemme.clients.protocol import MediaPart, Parameters, Reply, Request
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.episode import Value
from psychemme.errors import EndpointError, PsychemmeError, ReplyError, UserError
from psychemme.vocabulary import AgentRole

SIDE = 64
"""Pixels of the picture that is shown: one colour, red."""

_REFUSED = frozenset({401, 403})
_TOKENS = 512


class Probe(Value):
    """What the model is asked for."""

    word: str = Field(min_length=1)


class CheckedClient(Protocol):
    """A client that tells how it holds replies to JSON."""

    @property
    def json_mode(self) -> JsonMode:
        """The mode in force."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Return the model's reply."""
        ...


@dataclass(frozen=True)
class Finding:
    """One thing that was tried; `works` is None where it was not. `action` is for the user."""

    what: str
    works: bool | None
    found: str
    action: str = ""


async def check_model(client: CheckedClient, card: ModelCard) -> list[Finding]:
    """Return what works with the model behind `client`; costs one or two tiny calls."""
    try:
        reply = await client.complete(_request("Reply with the word yes."))
    except PsychemmeError as fault:
        return _unreachable(fault)
    findings = [
        Finding("reachable", True, "answers"),
        Finding("key", True, "accepted"),
        Finding("chat", bool(reply.text.strip()), reply.finish_reason),
        _json(client.json_mode, card, reply),
    ]
    if card.images.most != 0:
        findings.append(await _image(client))
    used = reply.usage
    counts = bool(used.input_tokens or used.output_tokens)
    tokens = f"{used.input_tokens} in, {used.output_tokens} out"
    return [
        *findings,
        Finding("usage", counts, tokens if counts else "not reported"),
        Finding("latency", True, f"{reply.latency:.2f} s"),
    ]


def _unreachable(fault: PsychemmeError) -> list[Finding]:
    status = fault.status if isinstance(fault, EndpointError) else None
    answers = isinstance(fault, ReplyError) or status is not None
    refused = status in _REFUSED
    problem, action = _told(fault)
    return [
        Finding("reachable", answers, "answers" if answers else problem, "" if answers else action),
        Finding("key", False if refused else None, problem if refused else "", action * refused),
        Finding("chat", False, problem, action),
    ]


def _json(mode: JsonMode, card: ModelCard, reply: Reply) -> Finding:
    said = str(mode) if mode is card.json_mode else f"{mode}: {card.json_mode} was refused"
    try:
        parse_reply(reply.text, Probe)
    except InvalidReply as fault:
        return Finding("json mode", False, f"{said}, and {fault}")
    action = "" if mode is card.json_mode else f"Set json_mode: {mode} on the model's card."
    return Finding("json mode", mode is card.json_mode, said, action)


async def _image(client: CheckedClient) -> Finding:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "red.png"
        path.write_bytes(red_png())
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        picture = MediaPart("image", "image/png", sha256, path)
        asked = "Reply with the colour of the picture in one word."
        try:
            reply = await client.complete(_request(asked, picture))
        except PsychemmeError as fault:
            problem, _ = _told(fault)
            return Finding("image", False, problem, "Set images: {most: 0} on the model's card.")
    sees = "red" in reply.text.casefold()
    return Finding("image", True, "taken, and seen" if sees else "taken; the answer was not red")


def _told(fault: PsychemmeError) -> tuple[str, str]:
    if isinstance(fault, UserError):
        return fault.problem, fault.action
    return f"the reply is unusable ({fault})", "docs/failures.md lists what the code means."


def _request(asked: str, *media: MediaPart) -> Request:
    return Request(
        role=AgentRole.ANSWER,
        prompt_id="check",
        prompt_hash="",
        system="You are asked whether you work.",
        user=asked,
        inputs={},
        reply_schema=Probe,
        media=media,
        parameters=Parameters(max_output_tokens=_TOKENS),
    )


def red_png() -> bytes:
    """Return a red square as PNG."""
    rows = (b"\0" + b"\xff\0\0" * SIDE) * SIDE
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
