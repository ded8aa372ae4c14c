"""Move a whole Shared State between engines as a folder of files.

One JSON Lines file a table, a row a line in canonical JSON, in ascending order of the primary key,
and `manifest.json` with the schema revision and each file's rows and SHA-256. Nothing in it depends
on the engine or the time of day, so that the same rows give the same bytes. Leases stay behind:
they belong to processes.
"""

import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Table, select
from sqlalchemy.exc import DBAPIError
from sqlmodel import AutoString, SQLModel

from psychemme.canonical import canonical_json
from psychemme.episode import Value
from psychemme.errors import WorkspaceError
from psychemme.vocabulary import CandidateState, Capability, ClipStatus, Format, SetKind, VoteKind
from state import migrate, review_tables, tables  # noqa: F401  (registers every table)
from state.address import Address
from state.engines import open_engine, open_owner
from state.engines.text import storable
from state.roles import DbRole

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_LEFT_BEHIND = frozenset({"leases"})
# Their rules, which no foreign key tells of: assigned, answered first, not closed yet.
_LAST = ("blind_answers", "votes", "review_drafts", "review_closings")
_ROWS_AT_ONCE = 100
_WORDS: Mapping[tuple[str, str], type[StrEnum]] = {
    ("clips", "status"): ClipStatus,
    ("candidates", "capability"): Capability,
    ("candidates", "format"): Format,
    ("outcomes", "state"): CandidateState,
    ("review_sets", "kind"): SetKind,
    ("review_items", "format"): Format,
    ("review_references", "capability"): Capability,
    ("votes", "kind"): VoteKind,
}
"""Columns, by table, that hold a word of the vocabulary."""
_AS_TYPED = "draft_json"
"""The one column of JSON that is its writer's own affair."""

Report = Callable[[int, int], None]
"""Called with the tables done and the tables there are."""


class TableFile(Value):
    """What the manifest says of one table's file."""

    rows: int
    sha256: str


class Manifest(Value):
    """What an export holds, by table."""

    format_version: int
    schema_revision: str
    tables: dict[str, TableFile]

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(file.rows for file in self.tables.values())

    @property
    def sha256(self) -> str:
        """The SHA-256 of the manifest's file, which names those of all others."""
        return hashlib.sha256(_line(self.model_dump())).hexdigest()


def moved_tables() -> list[Table]:
    """Return the tables that move, each after those that its rows depend on."""
    every = [table for table in SQLModel.metadata.sorted_tables if table.name not in _LEFT_BEHIND]
    # A stable sort: the others keep their order.
    return sorted(every, key=lambda table: _LAST.index(table.name) if table.name in _LAST else -1)


def export_state(address: Address, root: Path, report: Report = lambda *_: None) -> Manifest:
    """Write everything in the Shared State, references too, into the folder `root`.

    All tables are read in one transaction: what others commit meanwhile is not in it. The folder
    has mode 700, its files 600. Raises WorkspaceError where `root` exists and is not an empty
    folder, or the Shared State is at another schema revision.
    """
    migrate.check(address)
    root, every = root.absolute(), moved_tables()
    _refuse_target(root)
    engine = open_engine(address, DbRole.CURATOR).execution_options(write=False)
    made = Path(tempfile.mkdtemp(prefix=f".{root.name}-", dir=root.parent))
    try:
        with engine.connect() as connection:
            found: dict[str, TableFile] = {}
            for table in every:
                found[table.name] = _write(connection, table, made / _file_name(table.name))
                report(len(found), len(every))
        manifest = Manifest(
            format_version=FORMAT_VERSION, schema_revision=migrate.head(), tables=found
        )
        _private(made / MANIFEST).write_bytes(_line(manifest.model_dump()))
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    finally:
        engine.dispose()
    return manifest


def import_state(address: Address, root: Path, report: Report = lambda *_: None) -> Manifest:
    """Fill an empty Shared State at the newest revision with the export in `root`, whole or not.

    Every file is checked against the manifest before the database is touched. Raises WorkspaceError
    naming each file that is missing, unknown or altered, a table that holds rows, or the row that
    the database refuses.
    """
    migrate.check(address)
    manifest, every = _checked(root), moved_tables()
    engine = open_owner(address)
    try:
        with engine.begin() as connection:
            _claim(connection, every)
            for done, table in enumerate(every, start=1):
                _fill(connection, table, root / _file_name(table.name))
                report(done, len(every))
    finally:
        engine.dispose()
    return manifest


def _file_name(table: str) -> str:
    return f"{table}.jsonl"


def _line(value: object) -> bytes:
    return f"{canonical_json(value)}\n".encode()


def _private(path: Path) -> Path:
    path.touch(mode=0o600)
    return path


def _refuse_target(root: Path) -> None:
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise WorkspaceError(f"{root} is not a folder.", "Name another, or one that is empty.")
    if root.is_dir() and any(root.iterdir()):
        raise WorkspaceError(
            f"{root} is not empty.", "An export is never overwritten: name another."
        )
    if not root.parent.is_dir():
        raise WorkspaceError(f"{root.parent} does not exist.", "Make it first, or name another.")


def _write(connection: Connection, table: Table, path: Path) -> TableFile:
    rows, digest = 0, hashlib.sha256()
    query = select(table).order_by(*table.primary_key)
    found = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query).mappings()
    with _private(path).open("wb") as file:
        for row in found:
            line = _line({name: _storable(value) for name, value in row.items()})
            digest.update(line)
            file.write(line)
            rows += 1
    return TableFile(rows=rows, sha256=digest.hexdigest())


