"""The reviewer's door to the Shared State: blind until an answer is committed, informed after.

Two engines stand behind it, one for each database role. Every statement runs as one reviewer
(`state.engines.acting`), and the engine shows that reviewer's own rows only. Methods are sync and
may be called from any thread. Each raises NotAssigned where an item is not the reviewer's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from pydantic import ValidationError
from sqlalchemy import Connection, Table, select
from sqlmodel import SQLModel

from psychemme.canonical import canonical_json, now, strict_json
from psychemme.episode import Value
from psychemme.errors import AnswerFirst, ItemClosed, NotAssigned, VotedMeanwhile
from psychemme.items import Cue
from psychemme.vocabulary import Verdict, VoteKind
from state import read, review_tables, review_views
from state.address import Address
from state.engines import acting
from state.review_values import (
    Ballot,
    BlindAnswer,
    BlindItem,
    OwnWork,
    Revealed,
    ReviewEpisode,
    Vote,
)
from state.roles import DbRole
from state.stores import RoleStore

T = TypeVar("T")
V = TypeVar("V", bound=Value)
Row = Mapping[str, Any]
Place = tuple[str, int]
"""A candidate's key and the version of it."""


class _Blind(RoleStore):
    db_role = DbRole.REVIEWER_BLIND


class _Informed(RoleStore):
    db_role = DbRole.REVIEWER_INFORMED


