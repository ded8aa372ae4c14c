"""The rows of people's files, one JSON object a line (`docs/people.md`)."""

import re
import unicodedata
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from psychemme.items import Answer, Credit

SCHEMA_VERSION = 1

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that break a line or turn its direction."""


def _own_name(text: str) -> str:
    name = text.strip()
    if not name.strip(".") or _UNSEEN.search(name):
        raise ValueError(f"{text!r} is no name of a person")
    return name


Name = Annotated[str, Field(min_length=1, max_length=200)]
PersonName = Annotated[Name, AfterValidator(_own_name)]


def folded(name: str) -> str:
    """Return what names have in common that readers and file systems may take for one."""
    return unicodedata.normalize("NFKC", name).casefold()


class Kind(StrEnum):
    """What people are asked for."""

    BASELINE = "baseline"
    LABEL = "label"
    ENDORSE = "endorse"
    ERRORS = "errors"


class Decision(StrEnum):
    """What a judge decides about a response."""

    EVIDENCE_SUPPORT = "evidence_support"
    LOGICAL_INTEGRITY = "logical_integrity"
    ANSWER_CREDIT = "answer_credit"


class Draw(StrEnum):
    """How a study drew its responses: evenly over strata, or each as likely as another."""

    EVEN = "even"
    RANDOM = "random"


LEVELS: dict[Decision, tuple[str, ...] | tuple[float, ...]] = {
    Decision.EVIDENCE_SUPPORT: tuple(EvidenceSupport),
    Decision.LOGICAL_INTEGRITY: tuple(LogicalIntegrity),
    Decision.ANSWER_CREDIT: (1.0, 0.5, 0.0),
}
"""What can be decided, best first."""
FAR = 2
"""Levels that a planted decision is away from the judge's own, at the least."""


class RowRelease(BaseModel):
    """Which release a row is about; `checksum` stands for its public files."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    version: str
    checksum: str


class PersonRow(BaseModel):
    """A frozen row about one item; unknown keys are ignored.

    `IDENTITY` names what is said once, the person's own field first. `release` is None where a
    file made by hand does not say.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)
    IDENTITY: ClassVar[tuple[str, ...]]

    item_id: str
    release: RowRelease | None = None


class BaselineRow(PersonRow):
    """An annotator's own answer, in the release's option ids; None where there was none to give.

    `seconds` were spent on the item. `is_reviewer` says whether the annotator reviewed items of
    the release. `credit` of an open answer, where somebody gave it.
    """

    IDENTITY = ("annotator", "item_id")

    kind: Literal[Kind.BASELINE] = Kind.BASELINE
    annotator: PersonName
    answer: Answer | None
    cannot_answer: bool = False
    seconds: float | None = Field(default=None, ge=0)
    is_reviewer: bool
    credit: Credit | None = None

    @model_validator(mode="after")
    def _answered_or_not(self) -> "BaselineRow":
        if (self.answer is None) != self.cannot_answer:
            raise ValueError("give either `answer`, or null and `cannot_answer` true")
        if self.cannot_answer and self.credit is not None:
            raise ValueError("`cannot_answer` has no `credit`")
        return self


class ResponseRow(PersonRow):
    """A row about one model's response; `draw` is how a study drew it, None where nobody says."""

    model: Name
    condition: Name
    draw: Draw | None = None


class LabelRow(ResponseRow):
    """An expert's own labels of a response that `judge` labelled too; the expert saw none."""

    IDENTITY = ("expert", "item_id", "model", "condition", "judge")

    kind: Literal[Kind.LABEL]
    expert: PersonName
    judge: Name
    evidence_support: EvidenceSupport
    logical_integrity: LogicalIntegrity
    answer_credit: Credit | None = None


class EndorseRow(ResponseRow):
    """Whether an expert endorses one decision as it was `shown`, with a `reason` where not.

    A `planted` one is not the judge's own.
    """

    IDENTITY = ("expert", "item_id", "model", "condition", "judge", "decision")

    kind: Literal[Kind.ENDORSE]
    expert: PersonName
    judge: Name
    decision: Decision
    shown: str | float
    planted: bool
    endorses: bool
    reason: str | None = None

    @model_validator(mode="after")
    def _shown_is_a_level(self) -> "EndorseRow":
        if self.shown not in LEVELS[self.decision]:
            raise ValueError(f"`shown` {self.shown!r} is no {self.decision}")
        return self


class ErrorsRow(ResponseRow):
    """The category that a person gives a response whose category was `proposed` by a model."""

    IDENTITY = ("person", "item_id", "model", "condition")

    kind: Literal[Kind.ERRORS]
    person: PersonName
    proposed: Name
    category: Name


AnyRow = BaselineRow | LabelRow | EndorseRow | ErrorsRow
ROWS: dict[Kind, type[AnyRow]] = {
    Kind.BASELINE: BaselineRow,
    Kind.LABEL: LabelRow,
    Kind.ENDORSE: EndorseRow,
    Kind.ERRORS: ErrorsRow,
}
