"""The sound of an episode as a probe lets it be heard: silent outside the windows it gives."""

import asyncio
import io
import wave
from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np

from construction.footage import Footage, within
from construction.leakage.probes import Windows
from psychemme.clients.cards import ModelCard
from psychemme.clients.protocol import MediaPart
from psychemme.media.blobs import BlobStore
from state.values import Material

Sound = Callable[[Material, Windows], Awaitable[MediaPart | None]]
"""Gives the sound of an episode's windows, None where there is none."""


def sound_for(card: ModelCard, footage: Footage) -> Sound:
    """Return what gives a model with `card` the sound of an episode, as long as the episode.

    None where no window is given, the episode has no sound, or it is larger than the card allows.
    Raises MediaError where the clip is gone, changed or cannot be cut.
    """

    async def sound(material: Material, windows: Windows) -> MediaPart | None:
        part = within(card, await footage.sound(material)) if windows else None
        if part is None:
            return None
        return await asyncio.to_thread(silenced, part, windows, footage.blobs)

    return sound


def silenced(part: MediaPart, windows: Windows, blobs: BlobStore) -> MediaPart:
    """Return a WAV (16-bit, mono) that is silent outside `windows`, stored in `blobs`."""
    target = io.BytesIO()
    with wave.open(str(part.path)) as file, wave.open(target, "wb") as made:
        made.setparams(file.getparams())
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        kept, rate = np.zeros_like(samples), file.getframerate()
        for start, end in windows:
            place = slice(round(start * rate), round(end * rate))
            kept[place] = samples[place]
        made.writeframes(kept.tobytes())
    sha256 = blobs.put(target.getvalue(), ".wav")
    return replace(part, sha256=sha256, path=blobs.path(sha256))
