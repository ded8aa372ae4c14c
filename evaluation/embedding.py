"""Vectors of frames and questions from one model, kept by content: none is paid for twice."""

import base64
from collections.abc import AsyncIterator, Sequence
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
from psychemme.errors import EndpointError
from psychemme.media.vectors import keep_vector, kept_vectors

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
        # Not in one request: few servers embed pictures and texts together.
        (text,), pictures = await self._vectors([question]), await self._vectors(frames)
        if {len(vector) for vector in pictures} != {len(text)}:
            raise EndpointError(
                f"{self.client.model} gives vectors of different lengths.",
                "Choose a model that embeds pictures and text in one space.",
            )
        return cosine(text, np.stack(pictures))

    async def _vectors(self, things: Sequence[str | MediaPart]) -> list[Floats]:
        keys = [self._key(thing) for thing in things]
        found = kept_vectors(self.folder, keys)
        left = {key: thing for key, thing in zip(keys, things, strict=True) if key not in found}
        for start in range(0, len(left), _BATCH):
            batch = dict(list(left.items())[start : start + _BATCH])
            vectors = await self.client.embed([_input(thing) for thing in batch.values()])
            for key, vector in zip(batch, vectors, strict=True):
                found[key] = keep_vector(self.folder, key, vector)
        return [found[key].astype(np.float64) for key in keys]

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
