"""The rows and the manifest of a release, format version 1.

All times are seconds from the episode's start, except an episode's own `start` and `end`, which
are seconds from the clip's start. A reader ignores keys it does not know, so that a minor version
may add some.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from psychemme.items import Answer, Cue, KeyPoint, Option
from psychemme.vocabulary import Capability, Format

FORMAT_VERSION = "1.1"
KNOWN_VERSIONS = ("1.0", FORMAT_VERSION)
"""The versions of which all keys are known here."""
_NUMBER = "(0|[1-9][0-9]{0,3})"
GateResult = Literal["passed", "warned", "not_run"]


class Row(BaseModel):
    """A frozen row; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


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
    """A line of `public/episodes.jsonl`. `clip` is a path below the media folder, or a URI.

    `source_start` is where the clip starts in its source video, in seconds, if known; `licence`,
    `consent` and `url` are those of the source.
    """

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
    source_start: float | None = None
    licence: str | None = None
    consent: str | None = None
    url: str | None = None


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


class ErratumAction(StrEnum):
    """What was done about a fault; `noted` leaves the item as it was."""

    REMOVED = "removed"
    CORRECTED = "corrected"
    NOTED = "noted"


class ErratumRow(Row):
    """A line of `public/errata.jsonl`: a fault of an item (or episode) and what was done about it.

    `version` is the release that says so first.
    """

    id: str
    version: str
    fault: str
    action: ErratumAction
    note: str = ""


class ReviewFacts(Row):
    """How the items were reviewed; `demonstration` votes come from no person.

    `versions_replaced` were judged, edited and judged anew; of `items_seen_before` a reviewer whose
    vote counts had seen the reference of an earlier version. None where a release does not say.
    """

    reviewers_per_item: int = Field(ge=0)
    items_reviewed: int = Field(ge=0)
    demonstration: bool = False
    versions_replaced: int | None = Field(default=None, ge=0)
    items_seen_before: int | None = Field(default=None, ge=0)


class ReleaseFacts(Row):
    """What a release says of itself, besides its rows.

    `example` marks a release that is made for demonstration and measures nothing. `versions` are
    those of taxonomy, prompts and tools; `models` maps each agent to the model that made the items;
    `gates` says of each gate whether every item passed it, it warned of one, or it was not run on
    all. `licence` (an SPDX id), `languages` (BCP 47) and `date` (YYYY-MM-DD) are the release's own.
    """

    name: str = Field(min_length=1)
    version: str
    profile: str
    example: bool = False
    # No double hyphen: it could not stand in an XML comment.
    canary: str = Field(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", min_length=6)
    versions: dict[str, str] = {}
    seed: int | None = None
    models: dict[str, str] = {}
    gates: dict[str, GateResult] = {}
    review: ReviewFacts | None = None
    licence: str = ""
    languages: tuple[str, ...] = ()
    date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    citation: str = ""


class Manifest(ReleaseFacts):
    """`manifest.json` of either folder. `files` maps each file to the SHA-256 of its bytes.

    `capabilities` are those the macro average runs over.
    """

    # Format 1.0 set no pattern.
    canary: str
    # Of ASCII digits and without leading zeros, so that one version has one spelling.
    format_version: str = Field(FORMAT_VERSION, pattern=rf"^{_NUMBER}\.{_NUMBER}$")
    part: Literal["public", "private"]
    capabilities: tuple[Capability, ...]
    counts: dict[str, int] = {}
    files: dict[str, str]
