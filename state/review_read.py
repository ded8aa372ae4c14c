"""Versions under review with everything done to them, read for curators."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlmodel import SQLModel

from psychemme.canonical import strict_json
from psychemme.items import Option
from psychemme.vocabulary import Closing
from state import read
from state import review_tables as rows
from state.review import Place, as_revealed, as_value, read_vote, why
from state.review_declined import declined, recordings
from state.review_values import (
    AssignmentRecord,
    BlindAnswer,
    EditRecord,
    GateRecord,
    ItemVersion,
    NoteRecord,
    ReviewedVersion,
    Vote,
)

Row = Mapping[str, Any]


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a model."""
    return model.__table__  # type: ignore[attr-defined,no-any-return]


def at(table: Table, place: Place) -> tuple[Any, Any]:
    """Return the conditions that single out the rows of one version."""
    return table.c.candidate_key == place[0], table.c.version == place[1]


def versions(connection: Connection, place: Place | None = None) -> list[ReviewedVersion]:
    """Return every version under review (or one), by candidate and version."""

    def grouped(model: type[SQLModel]) -> dict[Place, list[Row]]:
        table = table_of(model)
        query = select(table).order_by(*table.primary_key)
        if place is not None:
            query = query.where(*at(table, place))
        found: dict[Place, list[Row]] = defaultdict(list)
        for row in connection.execute(query).mappings():
            found[row["candidate_key"], row["version"]].append(dict(row))
        return found

    of = {model: grouped(model) for model in _PARTS}
    newest = newest_versions(connection)
    recording_of = recordings(connection)
    declined_by = declined(connection, recording_of)
    return [
        _version(
            item, {model: of[model][key] for model in _PARTS}, is_newest=newest[key[0]] == key[1]
        ).model_copy(update={"recording": recording_of[key], "declined": declined_by.get(key, {})})
        for key, (item,) in grouped(rows.ReviewItem).items()
    ]


def newest_versions(connection: Connection) -> dict[str, int]:
    """Return the number of the newest version of each candidate under review."""
    table = table_of(rows.ReviewItem)
    query = select(table.c.candidate_key, func.max(table.c.version))
    return {key: int(n) for key, n in connection.execute(query.group_by(table.c.candidate_key))}


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


def _version(
    item: Row, parts: Mapping[type[SQLModel], list[Row]], *, is_newest: bool
) -> ReviewedVersion:
    (reference,) = parts[rows.ReviewReference]
    faults: list[str] = []
    options = read.OPTIONS.validate_json(item["options_json"])
    votes: dict[str, tuple[Vote, ...]] = {}
    for row in parts[rows.Vote]:
        vote, fault = read_vote(row)
        votes[row["reviewer_id"]] = (*votes.get(row["reviewer_id"], ()), vote)
        if fault:
            faults.append(f"vote {row['revision']} of {row['reviewer_id']}: {fault}")
    answers: dict[str, BlindAnswer] = {}
    for row in parts[rows.BlindAnswer]:
        try:
            answers[row["reviewer_id"]] = _answer(row, item["format"], options)
        except (ValueError, TypeError, RecursionError) as error:
            faults.append(f"answer of {row['reviewer_id']}: {why(error)}")
    # An edit replaces a version whose review had ended as well.
    ended = [row["outcome"] if is_newest else Closing.REPLACED for row in parts[rows.ReviewClosing]]
    edit = parts[rows.ReviewEdit]
    return ReviewedVersion(
        item=as_value(
            item,
            ItemVersion,
            options=options,
            revealed=as_revealed(reference, parts[rows.ReviewCue]),
        ),
        set_name=item["set_name"],
        opened_at=item["opened_at"],
        assigned=tuple(as_value(row, AssignmentRecord) for row in parts[rows.Assignment]),
        answers=answers,
        votes=votes,
        closing=ended[0] if ended else None,
        edit=as_value(edit[0], EditRecord) if edit else None,
        gates=tuple(
            {row["gate"]: as_value(row, GateRecord) for row in parts[rows.GateResult]}.values()
        ),
        notes=tuple(as_value(row, NoteRecord) for row in parts[rows.AdjudicationNote]),
        faults=tuple(faults),
    )


def _answer(row: Row, form: str, options: Sequence[Option]) -> BlindAnswer:
    """Return a row as an answer; raises ValueError where it answers no question of this form."""
    answer = as_value(row, BlindAnswer, answer=strict_json(row["answer_json"]))
    given, ids = answer.answer, {option.id for option in options}
    chosen = {given} if isinstance(given, str) else set(given)
    if not chosen or (not chosen <= ids if ids else not isinstance(given, str)):
        raise ValueError(f"it does not fit a {form} question")
    return answer
