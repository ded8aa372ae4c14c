"""Queries that several roles share; each reads only columns that its callers may read."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from pydantic import TypeAdapter
from sqlmodel import Session, col, select

from psychemme.episode import Episode, HistoryEntry, Signals, Utterance
from psychemme.items import Cue, Defect, IndependentAnswer, KeyPoint, Option, Question, Reference
from state import tables
from state.values import CandidateTarget, EpisodeRecord, Frame, Material

OPTIONS = TypeAdapter(tuple[Option, ...])
KEY_POINTS = TypeAdapter(tuple[KeyPoint, ...])
TRANSCRIPT = TypeAdapter(tuple[Utterance, ...])
HISTORY = TypeAdapter(tuple[HistoryEntry, ...])
FRAMES = TypeAdapter(tuple[Frame, ...])
_MOST_EPISODES = 128

Placed = TypeVar("Placed", tables.CueRow, tables.QuestionFeedback, tables.AnswerFeedback)


def target(session: Session, key: str) -> CandidateTarget:
    """Return a candidate's target."""
    return CandidateTarget.model_validate(session.get_one(tables.Candidate, key).model_dump())


def material(session: Session, key: str) -> Material:
    """Return the episode of a candidate and its frames."""
    place = session.exec(
        select(tables.Candidate.episode_id, tables.Candidate.preparation).where(
            tables.Candidate.key == key
        )
    ).one()
    record = episode(session.get_one(tables.EpisodeRow, place))
    return Material(
        episode_id=record.id,
        preparation=record.preparation,
        episode=record.content,
        frames=record.frames,
    )


def episode(row: tables.EpisodeRow) -> EpisodeRecord:
    """Return an episode row as a value."""
    return EpisodeRecord(
        id=row.id,
        clip_id=row.clip_id,
        preparation=row.preparation,
        start=row.start,
        end=row.end,
        content=_content(
            row.duration,
            row.public_context,
            row.transcript_json,
            row.signals_json,
            row.history_json,
        ),
        frames=FRAMES.validate_json(row.frames_json),
    )


# Many candidates share an episode, and each reads it in every step; parsing it is the dear part.
@lru_cache(_MOST_EPISODES)
def _content(duration: float, context: str, transcript: str, signals: str, history: str) -> Episode:
    return Episode(
        duration=duration,
        public_context=context,
        transcript=TRANSCRIPT.validate_json(transcript),
        signals=Signals.model_validate_json(signals),
        history=HISTORY.validate_json(history),
    )


def question_round(session: Session, key: str, at: int) -> int:
    """Return the round of the newest proposal at or before round `at`.

    Raises sqlalchemy.exc.NoResultFound where there is none.
    """
    rounds = select(tables.QuestionRow.round).where(
        tables.QuestionRow.candidate_key == key, tables.QuestionRow.round <= at
    )
    return session.exec(rounds.order_by(col(tables.QuestionRow.round).desc()).limit(1)).one()


def question(session: Session, key: str, at: int) -> Question:
    """Return the public side of the proposal made in round `at`."""
    return as_question(session.get_one(tables.QuestionRow, (key, at)))


def as_question(row: tables.QuestionRow) -> Question:
    """Return the public side of a proposal."""
    return Question(
        subcategory=row.subcategory,
        question=row.question,
        options=OPTIONS.validate_json(row.options_json),
        decision_time=row.decision_time,
    )


def reference(session: Session, key: str, at: int) -> Reference:
    """Return the private side of the proposal made in round `at`."""
    row = session.get_one(tables.ReferenceRow, (key, at))
    return as_reference(row, of_round(session, tables.CueRow, key, at))


def as_reference(row: tables.ReferenceRow, cues: Iterable[tables.CueRow]) -> Reference:
    """Return the private side of a proposal; `cues` are its own, in their order."""
    return Reference(
        answer=json.loads(row.answer_json),
        cues=tuple(
            Cue.model_validate(cue.model_dump(exclude={"candidate_key", "round", "position"}))
            for cue in cues
        ),
        key_points=KEY_POINTS.validate_json(row.key_points_json),
        rationale=row.rationale,
    )


def independent(session: Session, key: str, at: int) -> IndependentAnswer:
    """Return the independent answer of round `at`, in proposal option ids."""
    return as_independent(session.get_one(tables.IndependentAnswerRow, (key, at)))


def as_independent(row: tables.IndependentAnswerRow) -> IndependentAnswer:
    """Return an independent answer."""
    return IndependentAnswer(
        answer=json.loads(row.answer_json), flag=row.flag, rationale=row.rationale
    )


def question_feedback(session: Session, key: str, at: int) -> tuple[Defect, ...]:
    """Return the defects the Question Agent is to mend in round `at`."""
    return as_defects(of_round(session, tables.QuestionFeedback, key, at))


def as_defects(rows: Iterable[tables.QuestionFeedback]) -> tuple[Defect, ...]:
    """Return typed defects."""
    return tuple(
        Defect(code=row.code, option_id=row.option_id, cue_index=row.cue_index) for row in rows
    )


def of_round(session: Session, table: type[Placed], key: str, at: int) -> Sequence[Placed]:
    """Return the rows of `table` for round `at`, in their order."""
    rows = select(table).where(table.candidate_key == key, table.round == at)
    return session.exec(rows.order_by(col(table.position))).all()
