"""Vectors of frames and questions from one model, kept by content: none is paid for twice."""

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from evaluation.inputs import InputPolicy, Keyframes
from evaluation.keyframes import Floats, cosine
from psychemme.canonical import digest
from psychemme.clients.cards import Cards
from psychemme.clients.make import openai_client
from psychemme.clients.protocol import MediaPart
from psychemme.clients.terms import endpoint_of
from psychemme.config import Settings
from psychemme.media.vectors import Vector, keep_vectors, kept_vectors, refuse_unusable

_BATCH = 16
"""Inputs a request: with pictures of 512 pixels about a megabyte."""

Input = dict[str, object]


class EmbeddingClient(Protocol):
    """What turns texts and pictures into vectors of one space."""

    model: str

    async def embed(self, inputs: Sequence[str | Input]) -> list[list[float]]:
        """Return the vector of each input, `{"text": ...}` or `{"image": data URL}`."""


@dataclass(frozen=True)
class Embedder:
    """Embeds with `client`; vectors are kept in `folder`."""

    client: EmbeddingClient
    folder: Path

    async def likeness(self, question: str, frames: Sequence[MediaPart]) -> Floats:
        """Return the cosine similarity (F,) of `question` and each of `frames`.

        Raises EndpointError where the endpoint does not embed both in one space.
        """
        shown: list[str | MediaPart] = [question, *frames]
        text, *pictures = map(self._key, shown)
        things = dict(zip((text, *pictures), shown, strict=True))
        found = kept_vectors(self.folder, things)
        refuse_unusable(self.folder, self.client.model, list(found.values()))
        await self._complete(found, things)
        vectors = np.stack([found[key] for key in pictures]).astype(np.float64)
        return cosine(found[text].astype(np.float64), vectors)

    async def _complete(
        self, found: dict[str, Vector], things: Mapping[str, str | MediaPart]
    ) -> None:
        """Add to what is `found` the vectors of the other `things`, the text being the first."""
        left = [(key, thing) for key, thing in things.items() if key not in found]
        # Not in one request: few servers embed pictures and texts together.
        alone = sum(isinstance(thing, str) for _, thing in left)
        batches = [left[:alone], *(left[n : n + _BATCH] for n in range(alone, len(left), _BATCH))]
        fresh: dict[str, list[float]] = {}
        for batch in filter(None, batches):
            vectors = await self.client.embed([_input(thing) for _, thing in batch])
            fresh |= zip((key for key, _ in batch), vectors, strict=True)
            # A lone vector waits until another shows whether both are of one space.
            if found or len(fresh) > 1:
                found |= keep_vectors(self.folder, self.client.model, fresh, found)
                fresh = {}

    def _key(self, thing: str | MediaPart) -> str:
        content = ["text", thing] if isinstance(thing, str) else ["image", thing.sha256]
        return digest(["embedding 1", self.client.model, *content])


@asynccontextmanager
async def open_embedder(
    policy: InputPolicy, cards: Cards, settings: Settings, folder: Path
) -> AsyncIterator[Embedder | None]:
    """Yield what embeds for `policy`, None where it needs nothing; vectors go to `folder`.

    It is asked at its card's own address, else where `settings` say. Raises ConfigError where
    neither is known.
    """
    name = policy.embedding_model
    if policy.keyframes is not Keyframes.BOLT or name is None:
        yield None
        return
    endpoint = endpoint_of(settings, cards)
    if cards.card_for(name).base_url:
        # A key for another address stays there.
        endpoint = replace(endpoint, base_url=None, api_key=None)
    client = openai_client(name, endpoint)
    try:
        yield Embedder(client, folder)
    finally:
        await client.aclose()


def _input(thing: str | MediaPart) -> Input:
    if isinstance(thing, str):
        return {"text": thing}
    data = base64.b64encode(thing.path.read_bytes()).decode()
    return {"image": f"data:{thing.mime_type};base64,{data}"}
