"""Read what people said from files, each row verified against the release (`docs/people.md`)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from evaluation.people.rows import (
    ROWS,
    SCHEMA_VERSION,
    AnyRow,
    BaselineRow,
    EndorseRow,
    ErrorsRow,
    Kind,
    LabelRow,
)
from evaluation.scoring import ScoringError
from psychemme.answers import fits
from psychemme.canonical import strict_json
from psychemme.release.read import Release

_FIX = "Correct the file; docs/people.md describes it."

R = TypeVar("R", bound=AnyRow)


@dataclass(frozen=True)
class People:
    """What people said about one release, each kind in ascending order of who and what."""

    baseline: tuple[BaselineRow, ...] = ()
    labels: tuple[LabelRow, ...] = ()
    endorsements: tuple[EndorseRow, ...] = ()
    errors: tuple[ErrorsRow, ...] = ()


def read_people(paths: Sequence[Path], release: Release) -> People:
    """Return the rows in `paths`.

    Raises ScoringError naming file, line and fault: a row that does not fit its kind or the
    release, one that stands twice, and an annotator who reviewed items of the release.
    """
    found: dict[tuple[object, ...], AnyRow] = {}
    for path in paths:
        count = len(found)
        for place, row in _rows(path):
            _refuse_misfit(place, row, release)
            key = (row.kind, *(getattr(row, name) for name in row.IDENTITY))
            if key in found:
                raise ScoringError(f"{place}: {_who(row)} stands twice.", _FIX)
            found[key] = row
        if len(found) == count:
            raise ScoringError(f"{path} holds no row.", _FIX)
    return People(
        _of(BaselineRow, found), _of(LabelRow, found), _of(EndorseRow, found), _of(ErrorsRow, found)
    )


def _of(kind: type[R], found: dict[tuple[object, ...], AnyRow]) -> tuple[R, ...]:
    rows = [row for row in found.values() if isinstance(row, kind)]
    return tuple(sorted(rows, key=lambda row: [getattr(row, name) for name in row.IDENTITY]))


def _who(row: AnyRow) -> str:
    return ", ".join(f"{name} {getattr(row, name)!r}" for name in row.IDENTITY)


def _refuse_misfit(place: str, row: AnyRow, release: Release) -> None:
    question = release.questions.get(row.item_id)
    if question is None:
        raise ScoringError(
            f"{place}: the release has no item {row.item_id!r}.", "Name its own release."
        )
    form = question.format
    if isinstance(row, BaselineRow):
        if row.is_reviewer:
            raise ScoringError(
                f"{place}: annotator {row.annotator!r} reviewed items of the release.",
                "Leave this annotator out: only who has not seen the references can be a baseline.",
            )
        if row.answer is not None and not fits(form, row.answer, [o.id for o in question.options]):
            raise ScoringError(
                f"{place}: {row.answer!r} does not answer the {form} item {row.item_id!r}.", _FIX
            )
    credit = getattr(row, "answer_credit", getattr(row, "credit", None))
    if form.is_choice and credit is not None:
        raise ScoringError(
            f"{place}: item {row.item_id!r} is a choice item with a credit.",
            "Leave it out: code computes the credit of choice items.",
        )
    if isinstance(row, LabelRow) and not form.is_choice and credit is None:
        raise ScoringError(f"{place}: the open item {row.item_id!r} lacks `answer_credit`.", _FIX)


def _rows(path: Path) -> Iterator[tuple[str, AnyRow]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _row(f"{path}:{number}", line)
    except (OSError, UnicodeDecodeError) as error:
        raise ScoringError(f"{path} cannot be read: {error}.", _FIX) from error


def _row(place: str, line: str) -> AnyRow:
    try:
        content = strict_json(line)
    except (ValueError, RecursionError) as error:
        raise ScoringError(f"{place} is not JSON: {error}.", _FIX) from None
    if not isinstance(content, dict):
        raise ScoringError(f"{place} is no JSON object.", _FIX)
    if (made_by := content.get("schema_version", SCHEMA_VERSION)) != SCHEMA_VERSION:
        raise ScoringError(
            f"{place} has schema version {made_by!r}; this reads {SCHEMA_VERSION}.",
            "Use a version of psychemme that reads it.",
        )
    kind = content.get("kind", Kind.BASELINE)
    if kind not in list(Kind):
        raise ScoringError(f"{place}: kind {kind!r} is none of {', '.join(Kind)}.", _FIX)
    try:
        # Strict, and as JSON: "1" and true are no credit, while labels are still texts.
        return ROWS[Kind(kind)].model_validate_json(line, strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "row"
        raise ScoringError(f"{place}: {where}: {fault['msg']}.", _FIX) from None
