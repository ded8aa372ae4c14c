"""Two scratch databases that differ in nothing but what one role must not learn.

Whatever a statement returns to that role from both must be the same: values, counts, messages.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import yaml
from sqlalchemy import Boolean, Column, Connection, Float, Integer
from sqlmodel import SQLModel

from psychemme.canonical import canonical_json
from state.attacks.classification import Classified, classification
from state.roles import DbRole

CANARY = "zq7"
ATTACKER = "ada"
"""The reviewer whose roles attack."""
Variant = Literal["a", "b"]
Row = Mapping[str, Any]


@cache
def scene() -> Mapping[str, tuple[Row, ...]]:
    """Return the rows of each table as `scene.yaml` gives them."""
    given = yaml.safe_load(Path(__file__).with_name("scene.yaml").read_text("utf-8"))
    return {table: tuple(rows) for table, rows in given.items()}


def plant(connection: Connection, role: DbRole, variant: Variant) -> None:
    """Insert the scene; `b` differs from `a` in what is secret from `role` and in nothing else."""
    for table, given in scene().items():
        rows = list(rows_of(table, given, role, variant))
        connection.execute(SQLModel.metadata.tables[table].insert(), rows)


def rows_of(
    table: str, given: tuple[Row, ...], role: DbRole, variant: Variant
) -> Iterator[dict[str, object]]:
    """Yield the rows of a table, filled."""
    classified = classification()[table]
    for number, row in enumerate(given):
        secret = _secret(table, classified, row, role) if variant == "b" else frozenset()
        if row.get("spare") and len(secret) == len(classified.columns):
            continue
        yield {
            column.name: _value(column, row, number, "b" if column.name in secret else "a")
            for column in SQLModel.metadata.tables[table].columns
        }


def _secret(table: str, classified: Classified, row: Row, role: DbRole) -> frozenset[str]:
    """Return the columns of one row that `role`, acting for the attacker, must not learn."""
    item = _item(row)
    if "reviewer_id" in classified.columns:
        own = row["reviewer_id"] == ATTACKER
    elif table == "episodes":
        own = any(i["episode_id"] == row["id"] for i in scene()["review_items"] if _is_own(i))
    elif table == "review_sets":
        own = row["kind"] == "review"
    else:
        own = item in _items("assignments")
    return classified.secret(role, own=own, answered=item in _items("blind_answers"))


def _is_own(row: Row) -> bool:
    return _item(row) in _items("assignments")


def _items(table: str) -> set[object]:
    return {_item(row) for row in scene()[table] if row["reviewer_id"] == ATTACKER}


def _item(row: Row) -> tuple[object, object]:
    return row.get("candidate_key"), row.get("version")


def _value(column: Column[Any], row: Row, number: int, variant: Variant) -> object:
    if column.name in row:
        given = row[column.name]
        return given[variant] if isinstance(given, dict) else given
    return fill(column, number, variant)


def fill(column: Column[Any], number: int, variant: Variant = "a") -> object:
    """Return a canary that fits the column, another one in each row and variant."""
    place = f"{column.table.name}.{column.name} {number}"
    if isinstance(column.type, Boolean):
        return variant == "b"
    if isinstance(column.type, Float | Integer):
        # Halves: exact in every float column; odd and even for the two variants.
        whole = 2 * (crc32(place.encode()) % 100_000) + (variant == "b")
        return whole if isinstance(column.type, Integer) else whole / 2
    text = f"{CANARY}{variant} {place}"
    return canonical_json(text) if column.name.endswith("_json") else text
