"""What the review page sends as JSON, and what it gets back."""

import re
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from construction.review.rules import LONGEST_COMMENT
from psychemme.vocabulary import Approval, SkipReason, Verdict

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_MOST = 64
"""Entries of any list or mapping."""


def is_text(value: str) -> bool:
    """Whether every character is one that a database and a page can hold."""
    return _NO_TEXT.search(value) is None


def _storable(text: str) -> str:
    if not is_text(text):
        raise ValueError("a character that no text has")
    return text


Text = Annotated[str, Field(max_length=LONGEST_COMMENT), AfterValidator(_storable)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Seconds = Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)]
Fraction = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-1e9, le=1e9, allow_inf_nan=False)]
Leaf = Annotated[bool, Field(strict=True)] | Number | Text | None
Leaves = Annotated[list[Leaf], Field(max_length=_MOST)]
Draft = Annotated[
    dict[Id, Leaf | Leaves | Annotated[dict[Id, Leaf | Leaves], Field(max_length=_MOST)]],
    Field(max_length=_MOST),
]
Key = Annotated[str, Path(pattern=r"^[A-Za-z0-9._-]{1,120}$")]
Version = Annotated[int, Path(ge=1, le=1_000_000)]


class Body(BaseModel):
    """A frozen body that refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DraftBody(Body):
    """What has been typed so far."""

    draft: Draft


class RequestBody(Body):
    """A body whose `request_id` makes sending it twice the same as once."""

    request_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]


class AnswerBody(RequestBody):
    """The reviewer's own answer, in the letters shown to this reviewer."""

    answer: Text | Annotated[list[Annotated[str, Field(pattern="^[A-Z]$")]], Field(max_length=26)]
    seconds: Seconds
    watched: Fraction


class ActBody(RequestBody):
    """An act on an item; `after` is the revision of the newest act when the page was made."""

    after: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0


class VoteBody(ActBody):
    """The three verdicts."""

    verdicts: dict[Verdict, Approval]
    reasons: dict[Verdict, Annotated[list[Id], Field(max_length=_MOST)]] = {}
    comment: Text = ""
    seconds: Seconds
    watched: Fraction


class SkipBody(ActBody):
    """Why the reviewer leaves the item to somebody else."""

    skip_reason: SkipReason
    comment: Text = ""
    seconds: Seconds = 0.0


class WithdrawBody(ActBody):
    """The reviewer takes the own vote back."""


class Saved(BaseModel):
    """A draft is stored; UTC microseconds."""

    saved_at: int


class Committed(BaseModel):
    """An answer is stored; UTC microseconds."""

    committed_at: int
    next: str


class Cast(Committed):
    """A vote is stored as the reviewer's `revision`-th on this item."""

    revision: int


class QueueItem(BaseModel):
    """One of the reviewer's own items."""

    key: str
    version: int
    state: str
    url: str


class Queue(BaseModel):
    """The reviewer's own items, and how many of them no longer wait."""

    items: list[QueueItem]
    done: int
    total: int


class Problem(BaseModel):
    """Why a request is refused, and what to do."""

    problem: str
    action: str
    faults: list[str] = []


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 409, 413, 422)
}
