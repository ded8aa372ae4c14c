"""Vectors of what items ask, from an embedding model; each text is paid once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from construction.audits.asking import Told
from construction.audits.meaning import Vectors
from construction.audits.similar import asked_of
from construction.audits.values import AuditItem
from construction.endpoints import places_of
from construction.leakage.filtering import work_through
from psychemme.canonical import digest
from psychemme.clients.cards import Cards
from psychemme.clients.make import openai_client
from psychemme.clients.size import text_tokens
from psychemme.clients.terms import endpoint_of, terms_of
from psychemme.config import Settings
from psychemme.media.vectors import Vector, keep_vectors, kept_vectors, refuse_unusable

_BATCH = 64


@dataclass(frozen=True)
class Embedding:
    """Which model embeds, and the folder where its vectors are kept, by model and text."""

    model: str
    settings: Settings
    cards: Cards
    folder: Path

    def kept(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those texts that were embedded before."""
        keys = {text: self.key(text) for text in texts}
        found = kept_vectors(self.folder, keys.values())
        return {text: found[key] for text, key in keys.items() if key in found}

    def key(self, text: str) -> str:
        """Return what names the vector of a text (hex)."""
        place = places_of({"": self.model}, self.settings, self.cards)[self.model]
        return digest(["embedding", place, self.model, text])


@dataclass(frozen=True)
class EmbeddingEstimate:
    """What the texts without a vector would take; `cost` in US dollars, None where unknown."""

    texts: int
    missing: int
    input_tokens: int
    cost: float | None


def estimate_embedding(embedding: Embedding, items: Sequence[AuditItem]) -> EmbeddingEstimate:
    """Return what the missing vectors would take; asks nothing."""
    texts = texts_of(items)
    held = embedding.kept(texts)
    tokens = sum(text_tokens(text) for text in texts if text not in held)
    price = terms_of(embedding.model, embedding.settings, embedding.cards).price
    cost = price.of(tokens, 0) if price else None
    return EmbeddingEstimate(len(texts), len(texts) - len(held), tokens, cost)


def texts_of(items: Sequence[AuditItem]) -> list[str]:
    """Return the texts that are compared, each once."""
    return list(dict.fromkeys(map(asked_of, items)))


async def embed(
    embedding: Embedding,
    items: Sequence[AuditItem],
    stop: asyncio.Event,
    told: Told = lambda *_: None,
) -> Vectors:
    """Return the vector of every text that the items ask; what is missing is asked for.

    Raises ConfigError where the endpoint is not set, EndpointError where it embeds nothing
    or vectors are all zero or not of one length, Stopped where `stop` was set with work left.
    """
    texts = texts_of(items)
    found = embedding.kept(texts)
    refuse_unusable(embedding.folder, embedding.model, list(found.values()))
    left = [text for text in texts if text not in found]
    if left:
        endpoint = endpoint_of(embedding.settings, embedding.cards)
        client = openai_client(embedding.model, endpoint)

        async def some(batch: Sequence[str]) -> None:
            vectors = await client.embed(batch)
            keys = {embedding.key(text): text for text in batch}
            fresh = dict(zip(keys, vectors, strict=True))
            kept = keep_vectors(embedding.folder, embedding.model, fresh, found)
            found.update({keys[key]: vector for key, vector in kept.items()})
            told(len(found), len(texts))

        starts = range(0, len(left), _BATCH)
        works = (partial(some, left[at : at + _BATCH]) for at in starts)
        try:
            await work_through(works, embedding.settings.concurrency, stop)
        finally:
            await client.aclose()
    return found
