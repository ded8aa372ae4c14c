"""The rows and the manifest of a release, format version 1.

All times are seconds from the episode's start, except an episode's own `start` and `end`, which
are seconds from the clip's start. A reader ignores keys it does not know, so that a minor version
may add some.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from psychemme.answers import fits, option_set
from psychemme.items import Answer, Cue, KeyPoint, Option
from psychemme.vocabulary import Capability, Format

FORMAT_VERSION = "1.0"


class Row(BaseModel):
    """A frozen row; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Line(Row):
    """One transcript line, without a speaker's name."""

    start: float
    end: float
    text: str


class Earlier(Row):
    """One entry of a Memory question's history; `before` is seconds before the episode's start."""

    text: str
    before: float | None = None


class EpisodeRow(Row):
    """A line of `public/episodes.jsonl`. `clip` is a path below the media folder, or a URI."""

    id: str
    source: str
    source_group: str
    source_video_id: str
    recording_group: str
    clip: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    start: float = Field(ge=0)
    end: float
    duration: float = Field(gt=0)
    transcript: tuple[Line, ...] = ()


class QuestionRow(Row):
    """A line of `public/questions.jsonl`: all that an evaluated model may see of a question."""

    id: str
    episode_id: str
    capability: Capability
    subcategory: str
    format: Format
    question: str = Field(min_length=1)
    options: tuple[Option, ...] = ()
    public_context: str = ""
    history: tuple[Earlier, ...] = ()
    facets: dict[str, str] = {}
    decision_time: float | None = None

    @model_validator(mode="after")
    def _options_fit_the_format(self) -> "QuestionRow":
        ids = [option.id for option in self.options]
        if len(ids) != len(set(ids)):
            raise ValueError(f"option ids repeat: {ids}")
        if self.format.is_choice != bool(ids):
            raise ValueError(f"a {self.format} question has {len(ids)} options")
        return self


class ReferenceRow(Row):
    """A line of `private/references.jsonl`: what scoring and the judge know of a question."""

    id: str
    answer: Answer
    cues: tuple[Cue, ...] = ()
    key_points: tuple[KeyPoint, ...] = ()

    def faults(self, question: QuestionRow, duration: float) -> list[str]:
        """Return what does not fit `question` and its episode of `duration` seconds."""
        ids = [option.id for option in question.options]
        chosen = len(option_set(self.answer))
        found = []
        if not fits(question.format, self.answer, ids):
            found.append(f"answer {self.answer!r} does not fit a {question.format} question")
        elif question.format is Format.MULTIPLE and not 2 <= chosen < len(ids):
            found.append("a multiple answer needs two options or more, and fewer than all")
        if question.format is Format.OPEN and not any(p.required for p in self.key_points):
            found.append("an open reference needs a required key point")
        found.extend(
            f"cue {position} lies outside the episode"
            for position, cue in enumerate(self.cues)
            if not 0 <= cue.start < cue.end <= duration
        )
        return found


class Manifest(Row):
    """`manifest.json` of either folder. `files` maps each file to the SHA-256 of its bytes.

    `capabilities` are those the macro average runs over. `example` marks a release that is made
    for demonstration and measures nothing.
    """

    format_version: str = FORMAT_VERSION
    part: Literal["public", "private"]
    name: str
    version: str
    profile: str
    example: bool = False
    canary: str
    capabilities: tuple[Capability, ...]
    counts: dict[str, int] = {}
    versions: dict[str, str] = {}
    seed: int | None = None
    files: dict[str, str]
