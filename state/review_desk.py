"""The curator's desk of review: reviewers, sets, versions, assignments, votes and closings.

Every method is one transaction, so that reviewers may vote, and other curators work, meanwhile.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import select, update
from sqlmodel import Session, SQLModel

from psychemme.canonical import canonical_json, now
from psychemme.episode import Value
from psychemme.errors import ReviewError
from psychemme.vocabulary import CandidateState, Closing, SetKind
from state import read, tables
from state import review_tables as rows
from state.gates import carry_gates
from state.review import Place, answer_columns, as_value, vote_columns
from state.review_declined import withheld
from state.review_read import at, newest_versions, table_of, versions
from state.review_values import (
    AssignmentRecord,
    Board,
    Changes,
    GateRecord,
    ImportedVote,
    ItemVersion,
    ReviewedVersion,
    ReviewerRecord,
    SessionRecord,
    SetRecord,
)
from state.roles import DbRole
from state.stores import RoleStore

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
            sessions = table_of(rows.ReviewSession)
            session.connection().execute(
                sessions.delete().where(sessions.c.reviewer_id == reviewer_id)
            )

        self.commit(change)

    def reviewers(self) -> list[ReviewerRecord]:
        """Return all reviewers by id."""
        return self.query(lambda s: _values(s, rows.Reviewer, ReviewerRecord))

    def start_session(self, record: SessionRecord, link_sha256: str | None = None) -> bool:
        """Store a session and return True, or False where a reviewer's link is theirs no longer.

        Nobody renews or revokes the link between this look at it and the session's commit.
        """

        def start(session: Session) -> bool:
            if record.reviewer_id is not None:
                row = session.get(rows.Reviewer, record.reviewer_id)
                if row is None or row.token_sha256 != link_sha256 or row.revoked_at is not None:
                    return False
            session.add(rows.ReviewSession(**record.model_dump()))
            return True

        return self.commit(start)

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
        table = table_of(rows.ReviewSession)
        gone = table.delete().where(table.c.token_sha256 == token_sha256)
        self.commit(lambda s: s.connection().execute(gone))

    def withheld(self, reviewer_id: str) -> frozenset[Place]:
        """Return the versions that a reviewer is not to judge because of a skip of another one."""
        return self.query(lambda session: withheld(session.connection(), reviewer_id))

    def board(self) -> Board:
        """Return everything under review."""
        return self.query(_board)

    def change(self, plan: Callable[[Board], Changes]) -> Changes:
        """Store what `plan` makes of the board, in the transaction that read it; return it.

        Nobody votes or is assigned between the two. All is stored, or none where `plan` raises.
        Raises ReviewError where a candidate to open is not accepted, or no longer.
        """

        def apply(session: Session) -> Changes:
            changes = plan(_board(session))
            _store(session, changes)
            return changes

        return self.commit(apply)

    def mark_discussed(self, name: str) -> None:
        """Say that a calibration set has been discussed: later votes on it count for nothing.

        Raises ReviewError where there is no such set, or it is not for calibration.
        """

        def mark(session: Session) -> None:
            row = session.get(rows.ReviewSet, name)
            if row is None:
                raise ReviewError(f"There is no set {name!r}.", "List the sets.")
            if row.kind != SetKind.CALIBRATION:
                raise ReviewError(
                    f"The set {name!r} is not for calibration: its votes all count.",
                    "Name a set that was opened with --calibration.",
                )
            row.discussed_at = row.discussed_at or now()
            session.add(row)

        self.commit(mark)

    def sets(self) -> list[SetRecord]:
        """Return all sets by name."""
        return self.query(lambda s: _values(s, rows.ReviewSet, SetRecord))

    def add_version(self, item: ItemVersion, editor: str, reason: str) -> None:
        """Replace the version before `item` by it; the votes on that one are void.

        One whose review has ended can be replaced as well, so that a later release corrects it.
        Raises ReviewError where that version is not the newest, or its set has been discussed: no
        vote on the new one would count.
        """

        def add(session: Session) -> None:
            before = (item.candidate_key, item.version - 1)
            row = session.get(rows.ReviewItem, before)
            if row is None or session.get(rows.ReviewItem, (before[0], item.version)) is not None:
                raise ReviewError(
                    f"Version {before[1]} of {before[0]} is not the newest.",
                    "Edit the newest version.",
                )
            if session.get_one(rows.ReviewSet, row.set_name).discussed_at is not None:
                raise ReviewError(
                    f"The set {row.set_name!r} has been discussed: no later vote on it counts.",
                    "Leave the item out, or have another one made.",
                )
            if session.get(rows.ReviewClosing, before) is None:
                _close(session, before, Closing.REPLACED)
            _add_version(session, row.set_name, item)
            _settle(session, item.candidate_key, CandidateState.IN_REVIEW)
            session.add(
                rows.ReviewEdit(**_keys(item), editor=editor, reason=reason, edited_at=now())
            )

        self.commit(add)

    def assign(self, assignments: Sequence[AssignmentRecord]) -> None:
        """Store assignments, all or none."""
        self.commit(lambda s: _store(s, Changes(assignments=tuple(assignments))))

    def mark_frozen(self, places: Sequence[Place]) -> None:
        """Mark the candidates frozen whose newest version is the one at its place."""

        def mark(session: Session) -> None:
            newest = newest_versions(session.connection())
            for key, version in places:
                if newest.get(key) == version:
                    _settle(session, key, CandidateState.FROZEN)

        self.commit(mark)

    def close_item(self, place: Place, outcome: Closing) -> None:
        """End the review of a version: no vote is taken after it."""
        self.commit(lambda s: _store(s, Changes(closings=((place, outcome),))))

    def note(self, place: Place, author: str, text: str) -> None:
        """Add a note on a disagreement; no vote changes."""

        def add(session: Session) -> None:
            table = table_of(rows.AdjudicationNote)
            mine = select(table.c.position).where(*at(table, place))
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
            table = table_of(rows.GateResult)
            earlier = select(table.c.position).where(*at(table, place), table.c.gate == result.gate)
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

    def versions(self) -> list[ReviewedVersion]:
        """Return every version under review, by candidate and version."""
        return self.query(lambda session: versions(session.connection()))

    def version(self, place: Place) -> ReviewedVersion:
        """Return one version; raises ReviewError where there is none."""
        found = self.query(lambda session: versions(session.connection(), place))
        if not found:
            raise ReviewError(f"{place[0]} has no version {place[1]} under review.", "List them.")
        return found[0]


def _board(session: Session) -> Board:
    sets = _values(session, rows.ReviewSet, SetRecord)
    return Board(
        reviewers=tuple(_values(session, rows.Reviewer, ReviewerRecord)),
        sets={record.name: record for record in sets},
        versions=tuple(versions(session.connection())),
    )


def _store(session: Session, changes: Changes) -> None:
    session.add_all(rows.Reviewer(**one.model_dump()) for one in changes.reviewers)
    session.add_all(rows.ReviewSet(**one.model_dump()) for one in changes.sets)
    session.flush()
    for set_name, item in changes.items:
        _open(session, set_name, item)
    at_once = {"assigned_at": now()}
    _insert(session, rows.Assignment, [one.model_dump() | at_once for one in changes.assignments])
    _import(session, changes.votes)
    for place, outcome in changes.closings:
        _close(session, place, outcome)
        if outcome in _STATE_OF:
            _settle(session, place[0], _STATE_OF[outcome])


def _open(session: Session, set_name: str, item: ItemVersion) -> None:
    state = session.get_one(tables.Outcome, item.candidate_key).state
    if state != CandidateState.ACCEPTED:
        raise ReviewError(
            f"Candidate {item.candidate_key} is {state}, not accepted.",
            "Open the set again; what is not accepted is left out.",
        )
    _add_version(session, set_name, item)
    session.flush()
    carry_gates(session, item.candidate_key, item.version)
    _settle(session, item.candidate_key, CandidateState.IN_REVIEW)


def _import(session: Session, votes: Sequence[ImportedVote]) -> None:
    """Store answers, then votes; thousands are one statement each, for others wait meanwhile."""

    def keys(one: ImportedVote) -> dict[str, object]:
        key, version = one.place
        return {"candidate_key": key, "version": version, "reviewer_id": one.reviewer_id}

    answers = [keys(one) | answer_columns(one.answer) for one in votes if one.answer is not None]
    _insert(session, rows.BlindAnswer, answers)
    _insert(session, rows.Vote, [keys(one) | vote_columns(one.vote) for one in votes])


def _insert(session: Session, model: type[SQLModel], values: Sequence[dict[str, Any]]) -> None:
    if values:
        session.connection().execute(table_of(model).insert(), values)


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
    table = table_of(tables.Outcome)
    changed = update(table).where(table.c.candidate_key == key).values(state=str(state))
    session.connection().execute(changed)


def _keys(item: ItemVersion) -> dict[str, Any]:
    return {"candidate_key": item.candidate_key, "version": item.version}


def _values(session: Session, model: type[SQLModel], kind: type[V]) -> list[V]:
    table = table_of(model)
    found = session.connection().execute(select(table).order_by(*table.primary_key)).mappings()
    return [as_value(dict(row), kind) for row in found]
