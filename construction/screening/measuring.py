"""What screening measures in clips beyond their preparation: fingerprints and the language heard.

Each is kept in the blobs under the clip's SHA-256, so that nothing is measured twice.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from construction.screening.rules import Measures
from psychemme.canonical import digest
from psychemme.episode import Value
from psychemme.errors import MediaError
from psychemme.media.audio import load_audio
from psychemme.media.blobs import BlobStore
from psychemme.media.fingerprint import VERSION, Fingerprint, fingerprint
from psychemme.media.isolation import Extend, Task, run_isolated
from psychemme.media.prepare import PreparedClip
from psychemme.media.probe import Probe
from psychemme.media.settings import AsrModel
from psychemme.media.transcript import load_recogniser

_BASE_LIMIT, _LIMIT_PER_SECOND = 60.0, 10.0
_STILL = 2
"""Mean change of a picture, in 1/10,000 of full scale, under which nothing moves."""
_LETTERS = 12
"""A picture with so many shapes of the size of letters on an even ground is lettering."""
_SAID = 400
"""Characters of the transcript that are kept beside the measures."""


class Language(Value):
    """The language that the recogniser hears, as a code, and how sure it is (0 to 1)."""

    code: str | None = None
    probability: float | None = None


def fingerprints(
    jobs: Iterable[tuple[Path, PreparedClip]], blobs: BlobStore, workers: int = 1
) -> Iterator[tuple[str, Fingerprint | None]]:
    """Yield (SHA-256, fingerprint) for prepared clips, None where it cannot be made.

    What is kept already is read; the rest is made in processes of their own, each with 60 s plus
    ten times the clip's length.
    """
    missing = []
    for path, clip in jobs:
        kept = _kept(blobs, _key("fingerprint", clip.sha256, VERSION))
        if kept is not None:
            yield clip.sha256, Fingerprint.model_validate(kept)
        elif clip.probe is not None:
            limit = _BASE_LIMIT + _LIMIT_PER_SECOND * clip.probe.duration
            task = (path, clip.sha256, clip.probe, blobs)
            missing.append(Task(clip.sha256, task, limit))
    for outcome in run_isolated(_fingerprint, missing, workers):
        yield outcome.key, outcome.result


def language(path: Path, clip: PreparedClip, model: AsrModel, blobs: BlobStore) -> Language:
    """Return the language of the first half minute of speech, by the speech recogniser alone."""
    if not clip.signals.speech or clip.probe is None:
        return Language()
    start = clip.signals.speech[0].start

    def make() -> dict[str, Any]:
        audio = load_audio(path, start, min(clip.probe.duration, start + 30))  # type: ignore[union-attr]
        recogniser: Any = load_recogniser(model.path)
        code, probability, _ = recogniser.detect_language(audio)
        return {"code": str(code), "probability": round(float(probability), 3)}

    kept = blobs.cached(_key("language", clip.sha256, model.sha256), make)
    return Language.model_validate(kept)


def measures_of(clip: PreparedClip, seen: Fingerprint | None, heard: Language) -> Measures:
    """Return the measures of a prepared clip."""
    signals, length = clip.signals, clip.probe.duration if clip.probe else 0.0
    voices = [turn.voice for turn in signals.turns]
    return Measures(
        seconds=round(length, 3),
        speech_seconds=round(sum(s.end - s.start for s in signals.speech), 3),
        face_share=_share(signals.faces, lambda sample: bool(sample.boxes)),
        blur=signals.blur,
        brightness=signals.brightness,
        still_share=_share(seen.motion[1:] if seen else (), lambda change: change <= _STILL),
        credits_share=_share(seen.letters if seen else (), lambda count: count >= _LETTERS),
        turns=sum(one != other for one, other in pairwise(voices)),
        voices=len(set(voices)),
        language=heard.code,
        language_probability=heard.probability,
        said=" ".join(u.text for u in clip.transcript if not u.flags)[:_SAID],
    )


def _fingerprint(
    path: Path, sha256: str, facts: Probe, blobs: BlobStore, _extend: Extend
) -> Fingerprint | None:
    def make() -> dict[str, Any]:
        return fingerprint(path, facts, load_audio(path, end=facts.duration)).model_dump()

    try:
        return Fingerprint.model_validate(blobs.cached(_key("fingerprint", sha256, VERSION), make))
    except MediaError:
        return None


def _share(samples: Iterable[Any], holds: Callable[[Any], bool]) -> float | None:
    told = [holds(sample) for sample in samples]
    return round(sum(told) / len(told), 3) if told else None


def _key(kind: str, sha256: str, version: str | int) -> str:
    return digest(["screening", kind, sha256, version])


class _MissingError(Exception):
    """Nothing is kept under a key."""


def _kept(blobs: BlobStore, key: str) -> Any:  # noqa: ANN401 - any JSON value
    def absent() -> None:
        raise _MissingError

    try:
        return blobs.cached(key, absent)
    except _MissingError:
        return None
