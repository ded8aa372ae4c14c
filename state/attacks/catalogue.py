"""Every statement that a role tries against an engine.

Reads of every secret column and writes to every table follow from `classification.yaml`, not from
the role table; the tricks are in `statements/`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Literal

import yaml
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel

from state.attacks.classification import AGENTS, REVIEWERS, classification, secrets
from state.attacks.scene import fill, scene
from state.roles import DbRole

EngineName = Literal["sqlite", "postgres"]
_DIALECTS: dict[EngineName, Dialect] = {
    "sqlite": sqlite.dialect(),
    "postgres": postgresql.dialect(),  # type: ignore[no-untyped-call]
}
_GROUPS = {
    "agents": AGENTS,
    "reviewers": REVIEWERS,
    "all": tuple(DbRole),
}
_TARGETS = {
    DbRole.QUESTION: (("independent_answers", "rationale"), ("critiques", "critique_json")),
    DbRole.ANSWER: (("reference_answers", "rationale"), ("cues", "description")),
    DbRole.CRITIC: (("question_calls", "text"), ("answer_calls", "text")),
    DbRole.REVIEWER_BLIND: (("votes", "comment"), ("review_references", "subcategory")),
    DbRole.REVIEWER_INFORMED: (("votes", "comment"), ("review_cues", "description")),
    DbRole.CURATOR: (),
}
"""Secrets that the tricks reach for; the direct reads reach for all of them."""
_SEEN = dict.fromkeys(REVIEWERS, ("own_items", "question"))
_OWN = {
    DbRole.QUESTION: "questions",
    DbRole.ANSWER: "independent_answers",
    DbRole.CRITIC: "critiques",
    DbRole.REVIEWER_BLIND: "blind_answers",
    DbRole.REVIEWER_INFORMED: "votes",
    DbRole.CURATOR: "steps",
}
_READABLE = {"reasons_json": "{}", "answer_json": '"A"', "seconds": 0.0, "watched": 1.0}
"""Other values are refused for their shape, whatever else is wrong with a row."""
_ALONE = "(alone) "
COPY = Path(gettempdir()) / "psychemme-attack.db"
"""Where a statement tries to write a copy."""


@dataclass(frozen=True)
class Attack:
    """A statement no role may gain anything by.

    `never` says that being answered is a leak in itself; `alone` runs in no transaction.
    """

    kind: str
    sql: str
    never: bool = False
    alone: bool = False

    @property
    def parameters(self) -> tuple[object, ...]:
        """What `?1` and `?2` are bound to."""
        return (1, "x" * 4_000)[: max(map(int, re.findall(r"\?(\d)", self.sql)), default=0)]


def attacks(engine: EngineName, role: DbRole) -> tuple[Attack, ...]:
    """Return what `role` tries on `engine`, each statement once."""
    every = [*_reads(role), *_writes(engine, role), *_tricks(engine, role)]
    return tuple(dict.fromkeys(every))


def _reads(role: DbRole) -> Iterator[Attack]:
    for table, column in secrets(role):
        yield Attack("direct read", f'SELECT "{column}" FROM {table}')  # noqa: S608


def _writes(engine: EngineName, role: DbRole) -> Iterator[Attack]:
    for table, classified in classification().items():
        column = list(classified.columns)[-1]
        if role not in classified.updaters:
            value = _literal(engine, table)
            yield Attack("update", f'UPDATE {table} SET "{column}" = {value}')  # noqa: S608
        if role not in classified.deleters:
            yield Attack("delete", f"DELETE FROM {table}")  # noqa: S608
        if not classified.may_insert(role):
            yield Attack("insert", _insert(engine, table, {}))
        if not classified.may_replace(role):
            yield from _replacements(engine, table)


def _replacements(engine: EngineName, table: str) -> Iterator[Attack]:
    """Yield ways to put a new row in the place of a table's first one."""
    key = [column.name for column in SQLModel.metadata.tables[table].primary_key]
    first = dict(scene()[table][0])
    insert = _insert(engine, table, {name: first[name] for name in key})
    column = list(classification()[table].columns)[-1]
    yield Attack(
        "insert over a row",
        f'{insert} ON CONFLICT ({", ".join(key)}) DO UPDATE SET "{column}" = excluded."{column}"',
    )
    if engine == "sqlite":
        yield Attack("insert over a row", insert.replace("INSERT", "INSERT OR REPLACE"))


_FRESH = {"candidate_key": "1-c3", "reviewer_id": "ben"} | dict.fromkeys(
    ("round", "position", "ordinal", "number", "attempt", "revision"), 7
)
"""Keys of a new row, of a candidate that has few; other keys are canaries of their own."""


def _insert(engine: EngineName, name: str, key: dict[str, Any]) -> str:
    """Return the insertion of a row into a table: a new one, or one with the given key."""
    table = SQLModel.metadata.tables[name]
    fresh: dict[str, Any] = {c.name: fill(c, 7) for c in table.primary_key} | _FRESH
    fresh["version"] = 7 if name == "review_items" else 1
    values = {column.name: fill(column, 7) for column in table.columns} | dict(scene()[name][0])
    values = {n: v["a"] if isinstance(v, dict) else v for n, v in values.items() if n != "spare"}
    values |= key or {
        c.name: fresh[c.name] for c in table.primary_key if c.name in _FRESH or not c.foreign_keys
    }
    values |= {n: v for n, v in _READABLE.items() if n in values}
    statement = table.insert().values(values)
    compiled = statement.compile(dialect=_DIALECTS[engine], compile_kwargs={"literal_binds": True})
    return str(compiled).replace("\n", "")


def _literal(engine: EngineName, table: str) -> str:
    """Return a value that fits the last column of a table."""
    column = list(SQLModel.metadata.tables[table].columns)[-1]
    rendered = column.type.literal_processor(_DIALECTS[engine])
    return rendered(fill(column, 9)) if rendered else "NULL"


def _tricks(engine: EngineName, role: DbRole) -> Iterator[Attack]:
    for group in _statements(engine):
        if role not in _roles(group.get("roles", "all")):
            continue
        for statement in group["statements"]:
            targets = _TARGETS[role] if re.search("<table>|<column>", statement) else (("", ""),)
            for target in targets:
                sql = _filled(statement.removeprefix(_ALONE), engine, role, target)
                never, alone = group.get("never", False), statement.startswith(_ALONE)
                yield Attack(group["kind"], sql, never, alone)


def _filled(statement: str, engine: EngineName, role: DbRole, target: tuple[str, str]) -> str:
    table, column = target
    opened, seen = _SEEN.get(role, ("questions", "question"))
    names = {
        "table": table,
        "column": column,
        "open": opened,
        "seen": seen,
        "own": _OWN[role],
        "hidden": "critiques" if role is DbRole.CURATOR else _TARGETS[role][0][0],
        "false": "0" if engine == "sqlite" else "false",
        "copy": str(COPY),
    }
    return re.sub("<([a-z]+)>", lambda found: names[found.group(1)], statement)


def _roles(words: str) -> tuple[DbRole, ...]:
    return tuple(role for word in words.split() for role in (_GROUPS.get(word) or (DbRole(word),)))


@cache
def _statements(engine: EngineName) -> list[dict[str, Any]]:
    folder = Path(__file__).with_name("statements")
    files = [folder / f"{name}.yaml" for name in ("common", engine)]
    return [group for file in files for group in yaml.safe_load(file.read_text("utf-8"))]