class ReviewStore:
    """What a reviewer sees and does; `reviewer` is the id of whoever asks."""

    def __init__(self, database: Address) -> None:
        self._blind, self._informed = _Blind(database), _Informed(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._blind.close()
        self._informed.close()

    def queue(self, reviewer: str) -> tuple[OwnWork, ...]:
        """Return the reviewer's items in the reviewer's own order."""
        return _read(self._blind, reviewer, _queue)

    def work(self, reviewer: str, place: Place) -> OwnWork:
        """Return one item and what the reviewer has done with it."""
        return _read(self._blind, reviewer, lambda c: _work(c, place))

    def episode(self, reviewer: str, episode_id: str, preparation: int) -> ReviewEpisode:
        """Return an episode that one of the reviewer's items asks about."""
        view = review_views.OWN_EPISODES
        query = select(view).where(view.c.id == episode_id, view.c.preparation == preparation)
        return _read(self._blind, reviewer, lambda c: _episode(_one(c, query)))

    def save_draft(self, reviewer: str, place: Place, draft_json: str) -> None:
        """Keep what the reviewer has typed, in place of what was kept before."""

        def save(connection: Connection) -> None:
            _open_work(connection, place)
            values = _keys(place, reviewer) | {"draft_json": draft_json, "saved_at": now()}
            insert = _table(review_tables.ReviewDraft).insert()
            # On PostgreSQL a trigger replaces.
            connection.execute(insert.prefix_with("OR REPLACE", dialect="sqlite"), values)

        _write(self._blind, reviewer, save)

    def commit_answer(self, reviewer: str, place: Place, given: BlindAnswer) -> BlindAnswer:
        """Commit the reviewer's own answer and return it; one committed before stands.

        `committed_at` and `is_unblinded` of `given` are set here. Raises ItemClosed.
        """

        def commit(connection: Connection) -> BlindAnswer:
            work = _work(connection, place)
            if work.answer is not None:
                return work.answer
            _refuse_closed(work)
            facts = {"is_unblinded": work.item.is_unblinded, "committed_at": now()}
            answer = given.model_copy(update=facts)
            connection.execute(
                _table(review_tables.BlindAnswer).insert(),
                _keys(place, reviewer) | answer_columns(answer),
            )
            return _work(connection, place).answer or answer

        return _write(self._blind, reviewer, commit)

    def reveal(self, reviewer: str, place: Place) -> Revealed:
        """Return reference, cues and capability; raises AnswerFirst before the answer is in."""

        def look(connection: Connection) -> Revealed:
            if _work(connection, place).answer is None:
                raise AnswerFirst(
                    "The reference is not shown yet.", "Commit your own answer first."
                )
            return _revealed(connection, place)

        return _read(self._informed, reviewer, look)

    def cast(self, reviewer: str, place: Place, ballot: Ballot, after: int | None = None) -> Vote:
        """Store a ballot as the reviewer's newest vote and return it; sent twice, it is one.

        `after` is the revision that the reviewer saw as the newest, None where nobody asked. Raises
        VotedMeanwhile where it no longer is, AnswerFirst for a verdict before the reviewer's own
        answer, and ItemClosed.
        """

        def cast(connection: Connection) -> Vote:
            work = _work(connection, place)
            mine = _votes(connection, place)
            for vote in mine:
                if vote.request_id == ballot.request_id:
                    return vote
            _refuse_closed(work)
            if after not in (None, work.revision):
                raise VotedMeanwhile(
                    "You voted on this item meanwhile, elsewhere.",
                    "Reload the page to see that vote, and change it there.",
                )
            if ballot.kind is VoteKind.VERDICT and work.answer is None:
                raise AnswerFirst("A verdict needs your own answer.", "Commit it first.")
            vote = Vote(**dict(ballot), revision=work.revision + 1, committed_at=now())
            connection.execute(
                _table(review_tables.Vote).insert(), _keys(place, reviewer) | vote_columns(vote)
            )
            return _votes(connection, place)[-1]

        store = self._informed if ballot.kind is VoteKind.VERDICT else self._blind
        return _write(store, reviewer, cast)


def answer_columns(answer: BlindAnswer) -> dict[str, object]:
    """Return an answer as the columns of its table, without its keys."""
    plain = answer.model_dump(mode="json", exclude={"answer"})
    return plain | {"answer_json": canonical_json(answer.answer)}


def vote_columns(vote: Vote) -> dict[str, object]:
    """Return a vote as the columns of its table, without its keys."""
    plain = vote.model_dump(mode="json", exclude={"verdicts", "reasons"})
    verdicts = {str(verdict): vote.verdicts.get(verdict) for verdict in Verdict}
    reasons = {str(verdict): list(ids) for verdict, ids in vote.reasons.items()}
    return plain | verdicts | {"reasons_json": canonical_json(reasons)}


def as_value(row: Row, kind: type[V], **parsed: object) -> V:
    """Return the columns of a row that `kind` has, and what was `parsed` from others."""
    return kind.model_validate({n: row[n] for n in kind.model_fields if n in row} | parsed)


def as_vote(row: Row) -> Vote:
    """Return a row of votes as a value."""
    given = {str(verdict): row[verdict] for verdict in Verdict if row[verdict] is not None}
    return as_value(row, Vote, verdicts=given, reasons=strict_json(row["reasons_json"]))


def read_vote(row: Row) -> tuple[Vote, str]:
    """Return a row of votes, and why nobody can read it, if so: it counts as withdrawn then."""
    try:
        vote = as_vote(row)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return _withdrawn(row), why(error)
    if vote.kind is VoteKind.VERDICT and len(vote.verdicts) < len(Verdict):
        return _withdrawn(row), "a verdict is missing"
    return vote, ""


def why(error: Exception) -> str:
    """Return the first thing that is wrong with a row, in a line."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _withdrawn(row: Row) -> Vote:
    at = row["committed_at"]
    return Vote(
        kind=VoteKind.WITHDRAWAL,
        request_id=str(row["request_id"]),
        revision=row["revision"],
        committed_at=at if isinstance(at, int) else 0,
    )


def _read(store: RoleStore, reviewer: str, work: Callable[[Connection], T]) -> T:
    with acting(reviewer):
        return store.query(lambda session: work(session.connection()))


def _write(store: RoleStore, reviewer: str, work: Callable[[Connection], T]) -> T:
    with acting(reviewer):
        return store.commit(lambda session: work(session.connection()))


def _table(model: type[SQLModel]) -> Table:
    return model.__table__  # type: ignore[attr-defined,no-any-return]


def _keys(place: Place, reviewer: str) -> dict[str, object]:
    return {"candidate_key": place[0], "version": place[1], "reviewer_id": reviewer}


def _rows(connection: Connection, view: Table, place: Place | None = None) -> list[Row]:
    query = select(view)
    if place is not None:
        query = query.where(view.c.candidate_key == place[0], view.c.version == place[1])
    return [dict(row) for row in connection.execute(query).mappings()]


def _one(connection: Connection, query: Any) -> Row:  # noqa: ANN401
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotAssigned("This item is not one of yours.", "Go back to your list.")
    return dict(row)


def _queue(connection: Connection) -> tuple[OwnWork, ...]:
    answers = {_place(row): row for row in _rows(connection, review_views.OWN_ANSWERS)}
    drafts = {_place(row): row for row in _rows(connection, review_views.OWN_DRAFTS)}
    votes: dict[Place, list[Vote]] = {}
    for row in _rows(connection, review_views.OWN_VOTES):
        votes.setdefault(_place(row), []).append(read_vote(row)[0])
    items = sorted(_rows(connection, review_views.OWN_ITEMS), key=lambda row: row["position"])
    return tuple(
        _own_work(item, answers.get(place), votes.get(place, []), drafts.get(place))
        for item in items
        for place in (_place(item),)
    )


def _work(connection: Connection, place: Place) -> OwnWork:
    view = review_views.OWN_ITEMS
    query = select(view).where(view.c.candidate_key == place[0], view.c.version == place[1])
    answers = _rows(connection, review_views.OWN_ANSWERS, place)
    drafts = _rows(connection, review_views.OWN_DRAFTS, place)
    return _own_work(
        _one(connection, query),
        next(iter(answers), None),
        _votes(connection, place),
        next(iter(drafts), None),
    )


def _open_work(connection: Connection, place: Place) -> OwnWork:
    work = _work(connection, place)
    _refuse_closed(work)
    return work


def _refuse_closed(work: OwnWork) -> None:
    if work.item.is_closed:
        raise ItemClosed("This item is closed: its review has ended.", "Go on with the next one.")


def _votes(connection: Connection, place: Place) -> list[Vote]:
    found = [read_vote(row)[0] for row in _rows(connection, review_views.OWN_VOTES, place)]
    return sorted(found, key=lambda vote: vote.revision)


def _own_work(item: Row, answer: Row | None, votes: list[Vote], draft: Row | None) -> OwnWork:
    last = max(votes, key=lambda vote: vote.revision, default=None)
    return OwnWork(
        item=as_value(item, BlindItem, options=read.OPTIONS.validate_json(item["options_json"])),
        answer=None if answer is None else _answer(answer),
        vote=None if last is None or last.kind is VoteKind.WITHDRAWAL else last,
        revision=0 if last is None else last.revision,
        draft_json=None if draft is None else draft["draft_json"],
    )


def _answer(row: Row) -> BlindAnswer:
    return as_value(row, BlindAnswer, answer=json.loads(row["answer_json"]))


def _episode(row: Row) -> ReviewEpisode:
    return as_value(
        row,
        ReviewEpisode,
        transcript=read.TRANSCRIPT.validate_json(row["transcript_json"]),
        history=read.HISTORY.validate_json(row["history_json"]),
    )


def _revealed(connection: Connection, place: Place) -> Revealed:
    (reference,) = _rows(connection, review_views.REVEALED_REFERENCES, place)
    cues = _rows(connection, review_views.REVEALED_CUES, place)
    return as_revealed(reference, sorted(cues, key=lambda cue: cue["position"]))


def as_revealed(reference: Row, cues: Sequence[Row]) -> Revealed:
    """Return the private side of a version; `cues` are its own, in their order."""
    return as_value(
        reference,
        Revealed,
        answer=json.loads(reference["answer_json"]),
        key_points=read.KEY_POINTS.validate_json(reference["key_points_json"]),
        cues=[as_value(cue, Cue) for cue in cues],
    )


def _place(row: Row) -> Place:
    return str(row["candidate_key"]), int(row["version"])
