"""The role table: what each database role may read and write, and nothing else anywhere.

The authorizer of `state/engines/sqlite.py` and the rights of `state/grants.py` are derived from it.
It names tables and columns, since SQLite isolates by column, never by row. On SQLite insert rights
imply reading the primary key only, which the append-only trigger needs.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Table
from sqlmodel import SQLModel

from state import review_tables, review_views, tables


class DbRole(StrEnum):
    """A database role. Agents of any profile are mapped onto these."""

    QUESTION = "question"
    ANSWER = "answer"
    CRITIC = "critic"
    REVIEWER_BLIND = "reviewer_blind"
    REVIEWER_INFORMED = "reviewer_informed"
    CURATOR = "curator"


@dataclass(frozen=True)
class Grants:
    """Table -> readable columns; tables a role may insert into, update or delete from.

    A role with `views` (view -> its columns) reads through these alone; each view reads what it is
    made of, and the triggers of the tables that the role inserts into what they check.
    """

    read: dict[str, frozenset[str]]
    insert: frozenset[str]
    views: dict[str, frozenset[str]] = field(default_factory=dict)
    update: frozenset[str] = field(default_factory=frozenset)
    delete: frozenset[str] = field(default_factory=frozenset)


def columns(table: type[SQLModel], *names: str) -> tuple[str, frozenset[str]]:
    """Return a table's name with the given columns of it, or with all where none is named."""
    known = frozenset(column.name for column in table.__table__.columns)  # type: ignore[attr-defined]
    if unknown := set(names) - known:
        raise KeyError(f"{table.__name__} has no column {sorted(unknown)}")
    return str(table.__tablename__), frozenset(names) or known


def _shown(*views: Table) -> dict[str, frozenset[str]]:
    return {view.name: frozenset(column.name for column in view.columns) for view in views}


def _names(*row_types: type[SQLModel]) -> frozenset[str]:
    return frozenset(str(row_type.__tablename__) for row_type in row_types)


_STEP_KEYS = columns(tables.StepRow, "candidate_key", "round", "step")

QUESTION = Grants(
    read=dict(
        (
            columns(tables.EpisodeRow),
            columns(tables.Candidate),
            columns(tables.QuestionRow),
            columns(tables.ReferenceRow),
            columns(tables.CueRow),
            columns(tables.QuestionFeedback),
            columns(tables.QuestionCall),
            _STEP_KEYS,
        )
    ),
    insert=_names(
        tables.QuestionRow,
        tables.ReferenceRow,
        tables.CueRow,
        tables.QuestionCall,
        tables.LedgerEntry,
        tables.StepRow,
    ),
)

ANSWER = Grants(
    read=dict(
        (
            columns(tables.EpisodeRow),
            columns(tables.Candidate, "key", "id", "episode_id", "preparation", "format"),
            columns(
                tables.QuestionRow,
                "candidate_key",
                "round",
                "question",
                "options_json",
                "decision_time",
            ),
            columns(tables.AnswerFeedback),
            columns(tables.AnswerCall),
            _STEP_KEYS,
        )
    ),
    insert=_names(
        tables.IndependentAnswerRow, tables.AnswerCall, tables.LedgerEntry, tables.StepRow
    ),
)

CRITIC = Grants(
    read=dict(
        (
            columns(tables.EpisodeRow),
            columns(tables.Candidate),
            columns(tables.QuestionRow),
            columns(tables.ReferenceRow),
            columns(tables.CueRow),
            columns(tables.IndependentAnswerRow),
            columns(tables.CriticCall),
            _STEP_KEYS,
        )
    ),
    insert=_names(tables.CritiqueRow, tables.CriticCall, tables.LedgerEntry, tables.StepRow),
)

_OWN = _shown(
    review_views.OWN_ITEMS,
    review_views.OWN_EPISODES,
    review_views.OWN_ANSWERS,
    review_views.OWN_VOTES,
    review_views.OWN_DRAFTS,
)

REVIEWER_BLIND = Grants(
    read={},
    insert=_names(review_tables.BlindAnswer, review_tables.Vote, review_tables.ReviewDraft),
    views=_OWN,
)

REVIEWER_INFORMED = Grants(
    read={},
    insert=_names(review_tables.Vote),
    views=_OWN | _shown(review_views.REVEALED_REFERENCES, review_views.REVEALED_CUES),
)

_EVERY_TABLE = tuple(
    mapper.class_ for mapper in SQLModel._sa_registry.mappers if mapper.local_table is not None
)

CURATOR = Grants(
    read=dict(columns(row_type) for row_type in _EVERY_TABLE),
    insert=_names(
        tables.Clip,
        tables.Preparation,
        tables.EpisodeRow,
        tables.Run,
        tables.Candidate,
        tables.Outcome,
        tables.StepRow,
        tables.QuestionFeedback,
        tables.AnswerFeedback,
        tables.LeaseRow,
        tables.GateRun,
        tables.LeakageTrial,
        tables.CandidateGate,
        tables.ClipScreening,
        review_tables.Reviewer,
        review_tables.ReviewSession,
        review_tables.ReviewSet,
        review_tables.ReviewItem,
        review_tables.ReviewReference,
        review_tables.ReviewCue,
        review_tables.ReviewEdit,
        review_tables.ReviewClosing,
        review_tables.Assignment,
        review_tables.BlindAnswer,
        review_tables.Vote,
        review_tables.AdjudicationNote,
        review_tables.GateResult,
    ),
    update=_names(
        tables.Clip,
        tables.Outcome,
        tables.LeaseRow,
        review_tables.Reviewer,
        review_tables.ReviewSet,
    ),
    delete=_names(
        tables.Preparation, tables.EpisodeRow, tables.LeaseRow, review_tables.ReviewSession
    ),
)

ROLE_TABLE: dict[DbRole, Grants] = {
    DbRole.QUESTION: QUESTION,
    DbRole.ANSWER: ANSWER,
    DbRole.CRITIC: CRITIC,
    DbRole.REVIEWER_BLIND: REVIEWER_BLIND,
    DbRole.REVIEWER_INFORMED: REVIEWER_INFORMED,
    DbRole.CURATOR: CURATOR,
}

APPEND_ONLY = tuple(
    sorted(
        _names(*_EVERY_TABLE) - CURATOR.update - CURATOR.delete - _names(review_tables.ReviewDraft),
    )
)
"""Tables whose rows no role may change; a trigger refuses to insert a key twice."""
