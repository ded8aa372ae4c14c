"""The one contract between agents and whatever answers them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from psychemme.canonical import digest
from psychemme.vocabulary import Role


@dataclass(frozen=True)
class MediaPart:
    """A frame, audio or video file. `time` is seconds from episode start, for frames."""

    kind: Literal["image", "audio", "video"]
    mime_type: str
    sha256: str
    path: Path
    time: float | None = None


@dataclass(frozen=True)
class Parameters:
    """Decoding parameters; all are part of the request's hash."""

    temperature: float = 0.0
    max_output_tokens: int = 2048
    seed: int | None = None


@dataclass(frozen=True)
class Request:
    """One call to a model.

    `inputs` are the prompt's variables as values, exactly those rendered into `system` and `user`:
    a client without a language model reads them instead of the text, and sees nothing more.
    `exchange` is the repair conversation so far: each unusable reply and what was wrong with it.
    `draw` numbers calls that would otherwise be alike, so that a re-answer is a new call while a
    resume never is.
    """

    role: Role
    prompt_id: str
    prompt_hash: str
    system: str
    user: str
    inputs: Mapping[str, Any]
    reply_schema: type[BaseModel]
    media: tuple[MediaPart, ...] = ()
    parameters: Parameters = field(default_factory=Parameters)
    exchange: tuple[tuple[str, str], ...] = ()
    draw: int = 0

    def key(self, model: str) -> str:
        """Return the SHA-256 that identifies this call to `model` (hex)."""
        identity = {
            "role": self.role,
            "model": model,
            "parameters": vars(self.parameters),
            "system": self.system,
            "user": self.user,
            "schema": self.reply_schema.__name__,
            "media": [(part.kind, part.sha256, part.time) for part in self.media],
            "exchange": self.exchange,
            "draw": self.draw,
        }
        return digest(identity)


@dataclass(frozen=True)
class Usage:
    """Tokens and money of one call; `cost` is in US dollars, None where the price is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True)
class Reply:
    """What came back, verbatim. `latency` is in seconds; `cached` says that nothing was paid."""

    text: str
    model: str
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    latency: float = 0.0
    cached: bool = False


class Client(Protocol):
    """Answers requests for one model.

    Raises `EndpointError` where no request can succeed, `ReplyError` where this one cannot.
    """

    @property
    def model(self) -> str:
        """The model's name, as the ledger keeps it."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Return the model's reply to `request`."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
