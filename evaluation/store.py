"""`run.db`: what a run asked and got, kept the moment it arrives and never changed after.

`calls` holds every call, answered or not; an answered one is unique for role, model, item, repeat
and attempt, so that none is paid for twice. `referenced_judgements` holds the accepted ones, each
with the digest of the reference it was made under; `judgements` holds those of earlier versions,
which kept none. `audit_calls` and `audits` hold the same for requests that a judge's audit altered
by a `change`; they score nothing. `classifier_calls` and `classifications` hold how failures were
sorted, where the `change` is the scheme and the reference.
The tables have their own metadata: a run is no part of the Shared State.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import (
    DDL,
    BigInteger,
    Column,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    event,
    func,
    insert,
    inspect,
    literal,
    select,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from psychemme.canonical import canonical_json, now
from psychemme.clients.protocol import Reply, Request, Usage
from psychemme.errors import RunError
from psychemme.vocabulary import EvaluationRole
from state.engines import open_owner, open_unchanging

FILE_NAME = "run.db"
UNKNOWN_REFERENCE = ""
"""Stands for the digest of a reference where an earlier version kept none."""

T = TypeVar("T")

_metadata = MetaData()


def _call_columns() -> tuple[Column[Any], ...]:
    return (
        Column("id", Integer, primary_key=True),
        Column("role", Text, nullable=False),
        Column("model", Text, nullable=False),
        Column("item_id", Text, nullable=False),
        Column("repeat", Integer, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("request_key", Text, nullable=False),
        Column("prompt_hash", Text, nullable=False),
        Column("parameters_json", Text, nullable=False),
        Column("sent_json", Text, nullable=False),
        Column("text", Text),
        Column("finish_reason", Text),
        Column("error", Text),
        Column("input_tokens", Integer, nullable=False),
        Column("output_tokens", Integer, nullable=False),
        Column("cost", Float),
        Column("latency", Float, nullable=False),
        Column("called_at", BigInteger, nullable=False),
    )


_calls = Table("calls", _metadata, *_call_columns())
_audit_calls = Table(
    "audit_calls", _metadata, *_call_columns(), Column("change", Text, nullable=False)
)
_classifier_calls = Table(
    "classifier_calls", _metadata, *_call_columns(), Column("change", Text, nullable=False)
)
Index(
    "answered_once",
    *(_calls.c[name] for name in ("role", "model", "item_id", "repeat", "attempt")),
    unique=True,
    sqlite_where=_calls.c.error.is_(None),
)
for _name, _changed in (("audited_once", _audit_calls), ("sorted_once", _classifier_calls)):
    Index(
        _name,
        *(_changed.c[name] for name in ("model", "item_id", "change", "repeat", "attempt")),
        unique=True,
        sqlite_where=_changed.c.error.is_(None),
    )
_earlier_judgements = Table(
    "judgements",
    _metadata,
    Column("item_id", Text, primary_key=True),
    Column("judge", Text, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("judgement_json", Text, nullable=False),
)
_judgements = Table(
    "referenced_judgements",
    _metadata,
    Column("item_id", Text, primary_key=True),
    Column("judge", Text, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("reference", Text, primary_key=True),
    Column("judgement_json", Text, nullable=False),
)
_audits = Table(
    "audits",
    _metadata,
    Column("item_id", Text, primary_key=True),
    Column("judge", Text, primary_key=True),
    Column("change", Text, primary_key=True),
    Column("judgement_json", Text, nullable=False),
)
_classifications = Table(
    "classifications",
    _metadata,
    Column("item_id", Text, primary_key=True),
    Column("classifier", Text, primary_key=True),
    Column("change", Text, primary_key=True),
    Column("label_json", Text, nullable=False),
)
for _table in _metadata.sorted_tables:
    for _verb in ("UPDATE", "DELETE"):
        _rule = DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER {_table.name}_no_{_verb.lower()} BEFORE {_verb} ON {_table.name} "
            "BEGIN SELECT RAISE(ABORT, 'a run is append-only'); END"
        )
        event.listen(_table, "after_create", _rule)


@dataclass(frozen=True)
class CallRow:
    """One call: who was asked about what, what was sent, and the reply or the error.

    Times: `latency` in seconds, `called_at` in UTC microseconds. `cost` is in US dollars.
    """

    role: EvaluationRole
    model: str
    item_id: str
    repeat: int = 0
    attempt: int = 0
    request_key: str = ""
    prompt_hash: str = ""
    parameters_json: str = "{}"
    sent_json: str = "{}"
    text: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency: float = 0.0
    called_at: int = 0


def call_row(
    request: Request,
    model: str,
    item_id: str,
    *,
    reply: Reply | None = None,
    error: str | None = None,
    finish_reason: str | None = None,
    repeat: int = 0,
    attempt: int = 0,
    sent: Mapping[str, object] | None = None,
) -> CallRow:
    """Return the row of a call that brought `reply`, ended in `error`, or was filtered."""
    usage = reply.usage if reply else Usage()
    return CallRow(
        role=EvaluationRole(request.role),
        model=model,
        item_id=item_id,
        repeat=repeat,
        attempt=attempt,
        request_key=request.key(model),
        prompt_hash=request.prompt_hash,
        parameters_json=canonical_json(vars(request.parameters)),
        sent_json=canonical_json(sent or {}),
        text=_storable(reply.text) if reply else None,
        finish_reason=reply.finish_reason if reply else finish_reason,
        error=error,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        latency=reply.latency if reply else 0.0,
        called_at=now(),
    )


_FIELDS = tuple(field.name for field in fields(CallRow))


class RunStore:
    """A run's database: writes come from one thread of its own, reads from any.

    One that cannot be written, as on a read-only disk, is read all the same `for_reading`. Raises
    RunError naming the file where it cannot be used.
    """

    def __init__(self, folder: Path, *, for_reading: bool = False) -> None:
        self._path = folder / FILE_NAME
        is_fixed = not may_write(self._path)
        if is_fixed:
            refuse_fixed(self._path, for_reading)
        self._engine: Engine = (open_unchanging if is_fixed else open_owner)(self._path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="run-store")
        with naming(self._path):
            if not is_fixed:
                _metadata.create_all(self._engine)
            self._tables = frozenset(inspect(self._engine).get_table_names())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self._engine.dispose()

    async def keep(self, row: CallRow, change: str = "") -> None:
        """Commit a call; one with a `change` is a classifier's, or belongs to the judge's audit."""
        if change:
            table = _classifier_calls if row.role is EvaluationRole.CLASSIFIER else _audit_calls
            values = vars(row) | {"change": change}
            await self._in_thread(lambda: self._insert(table, values))
        else:
            await self._in_thread(lambda: self._insert(_calls, vars(row)))

    async def keep_judgement(
        self, item_id: str, judge: str, repeat: int, text: str, reference: str
    ) -> None:
        """Commit an accepted judgement, made under the reference with the digest `reference`."""
        values = {"item_id": item_id, "judge": judge, "repeat": repeat, "judgement_json": text}
        values["reference"] = reference
        await self._in_thread(lambda: self._insert(_judgements, values))

    async def keep_audit(self, item_id: str, judge: str, change: str, text: str) -> None:
        """Commit the judgement of a changed request."""
        values = {"item_id": item_id, "judge": judge, "change": change, "judgement_json": text}
        await self._in_thread(lambda: self._insert(_audits, values))

    async def keep_classification(
        self, item_id: str, classifier: str, change: str, text: str
    ) -> None:
        """Commit the label of a failure, made under the scheme and reference of `change`."""
        values = {"item_id": item_id, "classifier": classifier, "change": change}
        values["label_json"] = text
        await self._in_thread(lambda: self._insert(_classifications, values))

    def keep_all(self, rows: Sequence[CallRow]) -> None:
        """Commit many calls at once."""
        with naming(self._path), self._engine.begin() as connection:
            connection.execute(insert(_calls), [vars(row) for row in rows])

    def responses(self) -> dict[str, CallRow]:
        """Return the evaluated model's replies, by item."""
        return {row.item_id: row for row in self.calls(EvaluationRole.EVALUATED)}

    def calls(self, role: EvaluationRole, model: str | None = None) -> list[CallRow]:
        """Return the answered calls of a role, in order of arrival."""
        query = select(_calls).where(_calls.c.role == role, _calls.c.error.is_(None))
        if model is not None:
            query = query.where(_calls.c.model == model)
        query = query.with_only_columns(*(_calls.c[name] for name in _FIELDS))
        return [CallRow(**row) for row in self._rows(query.order_by(_calls.c.id))]

    def audit_calls(self, judge: str) -> list[tuple[str, CallRow]]:
        """Return the answered calls of a judge's audit, each with its change."""
        return self._changed_calls(_audit_calls, judge)

    def classifier_calls(self, classifier: str) -> list[tuple[str, CallRow]]:
        """Return the answered calls of a classifier, each with its change."""
        return self._changed_calls(_classifier_calls, classifier)

    def _changed_calls(self, table: Table, model: str) -> list[tuple[str, CallRow]]:
        query = select(table).where(table.c.model == model, table.c.error.is_(None))
        return [
            (row["change"], CallRow(**{name: row[name] for name in _FIELDS}))
            for row in self._rows(query.order_by(table.c.id))
        ]

    def audits(self, judge: str) -> dict[tuple[str, str], str]:
        """Return the judgement JSON of a judge's audit, by item and change."""
        query = select(_audits).where(_audits.c.judge == judge)
        rows = self._rows(query)
        return {(row["item_id"], row["change"]): row["judgement_json"] for row in rows}

    def classifications(self) -> dict[tuple[str, str, str], str]:
        """Return the label JSON of failures, by classifier, change and item."""
        rows = self._rows(select(_classifications))
        return {
            (row["classifier"], row["change"], row["item_id"]): row["label_json"] for row in rows
        }

    def errors(self, role: EvaluationRole) -> dict[str, str]:
        """Return the last error of each item that a role was asked about, whatever came after."""
        query = select(_calls.c.item_id, _calls.c.error).where(
            _calls.c.role == role, _calls.c.error.is_not(None)
        )
        return {row["item_id"]: row["error"] for row in self._rows(query.order_by(_calls.c.id))}

    def judgements(
        self, standing: Mapping[str, Collection[str]]
    ) -> dict[tuple[str, int], dict[str, tuple[str, str]]]:
        """Return judgement JSON and its reference's digest by item, for each judge and repeat.

        Only judgements under one of an item's digests in `standing` are there.
        """
        unknown = literal(UNKNOWN_REFERENCE, Text).label("reference")
        earlier = select(_earlier_judgements, unknown)
        found: dict[tuple[str, int], dict[str, tuple[str, str]]] = {}
        for table, query in ((_earlier_judgements, earlier), (_judgements, select(_judgements))):
            for row in self._rows(query) if table.name in self._tables else ():
                name, reference = row["item_id"], row["reference"]
                if reference in standing.get(name, ()):
                    judged = found.setdefault((row["judge"], row["repeat"]), {})
                    judged[name] = row["judgement_json"], reference
        return {rater: dict(sorted(judged.items())) for rater, judged in found.items()}

    def spent(self) -> tuple[int, float | None]:
        """Return tokens and US dollars of all calls; None where a cost is unknown."""
        tokens, cost, unknown = 0, 0.0, 0
        for table in (_calls, _audit_calls, _classifier_calls):
            if table.name not in self._tables:
                continue
            columns = table.c
            query = select(
                func.coalesce(func.sum(columns.input_tokens + columns.output_tokens), 0).label("n"),
                func.coalesce(func.sum(columns.cost), 0.0).label("cost"),
                func.count().filter(columns.cost.is_(None), columns.text.is_not(None)).label("u"),
            )
            row = self._rows(query)[0]
            tokens, cost, unknown = tokens + row["n"], cost + row["cost"], unknown + row["u"]
        return tokens, None if unknown else cost

    def _rows(self, query: Select[Any]) -> list[dict[str, Any]]:
        engine = self._engine.execution_options(write=False)
        with naming(self._path), engine.begin() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _insert(self, table: Table, values: dict[str, Any]) -> None:
        with naming(self._path):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(table), values)
            except IntegrityError:
                # Another process was first: its row stands.
                return

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # Shielded: cancelling the caller lets a commit finish.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))


def may_write(path: Path) -> bool:
    """Whether the database at `path` can be written."""
    # SQLite keeps its log beside the file, so that the folder counts as well.
    return all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists())


def refuse_fixed(path: Path, for_reading: bool) -> None:
    """Raise RunError where a database that cannot be written cannot be read whole, or must be."""
    if not for_reading:
        raise RunError(f"{path} cannot be written.", "Make it and its folder writable.")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise RunError(
            f"{path} cannot be written, and {log.name} beside it holds what was last added.",
            "Copy its folder to where it can be written, and name the copy.",
        )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise RunError naming the file where the database fails."""
    try:
        yield
    except DBAPIError as error:
        raise RunError(
            f"{path} cannot be used: {error.orig}.",
            "Check that it is whole, and that the disk has room and may be written.",
        ) from error


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()
