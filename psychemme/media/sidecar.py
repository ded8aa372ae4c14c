"""Transcripts given beside a clip: SubRip, WebVTT or Whisper's JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from psychemme.episode import Utterance, Word
from psychemme.errors import MediaError
from psychemme.media.labels import clean_text

SUFFIXES = (".srt", ".vtt", ".json")
_MOST_BYTES = 20_000_000
_SHORTEST = 0.001


class _Word(BaseModel):
    word: str
    start: FiniteFloat | None = None
    end: FiniteFloat | None = None
    probability: FiniteFloat | None = None


class _Segment(BaseModel):
    start: FiniteFloat = Field(ge=0)
    end: FiniteFloat
    text: str
    words: list[_Word] = []


class _WhisperFile(BaseModel):
    segments: list[_Segment]


def find_sidecar(clip: Path) -> Path | None:
    """Return the transcript with the clip's stem: `.srt`, else `.vtt`, else `.json`."""
    candidates = (clip.with_suffix(suffix) for suffix in SUFFIXES)
    return next((path for path in candidates if path.is_file() and path != clip), None)


def read_sidecar(path: Path, duration: float) -> tuple[Utterance, ...]:
    """Return the utterances in the sidecar, without speaker names, within `duration` seconds.

    Raises MediaError naming the file where it is not text, breaks its format, runs backwards or
    holds nothing inside the clip.
    """
    text = _read_text(path)
    segments = _from_json(path, text) if path.suffix == ".json" else _from_subtitles(path, text)
    utterances = sorted(_utterances(path, segments, duration), key=lambda u: (u.start, u.end))
    if not utterances:
        _refuse(path, f"holds no line within the clip's {duration:.1f} s")
    return tuple(utterances)


def _refuse(path: Path, fault: str) -> NoReturn:
    raise MediaError(
        f"Transcript {path.name!r} {fault}.",
        "Correct it, or move it away to have the speech recognised.",
    )


def _read_text(path: Path) -> str:
    if path.stat().st_size > _MOST_BYTES:
        _refuse(path, f"is larger than {_MOST_BYTES // 1_000_000} MB")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        _refuse(path, "is not UTF-8 text")


def _from_json(path: Path, text: str) -> list[_Segment]:
    try:
        return _WhisperFile.model_validate(json.loads(text)).segments
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole file"
        _refuse(path, f"is not Whisper JSON ({place}: {first['msg']})")
    except (ValueError, RecursionError) as error:
        _refuse(path, f"is not JSON ({type(error).__name__})")


def _from_subtitles(path: Path, text: str) -> list[_Segment]:
    import pysubs2

    try:
        events = list(pysubs2.SSAFile.from_string(text, format_=path.suffix[1:]))
    except (pysubs2.Pysubs2Error, ValueError) as error:
        _refuse(path, f"cannot be read ({type(error).__name__})")
    timed = sum("-->" in line for line in text.splitlines())
    if len(events) != timed:  # the parser drops what it does not understand
        _refuse(path, f"has {timed - len(events)} of {timed} time lines that cannot be read")
    return [
        _Segment.model_construct(
            start=event.start / 1000, end=event.end / 1000, text=event.plaintext, words=[]
        )
        for event in events
    ]


def _utterances(path: Path, segments: list[_Segment], duration: float) -> Iterable[Utterance]:
    for number, segment in enumerate(segments, start=1):
        if segment.end < segment.start:
            _refuse(path, f"has a line {number} that ends before it starts")
        text = clean_text(segment.text)
        if text and segment.start < duration:
            start, end = _span(segment.start, segment.end, duration)
            yield Utterance(start=start, end=end, text=text, words=_words(segment, text, duration))


def _words(segment: _Segment, text: str, duration: float) -> tuple[Word, ...]:
    """Return the timed words that stay once the speaker label is gone from the front."""
    dropped = len(segment.text.split()) - len(text.split())
    words = []
    for word in segment.words[max(0, dropped) :]:
        if word.start is None or word.end is None or not 0 <= word.start < duration:
            continue
        start, end = _span(word.start, word.end, duration)
        words.append(
            Word(start=start, end=end, text=word.word.strip(), probability=word.probability)
        )
    return tuple(words)


def _span(start: float, end: float, duration: float) -> tuple[float, float]:
    start = round(start, 3)
    return start, round(max(min(end, duration), start + _SHORTEST), 3)
