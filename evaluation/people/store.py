"""`people.db`: who is invited and what they said, kept the moment it arrives and never changed.

The newest row counts. Who says the same again adds no row, so that a click or a request that comes
twice is stored once.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    RowMapping,
    Table,
    Text,
    event,
    func,
    insert,
    select,
)

from evaluation.people.study import kept_private
from evaluation.store import may_write, naming, refuse_fixed
from psychemme.canonical import canonical_json, now
from psychemme.errors import ReviewError
from state.engines import open_owner, open_unchanging

FILE_NAME = "people.db"

_metadata = MetaData()


def _table(name: str, *columns: Column[Any]) -> Table:
    table = Table(
        name,
        _metadata,
        Column("id", Integer, primary_key=True),
        Column("person", Text, nullable=False),
        *columns,
        Column("at", BigInteger, nullable=False),
    )
    for verb in ("UPDATE", "DELETE"):
        rule = DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
            "BEGIN SELECT RAISE(ABORT, 'what people said is append-only'); END"
        )
        event.listen(table, "after_create", rule)
    return table


_invites = _table("invites", Column("token_sha256", Text, nullable=False))
_declarations = _table("declarations", Column("is_reviewer", Boolean, nullable=False))
_finishes = _table("finishes")
_answers = _table(
    "answers",
    Column("task", Integer, nullable=False, index=True),
    Column("content_json", Text, nullable=False),
    Column("seconds", Float, nullable=False),
)


class Elsewhere(ReviewError):
    """The answer was changed elsewhere since the page was made."""


class Finished(ReviewError):
    """The person has finished: nothing changes any more."""


@dataclass(frozen=True)
class Kept:
    """A person's newest answer to one task; `revision` counts those there were.

    `seconds` were spent on it in all, `at` is in UTC microseconds.
    """

    content: Mapping[str, Any]
    seconds: float
    revision: int
    at: int


class PeopleStore:
    """The database of the study at `folder`, for threads and processes at once.

    One that cannot be written is read all the same `for_reading`. Raises RunError naming the file
    where it cannot be used.
    """

    def __init__(self, folder: Path, *, for_reading: bool = False) -> None:
        path = folder / FILE_NAME
        is_fixed = not may_write(path)
        if is_fixed:
            refuse_fixed(path, for_reading)
        self._engine: Engine = (open_unchanging if is_fixed else open_owner)(path)
        with naming(path), kept_private():
            if is_fixed:
                self.declared("")
            else:
                _metadata.create_all(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()

    def invite(self, person: str, token_sha256: str) -> None:
        """Store the hash of a person's link; an earlier one ends."""
        self._add(_invites, person, token_sha256=token_sha256)

    def invited(self, token_sha256: str) -> str | None:
        """Return whose link has this hash, None where it is nobody's or has ended."""
        newest = select(func.max(_invites.c.id)).group_by(_invites.c.person)
        query = select(_invites.c.person).where(
            _invites.c.id.in_(newest), _invites.c.token_sha256 == token_sha256
        )
        with self._reading() as connection:
            return connection.execute(query).scalar()

    def declare(self, person: str, is_reviewer: bool) -> None:
        """Store whether a person says that they reviewed the items; said once, it stays."""
        if self.declared(person) is None:
            self._add(_declarations, person, is_reviewer=is_reviewer)

    def declared(self, person: str) -> bool | None:
        """Return whether a person said that they reviewed the items, None where they did not."""
        table = _declarations.c
        query = select(table.is_reviewer).where(table.person == person).order_by(table.id)
        with self._reading() as connection:
            return connection.execute(query).scalars().first()

    def finish(self, person: str) -> None:
        """Store that a person has finished."""
        with self._engine.begin() as connection:
            if not _has_finished(connection, person):
                connection.execute(insert(_finishes), {"person": person, "at": now()})

    def finished(self, person: str) -> bool:
        """Return whether a person has finished."""
        with self._reading() as connection:
            return _has_finished(connection, person)

    def keep(
        self, person: str, task: int, content: Mapping[str, Any], seconds: float, revision: int
    ) -> Kept:
        """Commit an answer that was made when there were `revision` of them.

        Raises Elsewhere where there are more by now, unless the newest says the same, and Finished.
        """
        text = canonical_json(content)
        with self._engine.begin() as connection:
            kept = _kept(connection, person, task)
            newest = kept.get(task)
            if newest is not None and newest.content == content:
                return newest
            if _has_finished(connection, person):
                raise Finished("You have finished.", "Nothing can be changed any more.")
            if revision != (newest.revision if newest else 0):
                raise Elsewhere(
                    "This answer was changed in another window.", "Reload the page to go on."
                )
            row = {"person": person, "task": task, "content_json": text, "seconds": seconds}
            connection.execute(insert(_answers), row | {"at": now()})
            return _kept(connection, person, task)[task]

    def answers(self, person: str) -> dict[int, Kept]:
        """Return a person's newest answers by task."""
        with self._reading() as connection:
            return _kept(connection, person)

    def _add(self, table: Table, person: str, **values: object) -> None:
        with self._engine.begin() as connection:
            connection.execute(insert(table), {"person": person, "at": now()} | values)

    def _reading(self) -> "closing[Connection]":
        return closing(self._engine.execution_options(write=False).connect())


def _has_finished(connection: Connection, person: str) -> bool:
    query = select(_finishes.c.id).where(_finishes.c.person == person).limit(1)
    return connection.execute(query).scalar() is not None


def _kept(connection: Connection, person: str, task: int | None = None) -> dict[int, Kept]:
    query = select(_answers).where(_answers.c.person == person).order_by(_answers.c.id)
    if task is not None:
        query = query.where(_answers.c.task == task)
    found: dict[int, Kept] = {}
    for row in connection.execute(query).mappings():
        earlier = found.get(row["task"])
        found[row["task"]] = _value(row, earlier.revision if earlier else 0)
    return found


def _value(row: RowMapping, earlier: int) -> Kept:
    return Kept(json.loads(row["content_json"]), row["seconds"], earlier + 1, row["at"])
