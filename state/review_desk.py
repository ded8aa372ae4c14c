"""The curator's desk of review: reviewers, sets, versions, assignments, votes and closings."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, select, update
from sqlmodel import Session, SQLModel

from psychemme.canonical import canonical_json, now
from psychemme.episode import Value
from psychemme.errors import ReviewError
from psychemme.vocabulary import CandidateState, Closing
from state import read, tables
from state import review_tables as rows
from state.review import Place, answer_columns, as_revealed, as_value, as_vote, vote_columns
from state.review_values import (
    AssignmentRecord,
    BlindAnswer,
    EditRecord,
    GateRecord,
    ItemVersion,
    NoteRecord,
    ReviewedVersion,
    ReviewerRecord,
    SessionRecord,
    SetRecord,
    Vote,
)
from state.roles import DbRole
from state.stores import RoleStore

Row = Mapping[str, Any]
V = TypeVar("V", bound=Value)
_STATE_OF = {
    Closing.APPROVED: CandidateState.APPROVED,
    Closing.REJECTED: CandidateState.REJECTED,
}


class ReviewDesk(RoleStore):
    """Everything of review that is not a reviewer's own act. Methods are sync."""

    db_role = DbRole.CURATOR

    def invite(self, reviewer: ReviewerRecord) -> None:
        """Store a new reviewer; raises ReviewError where the id is taken."""

        def invite(session: Session) -> None:
            if session.get(rows.Reviewer, reviewer.id) is not None:
                raise ReviewError(
                    f"There is a reviewer {reviewer.id!r} already.",
                    "Choose another id, or renew that reviewer's link.",
                )
            session.add(rows.Reviewer(**reviewer.model_dump()))

        self.commit(invite)

    def renew(self, reviewer_id: str, token_sha256: str, expires_at: int) -> None:
        """Replace a reviewer's link; sessions opened with the old one end."""
        self._change_reviewer(
            reviewer_id, token_sha256=token_sha256, expires_at=expires_at, revoked_at=None
        )

    def revoke(self, reviewer_id: str) -> None:
        """Close a reviewer's link and sessions; the votes stay."""
        self._change_reviewer(reviewer_id, revoked_at=now())

    def _change_reviewer(self, reviewer_id: str, **changes: object) -> None:
        def change(session: Session) -> None:
            row = session.get(rows.Reviewer, reviewer_id)
            if row is None:
                raise ReviewError(f"There is no reviewer {reviewer_id!r}.", "List the reviewers.")
            row.sqlmodel_update(changes)
            session.add(row)
            sessions = _table(rows.ReviewSession)
            session.connection().execute(
                sessions.delete().where(sessions.c.reviewer_id == reviewer_id)
            )

        self.commit(change)

    def reviewers(self) -> list[ReviewerRecord]:
        """Return all reviewers by id."""
        return self.query(lambda s: _values(s, rows.Reviewer, ReviewerRecord))

    def start_session(self, session: SessionRecord) -> None:
        """Store a session."""
        self.commit(lambda s: s.add(rows.ReviewSession(**session.model_dump())))

    def session(self, token_sha256: str) -> SessionRecord | None:
        """Return a session that has not expired and whose reviewer is not revoked."""

        def find(session: Session) -> SessionRecord | None:
            row = session.get(rows.ReviewSession, token_sha256)
            if row is None or row.expires_at <= now():
                return None
            if row.reviewer_id is not None:
                reviewer = session.get_one(rows.Reviewer, row.reviewer_id)
                if reviewer.revoked_at is not None or reviewer.expires_at <= now():
                    return None
            return SessionRecord.model_validate(row.model_dump())

        return self.query(find)

    def end_session(self, token_sha256: str) -> None:
        """Sign a browser out."""
        table = _table(rows.ReviewSession)
        gone = table.delete().where(table.c.token_sha256 == token_sha256)
        self.commit(lambda s: s.connection().execute(gone))

    def open_set(self, record: SetRecord) -> None:
        """Store a new set; raises ReviewError where the name is taken."""

        def add(session: Session) -> None:
            if session.get(rows.ReviewSet, record.name) is not None:
                raise ReviewError(
                    f"There is a set {record.name!r} already.", "Choose another name."
                )
            session.add(rows.ReviewSet(**record.model_dump()))

        self.commit(add)

    def mark_discussed(self, name: str) -> None:
        """Say that a calibration set has been discussed: later votes on it count for nothing."""

        def mark(session: Session) -> None:
            row = session.get(rows.ReviewSet, name)
            if row is None:
                raise ReviewError(f"There is no set {name!r}.", "List the sets.")
            row.discussed_at = row.discussed_at or now()
            session.add(row)

        self.commit(mark)

    def sets(self) -> list[SetRecord]:
        """Return all sets by name."""
        return self.query(lambda s: _values(s, rows.ReviewSet, SetRecord))

    def open_items(self, set_name: str, items: Sequence[ItemVersion]) -> None:
        """Put first versions of candidates under review, all or none."""

        def add(session: Session) -> None:
            for item in items:
                _add_version(session, set_name, item)
                _settle(session, item.candidate_key, CandidateState.IN_REVIEW)

        self.commit(add)

    def add_version(self, item: ItemVersion, editor: str, reason: str) -> None:
        """Replace the version before `item` by it; the votes on that one are void.

        Raises ReviewError where there is no such version, or it is closed.
        """

        def add(session: Session) -> None:
            before = (item.candidate_key, item.version - 1)
            row = session.get(rows.ReviewItem, before)
            if row is None or session.get(rows.ReviewClosing, before) is not None:
                raise ReviewError(
                    f"Version {before[1]} of {before[0]} is not open.", "Edit the open version."
                )
            _close(session, before, Closing.REPLACED)
            _add_version(session, row.set_name, item)
            session.add(
                rows.ReviewEdit(**_keys(item), editor=editor, reason=reason, edited_at=now())
            )

        self.commit(add)

    def assign(self, assignments: Sequence[AssignmentRecord]) -> None:
        """Store assignments, all or none."""
        made = [rows.Assignment(**record.model_dump(), assigned_at=now()) for record in assignments]
        self.commit(lambda s: s.add_all(made))

    def close_item(self, place: Place, outcome: Closing) -> None:
        """End the review of a version: no vote is taken after it."""

        def close(session: Session) -> None:
            _close(session, place, outcome)
            if outcome in _STATE_OF:
                _settle(session, place[0], _STATE_OF[outcome])

        self.commit(close)

    def note(self, place: Place, author: str, text: str) -> None:
        """Add a note on a disagreement; no vote changes."""

        def add(session: Session) -> None:
            table = _table(rows.AdjudicationNote)
            mine = select(table.c.position).where(*_at(table, place))
            position = len(session.connection().execute(mine).all())
            session.add(
                rows.AdjudicationNote(
                    candidate_key=place[0],
                    version=place[1],
                    position=position,
                    author=author,
                    note=text,
                    noted_at=now(),
                )
            )

        self.commit(add)

    def record_gate(self, place: Place, result: GateRecord) -> None:
        """Keep what an automatic check found; it stands in place of the gate's earlier results."""

        def add(session: Session) -> None:
            table = _table(rows.GateResult)
            earlier = select(table.c.position).where(
                *_at(table, place), table.c.gate == result.gate
            )
            position = len(session.connection().execute(earlier).all())
            session.add(
                rows.GateResult(
                    candidate_key=place[0],
                    version=place[1],
                    position=position,
                    **result.model_dump(),
                    found_at=now(),
                )
            )

        self.commit(add)

    def import_votes(self, imported: Sequence[tuple[Place, str, BlindAnswer | None, Vote]]) -> None:
        """Store votes (of a reviewer, with the answer before it) that were cast elsewhere.

        All or none; each reviewer must be assigned.
        """

        def add(session: Session) -> None:
            connection = session.connection()
            for place, reviewer, answer, vote in imported:
                keys = {"candidate_key": place[0], "version": place[1], "reviewer_id": reviewer}
                if answer is not None:
                    connection.execute(
                        _table(rows.BlindAnswer).insert(), keys | answer_columns(answer)
                    )
                connection.execute(_table(rows.Vote).insert(), keys | vote_columns(vote))

        self.commit(add)

    def versions(self) -> list[ReviewedVersion]:
        """Return every version under review, by candidate and version."""
        return self.query(lambda session: _versions(session.connection()))

    def version(self, place: Place) -> ReviewedVersion:
        """Return one version; raises ReviewError where there is none."""
        found = self.query(lambda session: _versions(session.connection(), place))
        if not found:
            raise ReviewError(f"{place[0]} has no version {place[1]} under review.", "List them.")
        return found[0]


