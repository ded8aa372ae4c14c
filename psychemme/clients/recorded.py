"""Replay: replies kept in a file by the key of their request, and nothing of the request."""

import os
from pathlib import Path

from pydantic import ValidationError

from psychemme.clients.protocol import Client, Reply, Request, Usage
from psychemme.episode import Value
from psychemme.errors import ConfigError


class Recording(Value):
    """One line of the file; `key` is `Request.key(model)`, `latency` in seconds."""

    key: str
    model: str
    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency: float = 0.0


class RecordedClient:
    """Replays the JSONL file `path`; with `inner` it asks for what is missing, and records it.

    A recording holds one model. Raises ConfigError where a line is no recording, where the file
    belongs to another model, or where it is empty and there is no `inner`.
    """

    def __init__(self, path: Path, inner: Client | None = None) -> None:
        self._path = path
        self._inner = inner
        lines = _read(path, mend=inner is not None)
        self._recordings = {line.key: line for line in lines}
        models = {line.model for line in lines} | ({inner.model} if inner else set())
        if len(models) != 1:
            named = ", ".join(sorted(models)) or "no model"
            raise ConfigError(
                f"{path} holds replies of {named}.", "Give each model a file of its own."
            )
        self.model = models.pop()

    async def complete(self, request: Request) -> Reply:
        """Return the recorded reply; raises ConfigError naming a key that is not there."""
        key = request.key(self.model)
        if (found := self._recordings.get(key)) is not None:
            return _reply(found)
        if self._inner is None:
            raise ConfigError(
                f"{self._path} holds no {request.role} reply with the key {key}.",
                "Record it with the model itself, or restore prompts, media and parameters.",
            )
        reply = await self._inner.complete(request)
        self._append(_recording(key, self.model, reply))
        return reply

    async def aclose(self) -> None:
        """Close the inner client."""
        if self._inner is not None:
            await self._inner.aclose()

    def _append(self, recording: Recording) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(recording.model_dump_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._recordings[recording.key] = recording


def _recording(key: str, model: str, reply: Reply) -> Recording:
    usage = vars(reply.usage)
    return Recording(
        key=key,
        model=model,
        text=reply.text,
        finish_reason=reply.finish_reason,
        latency=reply.latency,
        **usage,
    )


def _reply(line: Recording) -> Reply:
    usage = Usage(line.input_tokens, line.output_tokens, line.cost)
    return Reply(line.text, line.model, line.finish_reason, usage, line.latency)


def _read(path: Path, *, mend: bool) -> list[Recording]:
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if mend and whole != content:
        # A kill tore the last line: nothing may be appended to its rest.
        os.truncate(path, len(whole))
    return [_parse(path, i, line) for i, line in enumerate(whole.splitlines(), start=1)]


def _parse(path: Path, number: int, line: bytes) -> Recording:
    try:
        return Recording.model_validate_json(line)
    except ValidationError:
        raise ConfigError(
            f"{path}, line {number}, is no recording.", "Remove the line, or record it again."
        ) from None
