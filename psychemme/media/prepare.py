"""From a clip's file to what can be observed in it: probe, screen, transcript, signals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter

from psychemme.canonical import digest
from psychemme.episode import Signals, Utterance, Value
from psychemme.errors import MediaError
from psychemme.media.audio import Sound, load_audio
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.media.isolation import Extend, Outcome, Task, run_isolated
from psychemme.media.probe import Probe, probe
from psychemme.media.settings import VERSION, AsrModel, MediaSettings, resolve_asr
from psychemme.media.sidecar import find_sidecar, read_sidecar
from psychemme.media.signals import measure
from psychemme.media.transcript import load_recogniser, transcribe

Source = Literal["sidecar", "asr", "none"]

NO_ASR = (
    "Speech was not transcribed: no speech model is installed and no transcript lies beside the "
    "clip. Install `psychemme[asr-model]`, name a model folder, or add a .srt, .vtt or .json file."
)
_BASE_LIMIT, _LIMIT_PER_SECOND, _SLOWEST_READ = 60.0, 10.0, 10_000_000
_Made = TypeVar("_Made")


class PreparedClip(Value):
    """A clip that can be observed, or the reason why it cannot.

    A refused clip has `problem` and the next `action`; `probe` is there where it got that far.
    Times are in seconds from the clip's presentation start. `warnings` are for people to read.
    """

    sha256: str
    probe: Probe | None = None
    transcript: tuple[Utterance, ...] = ()
    transcript_source: Source = "none"
    signals: Signals = Signals()
    warnings: tuple[str, ...] = ()
    problem: str | None = None
    action: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the clip cannot be used."""
        return self.problem is not None


def prepare_clip(
    path: Path, sha256: str, settings: MediaSettings, blobs: BlobStore
) -> PreparedClip:
    """Return the prepared clip in this process; every finished stage is cached in `blobs`.

    Media faults become a refusal. Raises ConfigError where the named speech model is missing.
    """
    model = resolve_asr(settings, blobs.root / "models")
    return _prepare(path, sha256, settings, model, blobs, _without_limit)


def prepare_clips(
    jobs: Iterable[tuple[Path, str]], settings: MediaSettings, blobs: BlobStore, workers: int = 1
) -> Iterator[tuple[str, PreparedClip]]:
    """Yield (SHA-256, prepared clip) for (path, SHA-256) jobs, as they finish.

    Each clip has a process of its own and 60 s plus ten times its length; a crash or a hang is
    that clip's refusal, is not cached and stops no other. Raises ConfigError as `prepare_clip`.
    """
    model = resolve_asr(settings, blobs.root / "models")
    tasks = (
        Task((path, sha256), (path, sha256, settings, model, blobs), _reading_limit(path))
        for path, sha256 in jobs
    )
    for outcome in run_isolated(_prepare, tasks, workers):
        yield outcome.key[1], outcome.result or _refusal_of(outcome)


def _prepare(
    path: Path,
    sha256: str,
    settings: MediaSettings,
    model: AsrModel | None,
    blobs: BlobStore,
    extend: Extend,
) -> PreparedClip:
    facts: Probe | None = None
    try:
        facts = _stage(blobs, Probe, ["probe", sha256], lambda: probe(path))
        extend(_BASE_LIMIT + _LIMIT_PER_SECOND * facts.duration)
        _screen(path, facts, settings)
        audio = _Audio(path, facts)
        signals = _stage(
            blobs,
            Signals,
            ["signals", sha256, settings.max_side],
            lambda: measure(path, facts, audio(), settings.max_side),
        )
        transcript, source = _transcript(path, sha256, facts, signals, model, audio, blobs)
    except MediaError as error:
        return PreparedClip(sha256=sha256, probe=facts, problem=error.problem, action=error.action)
    unheard = source == "none" and settings.asr == "auto" and bool(signals.speech)
    return PreparedClip(
        sha256=sha256,
        probe=facts,
        transcript=transcript,
        transcript_source=source,
        signals=signals,
        warnings=(NO_ASR,) if unheard else (),
    )


class _Audio:
    """The clip's sound, decoded when first asked for and once."""

    def __init__(self, path: Path, facts: Probe) -> None:
        self._path, self._end = path, facts.duration
        self._sound: Sound | None = None

    def __call__(self) -> Sound:
        if self._sound is None:
            self._sound = load_audio(self._path, end=self._end)
        return self._sound


def _screen(path: Path, facts: Probe, settings: MediaSettings) -> None:
    if facts.duration < settings.min_duration:
        raise MediaError(
            f"{path.name!r} lasts {facts.duration:.2f} s, under {settings.min_duration:g} s.",
            "Give a longer recording or lower `min_duration`.",
        )


def _transcript(
    path: Path,
    sha256: str,
    facts: Probe,
    signals: Signals,
    model: AsrModel | None,
    audio: _Audio,
    blobs: BlobStore,
) -> tuple[tuple[Utterance, ...], Source]:
    utterances = tuple[Utterance, ...]
    sidecar = find_sidecar(path)
    if sidecar is not None:
        key = ["sidecar", sha256, sidecar.suffix, sha256_file(sidecar)]
        read = _stage(blobs, utterances, key, lambda: read_sidecar(sidecar, facts.duration))
        return read, "sidecar"
    if model is None or facts.audio_codec is None:
        return (), "none"
    if not signals.speech:
        return (), "asr"
    key = ["asr", sha256, model.sha256]
    heard = _stage(blobs, utterances, key, lambda: transcribe(audio(), load_recogniser(model.path)))
    return heard, "asr"


def _stage(
    blobs: BlobStore, kind: type[_Made], key: Sequence[str | int], make: Callable[[], _Made]
) -> _Made:
    adapter = TypeAdapter(kind)
    stored = blobs.cached(digest([VERSION, *key]), lambda: adapter.dump_python(make(), mode="json"))
    return adapter.validate_python(stored)


def _without_limit(_seconds: float) -> None:
    """Stand in for a time limit where nobody watches the clock."""


def _reading_limit(path: Path) -> float:
    """Return the seconds allowed until the clip's length is known."""
    return _BASE_LIMIT + (path.stat().st_size / _SLOWEST_READ if path.is_file() else 0)


def _refusal_of(outcome: Outcome[tuple[Path, str]]) -> PreparedClip:
    path, sha256 = outcome.key
    return PreparedClip(
        sha256=sha256,
        problem=f"{path.name!r} cannot be processed: {outcome.fault}.",
        action="Re-encode it with ffmpeg and add the new file, or leave it out.",
    )
