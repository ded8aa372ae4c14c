"""The analyses by the names that `psychemme analyse` takes."""

from collections.abc import Callable
from importlib import import_module

from evaluation.analyses.values import Analysis, Study
from psychemme.errors import ConfigError

ANALYSES = {
    "retention": "retention",
    "labels": "labels",
    "stages": "stages",
    "open-answers": "open_answers",
    "voting": "voting",
    "sensitivity": "sensitivity",
    "strata": "strata",
    "modality": "modality",
    "history": "history",
    "frames": "frames",
    "humans": "humans",
    "judge-review": "judge_review",
    "errors": "errors",
}
"""Module of this package by name, in the order of a full report."""


def find(name: str) -> Callable[[Study], Analysis]:
    """Return the analysis called `name`; raise ConfigError naming those there are."""
    if name not in ANALYSES:
        raise ConfigError(f"There is no analysis {name!r}.", f"Use one of: {', '.join(ANALYSES)}.")
    module = import_module(f"evaluation.analyses.{ANALYSES[name]}")
    found: Callable[[Study], Analysis] = module.analyse
    return found