def _storable(value: object) -> object:
    """Return `value` as both engines keep it."""
    if isinstance(value, str):
        # A file from before the stores replaced what PostgreSQL's text cannot hold may hold it.
        return storable(value)
    # SQLite forgets the sign of a zero.
    return value + 0.0 if isinstance(value, float) else value


def _checked(root: Path) -> Manifest:
    manifest = _manifest(root)
    wanted = {MANIFEST, *map(_file_name, manifest.tables)}
    present = {path.name for path in root.iterdir()}
    faults = [f"{name} is missing" for name in sorted(wanted - present)]
    faults += [f"{name!r} is not part of it" for name in sorted(present - wanted)]
    faults += [
        f"{_file_name(name)} {fault}"
        for name, file in sorted(manifest.tables.items())
        if _file_name(name) in present and (fault := _altered(root / _file_name(name), file))
    ]
    if faults:
        raise WorkspaceError(
            f"{root} is not as it was exported: {'; '.join(faults)}.", "Export it again."
        )
    return manifest


def _manifest(root: Path) -> Manifest:
    path = root / MANIFEST
    try:
        if path.is_symlink():
            raise ValueError("a link")
        data = path.read_bytes()
        values = json.loads(data)
        if isinstance(values, dict) and values.get("format_version") != FORMAT_VERSION:
            raise WorkspaceError(
                f"{path} has format {values.get('format_version')!r}, this version reads "
                f"{FORMAT_VERSION}.",
                "Use the version of psychemme that wrote it.",
            )
        manifest = Manifest.model_validate(values)
        if data != _line(manifest.model_dump()):
            raise ValueError("not as it was written")
    except (OSError, ValueError, RecursionError):
        raise WorkspaceError(
            f"{path} is not the manifest of an export.", "Name the folder that `db export` made."
        ) from None
    if manifest.schema_revision != migrate.head():
        raise WorkspaceError(
            f"{root} is at schema revision {manifest.schema_revision!r}, this version needs "
            f"{migrate.head()}.",
            "Upgrade the Shared State that it came from, then export it again.",
        )
    if odd := manifest.tables.keys() ^ {table.name for table in moved_tables()}:
        raise WorkspaceError(
            f"{path} does not list the tables of its revision: {', '.join(sorted(odd))}.",
            "Export it again.",
        )
    return manifest


def _altered(path: Path, said: TableFile) -> str | None:
    """Return what is wrong with a file, None where it is the one that was exported."""
    if path.is_symlink() or not path.is_file():
        return "is not a file"
    rows, digest = 0, hashlib.sha256()
    with path.open("rb") as file:
        for line in file:
            digest.update(line)
            rows += 1
    if rows != said.rows:
        return f"holds {rows} rows, the manifest says {said.rows}"
    return None if digest.hexdigest() == said.sha256 else "has another SHA-256"


def _claim(connection: Connection, every: Sequence[Table]) -> None:
    """Keep others from writing until the import is committed, and refuse a state with rows."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in every)
        connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
    for table in every:
        if connection.execute(select(*table.primary_key).limit(1)).first() is not None:
            raise WorkspaceError(
                f"The Shared State is not empty: {table.name} holds rows.",
                "Import into a new workspace, or a new database.",
            )


def _fill(connection: Connection, table: Table, path: Path) -> None:
    with path.open("rb") as file:
        rows = _in_order(table, file)
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            try:
                connection.execute(table.insert(), some)
            except DBAPIError as error:
                # The first line alone: what follows it may quote a reference.
                reason = str(error.orig).partition("\n")[0]
                raise WorkspaceError(
                    f"The database refuses a row of {path.name}: {reason}.",
                    "Nothing was imported; export it again.",
                ) from None


def _in_order(table: Table, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    before: tuple[Any, ...] = ()
    for number, line in enumerate(lines, start=1):
        row = _row(table, number, line)
        key = tuple(row[column.name] for column in table.primary_key)
        if key < before:
            raise WorkspaceError(
                f"Line {number} of {_file_name(table.name)} is not in the order of an export.",
                "Nothing was imported; export it again.",
            )
        before = key
        yield row


def _row(table: Table, number: int, line: bytes) -> dict[str, Any]:
    try:
        text = line.decode()
        row = json.loads(text)
        if isinstance(row, dict) and text == f"{canonical_json(row)}\n" and _fits(table, row):
            return row
    except (ValueError, RecursionError):
        pass
    raise WorkspaceError(
        f"Line {number} of {_file_name(table.name)} is no row of that table.",
        "Nothing was imported; export it again.",
    )


def _fits(table: Table, row: dict[str, Any]) -> bool:
    return row.keys() == set(table.columns.keys()) and all(
        _holds(table.columns[name], value) and (value is None or _means(table.name, name, value))
        for name, value in row.items()
    )


def _holds(column: Column[Any], value: object) -> bool:
    if value is None:
        return bool(column.nullable)
    # SQLModel's text type names no Python type.
    kind = str if isinstance(column.type, AutoString) else column.type.python_type
    if type(value) is not kind:
        return False
    if isinstance(value, str):
        return storable(value) == value
    return math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63


def _means(table: str, column: str, value: Any) -> bool:  # noqa: ANN401
    """Return whether a column of JSON, or of words, holds some; raises ValueError likewise."""
    if column.endswith("_json") and column != _AS_TYPED:
        json.loads(value)
    words = _WORDS.get((table, column))
    return words is None or value in set(words)
