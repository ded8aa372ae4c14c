"""Which role may know which column: `classification.yaml`, read strictly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from sqlalchemy import MetaData
from sqlmodel import SQLModel

from psychemme.errors import ConfigError
from state import review_tables, tables  # noqa: F401  (fill the metadata)
from state.roles import DbRole

FILE = Path(__file__).with_name("classification.yaml")
AGENTS = (DbRole.QUESTION, DbRole.ANSWER, DbRole.CRITIC)
REVIEWERS = (DbRole.REVIEWER_BLIND, DbRole.REVIEWER_INFORMED)
_WORDS = frozenset({*AGENTS, "own", "answered", "nobody", DbRole.CURATOR})


@dataclass(frozen=True)
class Classified:
    """A table: who may know each column, and who may insert, update and delete rows.

    All by the words of the file.
    """

    columns: Mapping[str, frozenset[str]]
    writers: frozenset[str]
    updaters: frozenset[str]
    deleters: frozenset[str]

    def may_insert(self, role: DbRole) -> bool:
        """Return whether the role may insert rows, a reviewer's role rows of its reviewer."""
        return role in self.writers or (role in REVIEWERS and "own" in self.writers)

    def may_replace(self, role: DbRole) -> bool:
        """Return whether some row may go for another, a reviewer's own for the reviewer's role."""
        changers = self.updaters | self.deleters
        return role in changers or (role in REVIEWERS and "own" in changers)

    def secret(self, role: DbRole, *, own: bool = False, answered: bool = False) -> frozenset[str]:
        """Return the columns that `role` must not learn.

        `own` and `answered` say whether the row is the reviewer's own, or of an item the reviewer
        has answered; without them the row is somebody else's.
        """
        if role is DbRole.CURATOR:
            return frozenset()
        words = {str(role)} if role in AGENTS else set()
        if role in REVIEWERS and own:
            words.add("own")
        if role is DbRole.REVIEWER_INFORMED and answered:
            words.add("answered")
        return frozenset(name for name, known in self.columns.items() if not words & known)


Classification = Mapping[str, Classified]


@cache
def classification() -> Classification:
    """Return the classification of every column of the Shared State."""
    return load(FILE.read_text("utf-8"), SQLModel.metadata)


def load(text: str, metadata: MetaData) -> Classification:
    """Return the classification in `text`.

    Raises ConfigError naming every column of `metadata` that is not classified, every one that
    does not exist, and every unknown word.
    """
    found = {
        table: Classified(
            {column: _words(known) for column, known in given["columns"].items()},
            *(_words(given.get(kind, "")) for kind in ("writers", "updaters", "deleters")),
        )
        for table, given in yaml.safe_load(text).items()
    }
    classified = {f"{table}.{column}" for table, one in found.items() for column in one.columns}
    known = {f"{t.name}.{c.name}" for t in metadata.tables.values() for c in t.columns}
    faults = [
        *(f"{name} is not classified" for name in sorted(known - classified)),
        *(f"{name} does not exist" for name in sorted(classified - known)),
        *(f"{word} is no role" for word in sorted(_all_words(found) - _WORDS)),
    ]
    if faults:
        raise ConfigError(
            f"{FILE.name}: {'; '.join(faults)}.",
            "Say for each column which roles may know it.",
        )
    return found


def secrets(role: DbRole) -> Iterator[tuple[str, str]]:
    """Yield each table and column of which `role` must not learn some row."""
    for table, classified in classification().items():
        for column in sorted(classified.secret(role)):
            yield table, column


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _all_words(found: Classification) -> set[str]:
    return {
        word
        for one in found.values()
        for words in (one.writers, *one.columns.values())
        for word in words
    }
