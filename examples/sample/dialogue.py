"""The dialogue scripts, their exact timeline and the ground truth that follows from it."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field
from speech import Voice

LEAD_IN = 0.6
"""Seconds of silence before the first word."""
SENTENCE_PAUSE, COMMA_PAUSE = 0.3, 0.15
"""Seconds of silence after a sentence and after a comma inside one utterance."""

Colour = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""
Gesture = Literal["none", "reach", "offer", "palm", "point", "nod", "shake"]
PauseKind = Literal["comma", "sentence", "hesitation", "gap", "opening"]
_MARKED = re.compile(r"\s*\[(?P<pause>\d+\.\d+)\]\s*|(?<=[.?!,])\s+")


class _Script(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Look(_Script):
    """How a speaker is drawn."""

    skin: Colour
    hair: Colour
    top: Colour
    long_hair: bool


class Speaker(_Script):
    """A voice and a look."""

    voice: Voice
    look: Look


class Scene(_Script):
    """The background; `light` is how much brighter the left half is (negative: the right)."""

    wall: Colour
    floor: Colour
    prop: Literal["ladder", "window", "shelf", "park", "lamp"]
    light: float


class Line(_Script):
    """One utterance; the keys are explained at the top of `dialogues.yaml`."""

    speaker: str
    to: str
    kind: str
    text: str
    pause: float
    id: str | None = None
    opening: bool = False
    applies: str | None = None
    split: bool = False
    gesture: Gesture = "none"
    holds: Colour | None = None


class Clip(_Script):
    """One dialogue; `seats` are its speakers from left to right."""

    id: str = Field(pattern=r"^[a-z]+$")
    context: str
    scene: Scene
    seats: list[str]
    lines: list[Line]
    sidecar: bool = False


class Dialogues(_Script):
    """The whole of `dialogues.yaml`."""

    speakers: dict[str, Speaker]
    clips: list[Clip]


@dataclass(frozen=True)
class Piece:
    """Words without a pause inside, and the silence in seconds that follows them."""

    text: str
    pause: float
    pause_kind: PauseKind


@dataclass(frozen=True)
class Spoken:
    """A piece on the clip's timeline, in seconds from its start; `line` indexes the script."""

    line: int
    piece: Piece
    start: float
    end: float


def load(path: Path) -> Dialogues:
    """Read and check the scripts."""
    return Dialogues.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def pieces(line: Line) -> list[Piece]:
    """Split a line at its sentence ends and marked hesitations."""
    found: list[Piece] = []
    start = 0
    for mark in _MARKED.finditer(line.text):
        words = line.text[start : mark.start()]
        found.append(Piece(words, *_inner_pause(words, mark["pause"])))
        start = mark.end()
    last: PauseKind = "opening" if line.opening else "gap"
    return [*found, Piece(line.text[start:], line.pause, last)]


def _inner_pause(words: str, hesitation: str | None) -> tuple[float, PauseKind]:
    if hesitation:
        return float(hesitation), "hesitation"
    return (COMMA_PAUSE, "comma") if words.endswith(",") else (SENTENCE_PAUSE, "sentence")


def plain(text: str) -> str:
    """Return the words of a line without its hesitation marks."""
    return re.sub(r"\s*\[[\d.]+\]", "", text)


def ground_truth(clip: Clip, spoken: list[Spoken], duration: float) -> dict[str, object]:
    """Return what happens in `clip` and when, as JSON values; times in seconds."""
    utterances = [_utterance(clip, index, spoken) for index in range(len(clip.lines))]
    gaps = list(itertools.pairwise(spoken))
    splits = [round((a.end + b.start) / 2, 3) for a, b in gaps if _splits(clip, a, b)]
    edges = [0.0, *splits, duration]
    return {
        "id": clip.id,
        "file": f"{clip.id}.mp4",
        "duration": duration,
        "context": clip.context,
        "speakers": clip.seats,
        "sidecar": f"{clip.id}.srt" if clip.sidecar else None,
        "episodes": [{"start": a, "end": b} for a, b in itertools.pairwise(edges)],
        "utterances": utterances,
        "pauses": [
            {"start": a.end, "end": b.start, "kind": a.piece.pause_kind, "after": a.line}
            for a, b in gaps
        ],
        **{
            f"{kind}s": [u for u in utterances if u["kind"] == kind]
            for kind in ("request", "refusal", "preference", "offer")
        },
    }


def subtitles(clip: Clip, spoken: list[Spoken]) -> str:
    """Return the utterances as SubRip text, without speaker names."""
    cues = []
    for index, line in enumerate(clip.lines):
        own = [s for s in spoken if s.line == index]
        times = f"{_clock(own[0].start)} --> {_clock(own[-1].end)}"
        cues.append(f"{index + 1}\n{times}\n{plain(line.text)}\n")
    return "\n".join(cues)


def _utterance(clip: Clip, index: int, spoken: list[Spoken]) -> dict[str, object]:
    line = clip.lines[index]
    own = [s for s in spoken if s.line == index]
    applies = [i for i, other in enumerate(clip.lines) if other.id and other.id == line.applies]
    return {
        "index": index,
        "speaker": line.speaker,
        "to": line.to,
        "kind": line.kind,
        "gesture": line.gesture,
        "start": own[0].start,
        "end": own[-1].end,
        "text": plain(line.text),
        "applies": applies[0] if applies else None,
        "pieces": [{"start": s.start, "end": s.end, "text": s.piece.text} for s in own],
    }


def _splits(clip: Clip, before: Spoken, after: Spoken) -> bool:
    return before.line != after.line and clip.lines[before.line].split


def _clock(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"00:{minutes:02d}:{rest // 1000:02d},{rest % 1000:03d}"
