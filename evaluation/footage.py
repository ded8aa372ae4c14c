"""The media of a release: where its clips are, whether they are whole, and what is cut from them.

Frames, sound and video windows are kept by content in a folder that runs share.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from evaluation.embedding import Embedder
from evaluation.inputs import FrameSource, Given, InputPolicy, Keyframes
from evaluation.keyframes import select_frames
from psychemme.canonical import digest
from psychemme.clients.cards import ModelCard
from psychemme.clients.protocol import MediaPart
from psychemme.errors import MediaError
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.release.faults import counted
from psychemme.release.rows import EpisodeRow

_MOST_NAMED = 10
_MOST_CANDIDATES = 1024
_FIND = "Name the folder that holds the clips with --media, or fetch the clips again."


def find_clips(episodes: Iterable[EpisodeRow], folders: Sequence[Path]) -> dict[str, Path]:
    """Return the verified file of each episode's clip, by episode id.

    A clip is looked for below each of `folders` in turn, and hashed once. Raises MediaError naming
    every episode whose file is missing, lies outside the folders or has other bytes.
    """
    wanted = list(episodes)
    found = {e.id: _find(e.clip, folders) for e in wanted}
    sums = {path: sha256_file(path) for path in set(found.values()) if path is not None}
    faults = [f"{e.id}: {fault}" for e in wanted if (fault := _fault(e, found[e.id], sums))]
    if faults:
        more = f"; and {len(faults) - _MOST_NAMED} more" if len(faults) > _MOST_NAMED else ""
        listed = "; ".join(faults[:_MOST_NAMED])
        raise MediaError(
            f"{counted(len(faults), 'episode')} cannot be shown: {listed}{more}.", _FIND
        )
    return {name: path for name, path in found.items() if path is not None}


class Footage:
    """Cuts what a request shows out of verified clips, each window once.

    `embedder` is needed where a policy chooses frames by their likeness to the question.
    """

    def __init__(
        self, clips: dict[str, Path], folder: Path, embedder: Embedder | None = None
    ) -> None:
        self._clips = clips
        self._embedder = embedder
        self._blobs = BlobStore(folder)
        self._locks: dict[str, asyncio.Lock] = {}
        self._decoding = asyncio.Semaphore(max(1, (os.cpu_count() or 2) - 1))
        self._made: dict[tuple[str, Given], tuple[MediaPart, ...]] = {}
        self._left: Counter[str] = Counter()

    def expect(self, episode_ids: Collection[str]) -> None:
        """Note how often each episode will be asked for, so that its list is dropped after."""
        self._left.update(episode_ids)

    async def parts(
        self,
        episode: EpisodeRow,
        given: Given,
        policy: InputPolicy,
        card: ModelCard,
        question: str = "",
    ) -> tuple[MediaPart, ...]:
        """Return the media of `episode` under `given`; raises MediaError.

        Frames chosen by likeness depend on `question`, and raise EndpointError where the model
        that embeds them does not answer.
        """
        if not given.needs_clip:
            return ()
        key = (episode.id, given)
        async with self._locks.setdefault(episode.id, asyncio.Lock()):
            if (made := self._made.get(key)) is None:
                async with self._decoding:
                    made = await asyncio.to_thread(self._make, episode, given, policy, card)
                self._made[key] = made
            if policy.keyframes is Keyframes.BOLT and given.frames is FrameSource.SAMPLED:
                made = await self._most_like(question, made, _most_frames(policy, card))
        self._left[episode.id] -= 1
        if self._left[episode.id] <= 0:
            self._made.pop(key, None)
        return made

    async def _most_like(
        self, question: str, candidates: tuple[MediaPart, ...], most: int
    ) -> tuple[MediaPart, ...]:
        if len(candidates) <= most:
            return candidates
        if self._embedder is None:
            raise ValueError("frames cannot be chosen without an embedder")
        likeness = await self._embedder.likeness(question, candidates)
        return tuple(candidates[index] for index in select_frames(likeness.tolist(), most))

    def _make(
        self, episode: EpisodeRow, given: Given, policy: InputPolicy, card: ModelCard
    ) -> tuple[MediaPart, ...]:
        parts: list[MediaPart] = []
        if given.video:
            parts.append(self._video(episode, policy, sound=given.audio))
        elif given.audio:
            parts.extend(self._sound(episode))
        if given.frames is not FrameSource.NONE:
            parts.extend(self._frames(episode, given.frames, policy, card))
        return tuple(parts)

    def _frames(
        self, episode: EpisodeRow, source: FrameSource, policy: InputPolicy, card: ModelCard
    ) -> list[MediaPart]:
        from psychemme.media.frames import jpeg, sample_frames

        times = frame_times(episode.duration, source, policy, card)
        side = min(policy.max_side, card.images.max_side or policy.max_side)

        def make() -> list[list[float | str]]:
            asked = [episode.start + time for time in times]
            frames = sample_frames(self._clips[episode.id], asked, side, until=episode.end)
            return [
                [round(max(0.0, frame.time - episode.start), 3), self._put(jpeg(frame.image))]
                for frame in frames
            ]

        identity = ["evaluation frames 1", episode.sha256, episode.start, episode.end, times, side]
        listed = self._blobs.cached(digest(identity), make)
        return [self._part("image", "image/jpeg", str(blob), float(at)) for at, blob in listed]

    def _put(self, data: bytes) -> str:
        return self._blobs.put(data, ".jpg")

    def _sound(self, episode: EpisodeRow) -> list[MediaPart]:
        from psychemme.media.episode_media import episode_audio

        clip = self._clips[episode.id]
        blob = episode_audio(clip, episode.start, episode.end, self._blobs)
        return [] if blob is None else [self._part("audio", "audio/wav", blob)]

    def _video(self, episode: EpisodeRow, policy: InputPolicy, *, sound: bool) -> MediaPart:
        from psychemme.media.cut import cut_window

        def make() -> str:
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "window.mp4"
                clip, side = self._clips[episode.id], policy.max_side
                cut_window(clip, target, episode.start, episode.end, side, with_sound=sound)
                return self._blobs.put(target.read_bytes(), ".mp4")

        window = [episode.sha256, episode.start, episode.end, policy.max_side, sound]
        blob = self._blobs.cached(digest(["evaluation video 1", *window]), make)
        return self._part("video", "video/mp4", str(blob))

    def _part(self, kind: str, mime: str, blob: str, time: float | None = None) -> MediaPart:
        return MediaPart(kind, mime, blob, self._blobs.path(blob), time)  # type: ignore[arg-type]


def frame_times(
    duration: float, source: FrameSource, policy: InputPolicy, card: ModelCard
) -> tuple[float, ...]:
    """Return the times of the frames, in seconds from episode start, within the card's limit.

    Where they are chosen by likeness, these are the candidates: one a second, at most 1,024, but
    no fewer than are chosen.
    """
    from psychemme.media.frames import sample_times

    if source is FrameSource.NONE:
        return ()
    if source is FrameSource.MIDPOINT:
        return (round(duration / 2, 3),)
    most = _most_frames(policy, card)
    if policy.frames is None:
        return sample_times(duration, 1.0, most)
    if policy.keyframes is Keyframes.BOLT:
        return sample_times(duration, max(1.0, most / duration), _MOST_CANDIDATES)
    return sample_times(duration, most / duration, most)


def _most_frames(policy: InputPolicy, card: ModelCard) -> int:
    return min(policy.frames or 64, card.images.most or 64)


def sent_media(parts: Sequence[MediaPart]) -> list[dict[str, object]]:
    """Return a record of `parts`: kind, SHA-256, size in bytes, and time in seconds of frames."""
    return [
        {"kind": p.kind, "sha256": p.sha256, "bytes": p.path.stat().st_size}
        | ({} if p.time is None else {"time": p.time})
        for p in parts
    ]


def _find(clip: str, folders: Sequence[Path]) -> Path | None:
    name = PurePosixPath(clip)
    if name.is_absolute() or ".." in name.parts:
        return None
    return next((path for folder in folders if (path := folder / name).is_file()), None)


def _fault(episode: EpisodeRow, path: Path | None, sums: dict[Path, str]) -> str | None:
    if path is None:
        return f"{episode.clip!r} is not in the media folders"
    if sums[path] != episode.sha256:
        return f"{path} has SHA-256 {sums[path][:12]}…, not {episode.sha256[:12]}…"
    return None
