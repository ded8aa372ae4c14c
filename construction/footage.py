"""What of an episode a model is sent: native video and sound where its card allows, else frames.

It is chosen by the model's card and the episode alone, so that nothing private can steer it. The
transcript is part of the prompt whatever is sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from psychemme.clients.cards import ModelCard
from psychemme.clients.fitting import Fitter
from psychemme.clients.protocol import MediaPart
from psychemme.errors import MediaError, WorkspaceError
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.media.clip_files import clip_file
from psychemme.media.episode_media import episode_audio, episode_video
from psychemme.media.remote import is_uri
from state.values import ClipRecord, EpisodeRecord, Frame, Material

Media = Callable[[Material], Awaitable[tuple[MediaPart, ...]]]
"""Gives the media of an episode, as one model takes them."""

_CHANGED = "Put the file back as it was added, then run `psychemme generate --resume`."


@dataclass(frozen=True)
class Window:
    """An episode's place in its clip, in seconds from the clip's start."""

    clip: ClipRecord
    start: float
    end: float


def windows_of(
    episodes: Iterable[EpisodeRecord], clips: Mapping[str, ClipRecord]
) -> dict[tuple[str, int], Window]:
    """Return the window of each episode by its id and preparation."""
    return {
        (episode.id, episode.preparation): Window(
            clips[episode.clip_id], episode.start, episode.end
        )
        for episode in episodes
    }


@dataclass
class Footage:
    """Cuts an episode's video and sound when they are first asked for, one at a time."""

    windows: Mapping[tuple[str, int], Window]
    blobs: BlobStore
    _made: dict[tuple[str, str, int], MediaPart | None] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def video(self, material: Material) -> MediaPart | None:
        """Return the episode as MP4, pictures only; raises MediaError."""
        return await self._part("video", material)

    async def sound(self, material: Material) -> MediaPart | None:
        """Return the episode's sound as WAV, None where it has none; raises MediaError."""
        return await self._part("audio", material)

    async def _part(self, kind: str, material: Material) -> MediaPart | None:
        place = (kind, material.episode_id, material.preparation)
        if place not in self._made:
            async with self._turn:
                if place not in self._made:
                    window = self.windows[place[1:]]
                    self._made[place] = await asyncio.to_thread(self._make, kind, window)
        return self._made[place]

    def _make(self, kind: str, window: Window) -> MediaPart | None:
        path = _unchanged(window.clip, self.blobs.root)
        where = (path, window.start, window.end, self.blobs, window.clip.sha256)
        if kind == "video":
            sha256 = episode_video(*where)
            return MediaPart("video", "video/mp4", sha256, self.blobs.path(sha256))
        heard = episode_audio(*where)
        return MediaPart("audio", "audio/wav", heard, self.blobs.path(heard)) if heard else None


def media_for(card: ModelCard, footage: Footage) -> Media:
    """Return what gives a model with `card` an episode's media, native first, each on its own.

    A part that is larger than the card allows counts as not native. Raises MediaError where the
    clip is gone, changed or cannot be cut, WorkspaceError where a frame is gone.
    """
    fitter = Fitter(card.images, footage.blobs)

    async def media(material: Material) -> tuple[MediaPart, ...]:
        video = within(card, await footage.video(material)) if card.native_video else None
        sound = within(card, await footage.sound(material)) if card.native_audio else None
        seen = (video,) if video else await asyncio.to_thread(
            lambda: fitter.fit(frame_parts(material.frames, footage.blobs.path))
        )  # fmt: skip
        return (*seen, sound) if sound else seen

    return media


def frames_at(path_of: Callable[[str], Path]) -> Media:
    """Return what gives every frame of an episode and nothing else."""

    async def media(material: Material) -> tuple[MediaPart, ...]:
        return frame_parts(material.frames, path_of)

    return media


def frame_parts(frames: Sequence[Frame], path_of: Callable[[str], Path]) -> tuple[MediaPart, ...]:
    """Return frames as parts; raises WorkspaceError where one is gone."""
    try:
        return tuple(
            MediaPart("image", "image/jpeg", f.sha256, path_of(f.sha256), f.time) for f in frames
        )
    except KeyError as error:
        raise WorkspaceError(
            f"The frame {error.args[0]} is no longer in the workspace.",
            "Restore the workspace's blobs folder, then run `psychemme generate --resume`.",
        ) from None


def sent(media: Sequence[MediaPart]) -> dict[str, object]:
    """Return what the record of a call keeps of its media: digests, and times in seconds."""
    return {
        "frames": [[part.time, part.sha256] for part in media if part.kind == "image"],
        **{part.kind: part.sha256 for part in media if part.kind != "image"},
    }


def within(card: ModelCard, part: MediaPart | None) -> MediaPart | None:
    """Return a part, None where it is larger than the card allows."""
    if part is None or card.max_media_bytes is None:
        return part
    return part if part.path.stat().st_size <= card.max_media_bytes else None


def _unchanged(clip: ClipRecord, folder: Path) -> Path:
    path = clip_file(clip.path, clip.sha256, folder)
    if is_uri(clip.path):
        return path
    if not path.is_file():
        raise MediaError(f"{path.name!r} is no longer at {path}.", _CHANGED)
    facts = path.stat()
    is_same = (facts.st_size, facts.st_mtime_ns // 1000) == (clip.size, clip.modified_at)
    if not is_same and sha256_file(path) != clip.sha256:
        raise MediaError(f"{path.name!r} has changed since it was added.", _CHANGED)
    return path
