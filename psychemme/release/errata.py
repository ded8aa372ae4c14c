"""Errata: what was wrong with items of earlier releases, and what was done about it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from psychemme.canonical import strict_json
from psychemme.episode import Value
from psychemme.errors import ReleaseError
from psychemme.release.diff import ReleaseDiff
from psychemme.release.faults import ERRATA, Fault, Rule
from psychemme.release.rows import EpisodeRow, ErratumAction, ErratumRow, QuestionRow

_FIX = "Give a list of {id, fault, action: removed | corrected | noted, note}, as YAML or JSONL."


class Erratum(Value):
    """One entry of an errata file. It is published: neither text may give an answer away."""

    id: str = Field(min_length=1)
    fault: str = Field(min_length=1)
    action: ErratumAction
    note: str = ""


def read_errata(path: Path) -> tuple[Erratum, ...]:
    """Return the errata in a YAML or JSON Lines file; raises ReleaseError naming the fault."""
    try:
        return TypeAdapter(tuple[Erratum, ...]).validate_python(_content(path))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the file"
        raise ReleaseError(f"{path}: {place}: {fault['msg']}.", _FIX) from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ReleaseError(f"{path} cannot be read as errata: {error}.", _FIX) from error


def _content(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [strict_json(line) for line in text.split("\n") if line.strip()]
    return yaml.safe_load(text) or ()


def erratum_rows(errata: Iterable[Erratum], version: str) -> list[ErratumRow]:
    """Return `errata` as rows of the release of this version."""
    return [ErratumRow(version=version, **erratum.model_dump()) for erratum in errata]


def errata_faults(
    errata: Sequence[Erratum], diff: ReleaseDiff | None, known: Collection[str]
) -> Iterator[Fault]:
    """Yield where `errata` and `diff` do not tell the same; `known` are the new release's ids.

    `diff` is None for a release without a predecessor, which can only note faults.
    """
    faulty = diff.faulty if diff else frozenset()
    removed = set(diff.removed) if diff else set()
    said = Counter(erratum.id for erratum in errata)
    for name in sorted(faulty - said.keys()):
        what = "was removed" if name in removed else "changed"
        yield _fault(name, f"{what} without an erratum")
    for name, times in said.items():
        if times > 1:
            yield _fault(name, f"has {times} errata in this version; give one")
    for erratum in errata:
        if (found := _action(erratum.id, faulty, removed, known)) is None:
            yield _fault(erratum.id, "is no item or episode of this release or the one before")
        elif found is not erratum.action:
            yield _fault(erratum.id, f"the erratum says {erratum.action}, the rows say {found}")


def errata_row_faults(
    errata: Iterable[ErratumRow],
    questions: Iterable[QuestionRow],
    episodes: Iterable[EpisodeRow],
    version: str,
) -> Iterator[Fault]:
    """Yield the errata of this `version` that its rows belie; earlier ones may be outdated."""
    known = {row.id for row in questions} | {row.id for row in episodes}
    for row in errata:
        if row.version == version and (row.id in known) == (row.action is ErratumAction.REMOVED):
            yield _fault(
                row.id, f"says {row.action}, but is {'' if row.id in known else 'not '}here"
            )


def _action(
    name: str, faulty: Collection[str], removed: Collection[str], known: Collection[str]
) -> ErratumAction | None:
    if name in removed:
        return ErratumAction.REMOVED
    if name in faulty:
        return ErratumAction.CORRECTED
    return ErratumAction.NOTED if name in known else None


def _fault(name: str, problem: str) -> Fault:
    return Fault(file=ERRATA, where=name, rule=Rule.ERRATA, problem=problem)
