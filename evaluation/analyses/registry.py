"""The analyses by the names that `psychemme analyse` takes."""

from collections.abc import Callable
from enum import Enum, auto
from importlib import import_module
from typing import NamedTuple

from evaluation.analyses.values import Analysis, Study
from psychemme.errors import ConfigError


class Over(Enum):
    """Which of many runs an analysis is of.

    Those of one condition, or people with them; all whose conditions can be compared, or all.
    """

    ONE_CONDITION = auto()
    WITH_PEOPLE = auto()
    CONDITIONS = auto()
    ALL = auto()


class Entry(NamedTuple):
    """An analysis's module in this package, and what it asks in one line."""

    module: str
    line: str
    over: Over = Over.ONE_CONDITION


ANALYSES = {
    "retention": Entry("retention", "How much answer credit verification leaves, by capability."),
    "labels": Entry("labels", "How often right answers have adverse labels; both labels jointly."),
    "stages": Entry("stages", "Credit after each stage, what is lost there, and scores in bins."),
    "open-answers": Entry("open_answers", "Credit and length of open answers; jointly right ones."),
    "voting": Entry("voting", "Oracle coverage, plurality, and wrong options that models share."),
    "sensitivity": Entry("sensitivity", "Verified and its ordering under other weights."),
    "strata": Entry("strata", "Scores by format, source, duration, length and subcategory."),
    "modality": Entry("modality", "Scores by condition, and changes from full.", Over.CONDITIONS),
    "history": Entry("history", "Memory items with other histories, or none.", Over.CONDITIONS),
    "frames": Entry("frames", "Scores with fewer frames, or others chosen.", Over.CONDITIONS),
    "humans": Entry("humans", "People's answers, beside models on the items.", Over.WITH_PEOPLE),
    "judge-review": Entry("judge_review", "How far experts agree with the judge.", Over.ALL),
    "errors": Entry("errors", "What kinds of failures each model has."),
}
"""In the order of a full report."""


def find(name: str) -> Callable[[Study], Analysis]:
    """Return the analysis called `name`; raise ConfigError naming those there are."""
    if name not in ANALYSES:
        raise ConfigError(f"There is no analysis {name!r}.", f"Use one of: {', '.join(ANALYSES)}.")
    module = import_module(f"evaluation.analyses.{ANALYSES[name].module}")
    found: Callable[[Study], Analysis] = module.analyse
    return found
