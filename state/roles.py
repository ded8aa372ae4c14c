"""The role table: what each database role may read and write, and nothing else anywhere.

The authorizer of `state/engines.py` is derived from it. It names tables and columns, since SQLite
isolates by column, never by row. Insert rights imply reading the primary key only, which the
append-only trigger needs.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from sqlmodel import SQLModel

from state import tables


class DbRole(StrEnum):
    """A database role. Agents of any profile are mapped onto these."""

    QUESTION = "question"
    ANSWER = "answer"
    CRITIC = "critic"
    CURATOR = "curator"


@dataclass(frozen=True)
class Grants:
    """Table -> readable columns; tables a role may insert into, update or delete from."""

    read: dict[str, frozenset[str]]
    insert: frozenset[str]
    update: frozenset[str] = field(default_factory=frozenset)
    delete: frozenset[str] = field(default_factory=frozenset)


def columns(table: type[SQLModel], *names: str) -> tuple[str, frozenset[str]]:
    """Return a table's name with the given columns of it, or with all where none is named."""
    known = frozenset(column.name for column in table.__table__.columns)  # type: ignore[attr-defined]
    if unknown := set(names) - known:
        raise KeyError(f"{table.__name__} has no column {sorted(unknown)}")
    return str(table.__tablename__), frozenset(names) or known


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
    ),
    update=_names(tables.Clip, tables.Outcome),
    delete=_names(tables.Preparation, tables.EpisodeRow),
)

ROLE_TABLE: dict[DbRole, Grants] = {
    DbRole.QUESTION: QUESTION,
    DbRole.ANSWER: ANSWER,
    DbRole.CRITIC: CRITIC,
    DbRole.CURATOR: CURATOR,
}

APPEND_ONLY = tuple(
    sorted(
        _names(*_EVERY_TABLE) - CURATOR.update - CURATOR.delete,
    )
)
"""Tables whose rows no role may change; a trigger refuses to insert a key twice."""
