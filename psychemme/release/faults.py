"""What can be wrong with a release: one closed list of rules, and faults that name them."""

from collections.abc import Sequence
from enum import StrEnum

from psychemme.episode import Value
from psychemme.errors import ReleaseError

QUESTIONS = "public/questions.jsonl"
EPISODES = "public/episodes.jsonl"
ERRATA = "public/errata.jsonl"
REFERENCES = "private/references.jsonl"
PUBLIC_MANIFEST = "public/manifest.json"
PRIVATE_MANIFEST = "private/manifest.json"
SUMS = "SHA256SUMS"
ROW_FILES = {"public": ("episodes.jsonl", "questions.jsonl"), "private": ("references.jsonl",)}
"""The files that every release has in each part, beside the manifest."""
_MOST_NAMED = 5


class Rule(StrEnum):
    """The rules of a release, each in a line of `docs/release-format.md`."""

    CHECKSUM = "checksum"
    MISSING = "missing"
    EXTRA = "extra"
    FORMAT = "format"
    CANARY = "canary"
    MANIFEST = "manifest"
    ID = "id"
    LINK = "link"
    WINDOW = "window"
    OVERLAP = "overlap"
    OPTIONS = "options"
    ANSWER = "answer"
    KEY_POINTS = "key_points"
    CUE = "cue"
    DECISION_TIME = "decision_time"
    DUPLICATE = "duplicate"
    LICENCE = "licence"
    MEDIA = "media"
    REVIEW = "review"
    ERRATA = "errata"
    VERSION = "version"


class Fault(Value):
    """One fault. `where` is an id or `line N`, empty where the whole file is meant."""

    file: str
    where: str = ""
    rule: Rule
    problem: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.where}" if self.where else self.file
        return f"{place}: {self.problem} [{self.rule}]"


class ReleaseRefused(ReleaseError):
    """A release that would break its own rules; `faults` are all of them."""

    def __init__(self, problem: str, faults: Sequence[Fault], action: str) -> None:
        self.faults = tuple(faults)
        super().__init__(f"{problem}: {listed([str(fault) for fault in faults])}.", action)


def counted(number: int, what: str) -> str:
    """Return a number of things, in the singular where it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(problems: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Return the first of `problems` in one line, and how many more there are."""
    more = f" (+{len(problems) - most} more)" if len(problems) > most else ""
    return "; ".join(problems[:most]) + more
