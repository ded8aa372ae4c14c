"""How failures are sorted: schemes of categories as data, and the category of one failure.

A failure is a parsed response with less than full answer credit. A response without an answer has
its outcome for a category, which nobody needs to be asked about.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from evaluation.files import json_lines
from evaluation.judge import reference_digest
from evaluation.scoring import ScoringError
from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychemme.release.read import Release

_PATH = Path(__file__).with_suffix(".yaml")
_FIX = "Correct the file; `psychemme errors` writes such files as errors.jsonl."


class Category(Value):
    """One kind of failure, as the classifier and people are told it."""

    id: str = Field(pattern=r"^[a-z_]+$")
    name: str
    definition: str


class Scheme(Value):
    """Categories that exclude each other; `source` says where they come from."""

    id: str = Field(pattern=r"^[a-z-]+$")
    version: str
    source: str
    categories: tuple[Category, ...]

    @property
    def label(self) -> str:
        """Id and version, kept with every category that was given under it."""
        return f"{self.id}/{self.version}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the categories, in order."""
        return tuple(category.id for category in self.categories)


class ErrorLabel(Value):
    """The category that `classifier` gave to one failure, and why; a line of `errors.jsonl`.

    `scheme` is a scheme's label; `reference` is the digest of the reference that it was shown,
    None where a file does not say.
    """

    schema_version: Literal[1] = 1
    item_id: str
    model: str
    condition: str
    classifier: str
    scheme: str
    category: str
    reason: str = ""
    reference: str | None = None


@cache
def schemes() -> tuple[Scheme, ...]:
    """Return the schemes there are, the default first."""
    found: Any = yaml.safe_load(_PATH.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Scheme, ...]).validate_python(found)


def scheme(name: str | None = None) -> Scheme:
    """Return the scheme with the id or label `name`; raises ConfigError naming those there are."""
    for one in schemes():
        if name in (None, one.id, one.label):
            return one
    known = ", ".join(one.id for one in schemes())
    raise ConfigError(f"There is no scheme of errors {name!r}.", f"Use one of: {known}.")


def read_error_files(paths: Iterable[Path], release: Release) -> tuple[ErrorLabel, ...]:
    """Return the categories in files like `errors.jsonl` that stand under the release's references.

    Raises ScoringError naming file, line and fault.
    """
    references = release.references()
    found: dict[tuple[str, ...], ErrorLabel] = {}
    for path in paths:
        for place, row in json_lines(path):
            label = _label(place, row)
            if label.item_id not in references:
                raise ScoringError(f"{place}: the release has no item {label.item_id!r}.", _FIX)
            key = (label.classifier, label.scheme, label.model, label.condition, label.item_id)
            if label.reference in (None, reference_digest(references[label.item_id])):
                if key in found:
                    raise ScoringError(f"{place}: item {label.item_id!r} stands twice.", _FIX)
                found[key] = label
    return tuple(found[key] for key in sorted(found))


def _label(place: str, row: dict[str, Any]) -> ErrorLabel:
    try:
        label = ErrorLabel.model_validate(row)
        known = scheme(label.scheme).ids
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "line"
        raise ScoringError(f"{place}: {where}: {fault['msg']}.", _FIX) from None
    except ConfigError as fault:
        raise ScoringError(f"{place}: {fault.problem}", fault.action) from None
    if label.category not in known:
        raise ScoringError(
            f"{place}: {label.category!r} is no category of {label.scheme}.",
            f"Use one of: {', '.join(known)}.",
        )
    return label


def one_set(
    labels: Sequence[ErrorLabel], classifier: str | None = None, scheme: str | None = None
) -> tuple[ErrorLabel, ...]:
    """Return the labels of one classifier under one scheme; raises ScoringError if unclear."""
    chosen = tuple(
        one
        for one in labels
        if classifier in (None, one.classifier)
        and scheme in (None, one.scheme, one.scheme.partition("/")[0])
    )
    if len(sets := sorted({(one.classifier, one.scheme) for one in chosen})) > 1:
        listed = ", ".join(f"{who} by {how}" for who, how in sets)
        raise ScoringError(f"Failures were sorted by {listed}.", "Name one classifier and scheme.")
    return chosen