def _add_version(session: Session, set_name: str, item: ItemVersion) -> None:
    shown = item.model_dump(exclude={"options", "revealed"})
    options = canonical_json(read.OPTIONS.dump_python(item.options, mode="json"))
    session.add(rows.ReviewItem(**shown, options_json=options, set_name=set_name, opened_at=now()))
    session.flush()
    revealed = item.revealed
    session.add(
        rows.ReviewReference(
            **_keys(item),
            capability=revealed.capability,
            subcategory=revealed.subcategory,
            answer_json=canonical_json(revealed.answer),
            key_points_json=canonical_json(
                read.KEY_POINTS.dump_python(revealed.key_points, mode="json")
            ),
        )
    )
    session.add_all(
        rows.ReviewCue(**_keys(item), position=position, **cue.model_dump())
        for position, cue in enumerate(revealed.cues)
    )


def _close(session: Session, place: Place, outcome: Closing) -> None:
    session.add(
        rows.ReviewClosing(
            candidate_key=place[0], version=place[1], outcome=outcome, closed_at=now()
        )
    )


def _settle(session: Session, key: str, state: CandidateState) -> None:
    table = _table(tables.Outcome)
    changed = update(table).where(table.c.candidate_key == key).values(state=str(state))
    session.connection().execute(changed)


