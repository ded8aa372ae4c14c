"""From added clips to episodes: measure each clip, choose windows, store what agents may see."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from construction.episodes import NoWindow, choose_windows, episode_id, history_before
from construction.plan import EpisodeLimits, Plan
from construction.screening.verdicts import Standing, read_standings
from construction.workspace import Workspace
from psychemme.canonical import digest
from psychemme.config import Settings
from psychemme.episode import Episode, HistoryEntry, Interval
from psychemme.errors import MediaError
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.media.clip_files import clip_file, clip_file_with_sidecar, uri_holds
from psychemme.media.episode_media import episode_media
from psychemme.media.prepare import PreparedClip, prepare_clips
from psychemme.media.remote import is_uri
from psychemme.media.settings import MediaSettings
from psychemme.media.signals import window
from psychemme.media.transcript import window_transcript
from psychemme.vocabulary import ClipStatus
from state.clips import ClipStore
from state.leases import hold
from state.values import ClipRecord, EpisodeRecord, Frame

_HISTORY = TypeAdapter(tuple[HistoryEntry, ...])
_NO_EPISODE = {
    NoWindow.TOO_SHORT: (
        "gives no episode: it lasts {length:.1f} s, under the plan's {least:g} s",
        "Give a longer recording, or lower episodes.min_seconds in the plan.",
    ),
    NoWindow.NO_SPEECH: (
        "gives no episode: no speech was found where one could be cut",
        "Leave it out, or set episodes.require_speech to false in the plan.",
    ),
    NoWindow.TAKEN: (
        "gives no episode: other clips of its source video already cover it",
        "Leave it out.",
    ),
}


Measure = Callable[[Sequence[ClipRecord]], Iterator[tuple[str, PreparedClip]]]
"""Yields (SHA-256, prepared clip) for each clip, as they finish."""


@dataclass
class Summary:
    """What a `prepare` did."""

    prepared: int = 0
    refused: int = 0
    unchanged: int = 0
    episodes: int = 0
    notes: list[str] = field(default_factory=list)


def prepare_workspace(
    workspace: Workspace,
    settings: Settings,
    plan: Plan,
    show: Callable[[int, int, str], None] = lambda *_: None,
    measure: Measure | None = None,
) -> Summary:
    """Prepare every clip whose content or settings changed since it was last prepared.

    Finished measurements are cached, so a killed `prepare` repeats none. A faulty clip is refused
    with its reason and stops no other. `measure` does the measuring, by default processes of this
    machine. Raises ConfigError where the speech model is missing, and
    WorkspaceError where another process holds the Shared State or took it over.
    """
    media = MediaSettings(asr=settings.asr)
    blobs = BlobStore(workspace.blobs, settings.media)
    measure = measure or (
        lambda clips: measure_here(
            [(clip.path, clip.sha256) for clip in clips], media, blobs, settings.workers
        )
    )
    with (
        hold(workspace.database, "prepare") as lease,
        ClipStore(workspace.database, lease) as store,
    ):
        clips = sorted(store.clips(), key=lambda c: (c.source_video_id, c.source_start, c.id))
        screened = read_standings(workspace.database)
        work = _Preparation(store, blobs, media, plan.episodes, store.preparation(), screened)
        present = [clip for clip in clips if work.is_present(clip)]
        measured: dict[str, PreparedClip] = {}
        names = {clip.sha256: Path(clip.path).name for clip in present}
        show(0, len(clips), "")
        for sha256, prepared in measure(present):
            store.check_lease()
            measured[sha256] = prepared
            show(len(measured), len(clips), names[sha256])
        for clip in present:
            work.save(clip, measured[clip.sha256])
        show(len(clips), len(clips), "")
        work.summary.episodes = len(store.episodes())
    return work.summary


def measure_here(
    jobs: Sequence[tuple[str, str]], media: MediaSettings, blobs: BlobStore, workers: int
) -> Iterator[tuple[str, PreparedClip]]:
    """Measure clips, as (path or URI, SHA-256), in processes of this machine, `workers` at once."""
    refused: list[PreparedClip] = []

    def files() -> Iterator[tuple[Path, str]]:
        for path, sha256 in jobs:
            try:
                yield clip_file_with_sidecar(path, sha256, blobs.root), sha256
            except MediaError as fault:
                refused.append(
                    PreparedClip(sha256=sha256, problem=fault.problem, action=fault.action)
                )

    yield from prepare_clips(files(), media, blobs, workers)
    yield from ((one.sha256, one) for one in refused)


def cut_ahead(
    clip_id: str,
    file: Path,
    prepared: PreparedClip,
    limits: EpisodeLimits,
    media: MediaSettings,
    blobs: BlobStore,
) -> None:
    """Store the frames of the episodes that a clip alone in its source video gives."""
    length = prepared.probe.duration if prepared.probe else 0.0
    said = (prepared.signals.speech, prepared.transcript)
    for span in choose_windows(clip_id, length, *said, limits, ()).windows:
        episode_media(file, span.start, span.end, media, blobs, prepared.sha256)


@dataclass
class _Preparation:
    store: ClipStore
    blobs: BlobStore
    media: MediaSettings
    limits: EpisodeLimits
    number: int
    screened: Mapping[str, Standing]
    summary: Summary = field(default_factory=Summary)
    _covered: dict[str, list[Interval]] = field(default_factory=dict)

    def is_present(self, clip: ClipRecord) -> bool:
        """Return whether the file still holds the clip's bytes; else refuse the clip."""
        path = Path(clip.path)
        is_there = uri_holds(clip.path, clip.size) if is_uri(clip.path) else path.is_file()
        if not is_there:
            self._refuse(clip, "is no longer there", "Put it back, or add it where it is now.")
            return False
        if is_uri(clip.path):
            return True  # Its bytes are checked when they are fetched.
        facts = path.stat()
        if (facts.st_size, facts.st_mtime_ns // 1000) == (clip.size, clip.modified_at):
            return True
        if sha256_file(path) != clip.sha256:
            self._refuse(clip, "has changed since it was added", "Add it again as a new clip.")
            return False
        return True

    def save(self, clip: ClipRecord, prepared: PreparedClip) -> None:
        """Store the clip's episodes, unless its newest preparation holds the same."""
        self.summary.notes.extend(f"{Path(clip.path).name}: {w}" for w in prepared.warnings)
        if prepared.problem is not None:
            self._store(clip, prepared, (), prepared.problem, prepared.action)
            return
        if clip.id in self.screened and (refusal := self.screened[clip.id].refusal):
            self._store(clip, prepared, (), *refusal)
            return
        chosen = choose_windows(
            clip.id,
            prepared.probe.duration if prepared.probe else 0.0,
            prepared.signals.speech,
            prepared.transcript,
            self.limits,
            self._taken(clip),
        )
        if chosen.reason is not None:
            reason, action = _NO_EPISODE[chosen.reason]
            length = prepared.probe.duration if prepared.probe else 0.0
            why = reason.format(length=length, least=self.limits.min_seconds)
            self._store(clip, prepared, (), f"{Path(clip.path).name!r} {why}.", action)
            return
        self._take(clip, chosen.windows)
        try:
            episodes = self._episodes(clip, prepared, chosen.windows)
        except MediaError as error:
            self._store(clip, prepared, (), error.problem, error.action)
        else:
            self._store(clip, prepared, episodes, None, None)

    def _episodes(
        self, clip: ClipRecord, prepared: PreparedClip, windows: Sequence[Interval]
    ) -> tuple[EpisodeRecord, ...]:
        length = prepared.probe.duration if prepared.probe else 0.0
        episodes = []
        for position, span in enumerate(windows):
            frames = episode_media(
                partial(clip_file, clip.path, clip.sha256, self.blobs.root),
                span.start,
                span.end,
                self.media,
                self.blobs,
                clip.sha256,
            )
            context = (
                f"Part {position + 1} of {len(windows)} of a recording of {length:.0f} s, "
                f"from {span.start:.1f} s on."
            )
            content = Episode(
                duration=round(span.end - span.start, 6),
                public_context=" ".join(filter(None, (clip.context, context))),
                transcript=window_transcript(prepared.transcript, span.start, span.end),
                signals=window(prepared.signals, span.start, span.end),
                history=_history(clip, prepared, windows[:position], span.start),
            )
            episodes.append(
                EpisodeRecord(
                    id=episode_id(clip.id, span.start, span.end),
                    clip_id=clip.id,
                    preparation=self.number,
                    start=span.start,
                    end=span.end,
                    content=content,
                    frames=tuple(Frame(time=time, sha256=sha256) for time, sha256 in frames),
                )
            )
        return tuple(episodes)

    def _store(
        self,
        clip: ClipRecord,
        prepared: PreparedClip,
        episodes: Sequence[EpisodeRecord],
        reason: str | None,
        action: str | None,
    ) -> None:
        contents = [
            episode.model_dump(mode="json", exclude={"preparation"}) for episode in episodes
        ]
        content_hash = digest([contents, reason])
        self.summary.prepared += reason is None
        self.summary.refused += reason is not None
        if self.store.prepared_hash(clip.id) == content_hash:
            self.summary.unchanged += 1
            return
        changes = {
            "status": ClipStatus.PREPARED if reason is None else ClipStatus.REFUSED,
            "reason": reason,
            "action": action,
            "duration": prepared.probe.duration if prepared.probe else clip.duration,
            "probe_json": prepared.probe.model_dump_json() if prepared.probe else clip.probe_json,
        }
        notes = {"warnings": list(prepared.warnings)}
        source = prepared.transcript_source
        updated = clip.model_copy(update=changes)
        self.store.save_preparation(updated, self.number, content_hash, source, notes, episodes)

    def _refuse(self, clip: ClipRecord, reason: str, action: str) -> None:
        """Refuse a clip whose file is not what was added: new runs no longer use its episodes."""
        gone = PreparedClip(sha256=clip.sha256)
        self._store(clip, gone, (), f"{Path(clip.path).name!r} {reason}.", action)

    def _taken(self, clip: ClipRecord) -> list[Interval]:
        """Return what earlier clips of the source video cover, in seconds of this clip."""
        shift = clip.source_start
        covered = self._covered.get(clip.source_video_id, [])
        return [Interval(start=w.start - shift, end=w.end - shift) for w in covered]

    def _take(self, clip: ClipRecord, windows: Sequence[Interval]) -> None:
        shift = clip.source_start
        covered = self._covered.setdefault(clip.source_video_id, [])
        covered.extend(Interval(start=w.start + shift, end=w.end + shift) for w in windows)


def _history(
    clip: ClipRecord, prepared: PreparedClip, earlier: Sequence[Interval], start: float
) -> tuple[HistoryEntry, ...]:
    supplied = _HISTORY.validate_json(clip.history_json) if clip.history_json else ()
    said = [
        utterance
        for utterance in prepared.transcript
        if any(w.start <= (utterance.start + utterance.end) / 2 < w.end for w in earlier)
    ]
    return (*supplied, *history_before(said, start))
