"""The tables of review.

What a reviewer may see before committing an answer (`review_items`) lies apart from what is
revealed after it (`review_references`, `review_cues`). A reviewer's roles read none of these
tables, only the views of `state/review_views.py`. Times of day (`_at`) are UTC microseconds;
`seconds` are spent on a page, `watched` is the fraction of the episode played; media times are
seconds from episode start.
"""

from sqlalchemy import BigInteger, ForeignKeyConstraint, UniqueConstraint
from sqlmodel import Field, SQLModel


class Reviewer(SQLModel, table=True):
    """Who reviews. The token of the invite link is kept as its SHA-256 only."""

    __tablename__ = "reviewers"

    id: str = Field(primary_key=True)
    name: str
    background: str
    is_demonstration: bool
    token_sha256: str = Field(unique=True)
    invited_at: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)


class ReviewSession(SQLModel, table=True):
    """A signed-in browser. `reviewer_id` is None for the curator."""

    __tablename__ = "review_sessions"

    token_sha256: str = Field(primary_key=True)
    reviewer_id: str | None = Field(default=None, foreign_key="reviewers.id")
    started_at: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)


class ReviewSet(SQLModel, table=True):
    """A set of items reviewed together; `calibration` sets are discussed after the first votes."""

    __tablename__ = "review_sets"

    name: str = Field(primary_key=True)
    kind: str
    reviewers_per_item: int
    opened_at: int = Field(sa_type=BigInteger)
    discussed_at: int | None = Field(default=None, sa_type=BigInteger)


class ReviewItem(SQLModel, table=True):
    """One version of a candidate under review: what a reviewer sees before committing.

    Version 1 is the graph's final proposal; each edit adds one.
    """

    __tablename__ = "review_items"
    __table_args__ = (
        ForeignKeyConstraint(
            ["episode_id", "preparation"], ["episodes.id", "episodes.preparation"]
        ),
    )

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    version: int = Field(primary_key=True)
    set_name: str = Field(foreign_key="review_sets.name")
    episode_id: str
    preparation: int
    format: str
    question: str
    options_json: str
    decision_time: float | None = None
    opened_at: int = Field(sa_type=BigInteger)


class VersionColumns(SQLModel):
    """The item a row belongs to."""

    candidate_key: str = Field(primary_key=True)
    version: int = Field(primary_key=True)


def _of_item() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["candidate_key", "version"], ["review_items.candidate_key", "review_items.version"]
    )


class ReviewReference(VersionColumns, table=True):
    """What is revealed once the reviewer's own answer is committed."""

    __tablename__ = "review_references"
    __table_args__ = (_of_item(),)

    capability: str
    subcategory: str
    answer_json: str
    key_points_json: str


class ReviewCue(VersionColumns, table=True):
    """A cue of a version."""

    __tablename__ = "review_cues"
    __table_args__ = (_of_item(),)

    position: int = Field(primary_key=True)
    start: float
    end: float
    modality: str
    description: str


class ReviewEdit(VersionColumns, table=True):
    """Who made a version out of the one before, and why."""

    __tablename__ = "review_edits"
    __table_args__ = (_of_item(),)

    editor: str
    reason: str
    edited_at: int = Field(sa_type=BigInteger)


class ReviewClosing(VersionColumns, table=True):
    """A version takes no more votes. `outcome`: approved, rejected or replaced."""

    __tablename__ = "review_closings"
    __table_args__ = (_of_item(),)

    outcome: str
    closed_at: int = Field(sa_type=BigInteger)


class Assignment(VersionColumns, table=True):
    """Who reviews which version, in which place of the reviewer's own order.

    `is_unblinded` marks a reviewer who saw the reference of an earlier version.
    """

    __tablename__ = "assignments"
    __table_args__ = (_of_item(), UniqueConstraint("reviewer_id", "position"))

    reviewer_id: str = Field(primary_key=True, foreign_key="reviewers.id")
    position: int
    is_unblinded: bool
    assigned_at: int = Field(sa_type=BigInteger)


# A foreign key check would read, as the reviewer, who else is assigned: triggers check these three.
class BlindAnswer(VersionColumns, table=True):
    """A reviewer's own answer, given before the reference is shown; immutable."""

    __tablename__ = "blind_answers"

    reviewer_id: str = Field(primary_key=True)
    answer_json: str
    is_unblinded: bool
    seconds: float
    watched: float
    request_id: str
    committed_at: int = Field(sa_type=BigInteger)


class Vote(VersionColumns, table=True):
    """One act of a reviewer on a version; the last revision stands.

    `kind` is a `psychemme.vocabulary.VoteKind`. The three verdicts are `approve` or `reject`, None
    otherwise; `reasons_json` maps a rejected verdict to reason ids; `skip_reason` is a
    `psychemme.vocabulary.SkipReason`.
    """

    __tablename__ = "votes"
    __table_args__ = (UniqueConstraint("candidate_key", "version", "reviewer_id", "request_id"),)

    reviewer_id: str = Field(primary_key=True)
    revision: int = Field(primary_key=True)
    kind: str
    question_validity: str | None = None
    answer_correctness: str | None = None
    psychological_consistency: str | None = None
    reasons_json: str
    comment: str
    skip_reason: str | None = None
    seconds: float
    watched: float
    request_id: str
    committed_at: int = Field(sa_type=BigInteger)


class ReviewDraft(VersionColumns, table=True):
    """What a reviewer has typed and not committed; replaced with every save."""

    __tablename__ = "review_drafts"

    reviewer_id: str = Field(primary_key=True)
    draft_json: str
    saved_at: int = Field(sa_type=BigInteger)


class AdjudicationNote(VersionColumns, table=True):
    """A curator's note on a disagreement; it never overrides a vote."""

    __tablename__ = "adjudication_notes"
    __table_args__ = (_of_item(),)

    position: int = Field(primary_key=True)
    author: str
    note: str
    noted_at: int = Field(sa_type=BigInteger)


class GateResult(VersionColumns, table=True):
    """What an automatic check found about a version; the last result of a gate stands.

    `outcome` is a `psychemme.vocabulary.GateOutcome`.
    """

    __tablename__ = "gate_results"
    __table_args__ = (_of_item(),)

    gate: str = Field(primary_key=True)
    position: int = Field(primary_key=True)
    outcome: str
    detail: str
    found_at: int = Field(sa_type=BigInteger)