def _keys(item: ItemVersion) -> dict[str, Any]:
    return {"candidate_key": item.candidate_key, "version": item.version}


def _table(model: type[SQLModel]) -> Table:
    return model.__table__  # type: ignore[attr-defined,no-any-return]


def _at(table: Table, place: Place) -> tuple[Any, Any]:
    return table.c.candidate_key == place[0], table.c.version == place[1]


def _values(session: Session, model: type[SQLModel], kind: type[V]) -> list[V]:
    table = _table(model)
    found = session.connection().execute(select(table).order_by(*table.primary_key)).mappings()
    return [as_value(dict(row), kind) for row in found]


def _versions(connection: Connection, place: Place | None = None) -> list[ReviewedVersion]:
    def grouped(model: type[SQLModel]) -> dict[Place, list[Row]]:
        table = _table(model)
        query = select(table).order_by(*table.primary_key)
        if place is not None:
            query = query.where(*_at(table, place))
        found: dict[Place, list[Row]] = defaultdict(list)
        for row in connection.execute(query).mappings():
            found[row["candidate_key"], row["version"]].append(dict(row))
        return found

    of = {model: grouped(model) for model in _PARTS}
    return [
        _version(item, {model: of[model][at] for model in _PARTS})
        for at, (item,) in grouped(rows.ReviewItem).items()
    ]


_PARTS: tuple[type[SQLModel], ...] = (
    rows.ReviewReference,
    rows.ReviewCue,
    rows.Assignment,
    rows.BlindAnswer,
    rows.Vote,
    rows.ReviewClosing,
    rows.ReviewEdit,
    rows.AdjudicationNote,
    rows.GateResult,
)


def _version(item: Row, parts: Mapping[type[SQLModel], list[Row]]) -> ReviewedVersion:
    (reference,) = parts[rows.ReviewReference]
    votes: dict[str, tuple[Vote, ...]] = {}
    for row in parts[rows.Vote]:
        votes[row["reviewer_id"]] = (*votes.get(row["reviewer_id"], ()), as_vote(row))
    closing = parts[rows.ReviewClosing]
    edit = parts[rows.ReviewEdit]
    return ReviewedVersion(
        item=as_value(
            item,
            ItemVersion,
            options=read.OPTIONS.validate_json(item["options_json"]),
            revealed=as_revealed(reference, parts[rows.ReviewCue]),
        ),
        set_name=item["set_name"],
        opened_at=item["opened_at"],
        assigned=tuple(as_value(row, AssignmentRecord) for row in parts[rows.Assignment]),
        answers={
            row["reviewer_id"]: as_value(row, BlindAnswer, answer=json.loads(row["answer_json"]))
            for row in parts[rows.BlindAnswer]
        },
        votes=votes,
        closing=closing[0]["outcome"] if closing else None,
        edit=as_value(edit[0], EditRecord) if edit else None,
        gates=tuple(
            {row["gate"]: as_value(row, GateRecord) for row in parts[rows.GateResult]}.values()
        ),
        notes=tuple(as_value(row, NoteRecord) for row in parts[rows.AdjudicationNote]),
    )
