"""What can be observed in an episode: transcript, signals, history.

All times are seconds from the episode's start, except where a field says otherwise.
These values are public to every agent; none of them names a speaker.
"""

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    """A frozen value that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval(Value):
    """A time window in seconds, `start < end`."""

    start: float
    end: float


class Word(Value):
    """One spoken word; `probability` is the recogniser's, None for sidecar transcripts."""

    start: float
    end: float
    text: str
    probability: float | None = None


class Utterance(Value):
    """One transcript segment; `words` is empty where the source gives no word times.

    `flags` lists suspected recogniser faults: `no_speech`, `repetition`, `compression`.
    """

    start: float
    end: float
    text: str
    words: tuple[Word, ...] = ()
    flags: tuple[str, ...] = ()


class VoiceTurn(Value):
    """A stretch of one voice. A hint from acoustics: never proof of who speaks."""

    start: float
    end: float
    voice: int = Field(ge=1)


class FaceSample(Value):
    """Faces found in the frame at `time`; boxes are x, y, width, height as fractions of it."""

    time: float
    boxes: tuple[tuple[float, float, float, float], ...] = ()


class Sample(Value):
    """A measurement at `time`."""

    time: float
    value: float


class Signals(Value):
    """Everything measured in an episode, without a model of language.

    `speech` and `pauses` come from the audio alone, not from the transcript. `motion` is the mean
    absolute frame difference (fraction of full scale), `blur` the variance of the Laplacian,
    `brightness` a fraction of full scale.
    """

    speech: tuple[Interval, ...] = ()
    pauses: tuple[Interval, ...] = ()
    turns: tuple[VoiceTurn, ...] = ()
    faces: tuple[FaceSample, ...] = ()
    motion: tuple[Sample, ...] = ()
    shots: tuple[float, ...] = ()
    blur: float | None = None
    brightness: float | None = None


class HistoryEntry(Value):
    """Something said or recorded before the episode; times are seconds before its start."""

    before: float | None = None
    text: str


class Episode(Value):
    """The public side of an episode, as every agent may see it."""

    duration: float
    public_context: str = ""
    transcript: tuple[Utterance, ...] = ()
    signals: Signals = Signals()
    history: tuple[HistoryEntry, ...] = ()
