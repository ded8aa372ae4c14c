"""Read what people said from files, each row verified against the release (`docs/people.md`)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from evaluation.error_categories import schemes
from evaluation.judge import Judgement
from evaluation.people.rows import (
    FAR,
    LEVELS,
    ROWS,
    SCHEMA_VERSION,
    AnyRow,
    BaselineRow,
    Decision,
    EndorseRow,
    ErrorsRow,
    Kind,
    LabelRow,
    folded,
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
    release, one that stands twice, two names alike, an annotator who reviewed items of the
    release, and one whose open answers have a credit here and none there.
    """
    found: dict[tuple[object, ...], AnyRow] = {}
    names: dict[str, str] = {}
    credited: dict[str, bool] = {}
    for path in paths:
        count = len(found)
        for place, row in _rows(path):
            _refuse_misfit(place, row, release)
            _refuse_alike(place, _person(row), names)
            if isinstance(row, BaselineRow):
                _refuse_mixed(place, row, release, credited)
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
    return ", ".join(f"{name} {str(getattr(row, name))!r}" for name in row.IDENTITY)


def _person(row: AnyRow) -> str:
    name: str = getattr(row, row.IDENTITY[0])
    return name


def _refuse_alike(place: str, name: str, names: dict[str, str]) -> None:
    if (other := names.setdefault(folded(name), name)) != name:
        raise ScoringError(
            f"{place}: {name!r} and {other!r} are alike.", "Write a person's name in one way."
        )


def _refuse_mixed(
    place: str, row: BaselineRow, release: Release, credited: dict[str, bool]
) -> None:
    if row.answer is None or release.questions[row.item_id].format.is_choice:
        return
    has_credit = row.credit is not None
    if credited.setdefault(row.annotator, has_credit) != has_credit:
        raise ScoringError(
            f"{place}: only some open answers of {row.annotator!r} have a `credit`.",
            "Give all of them one, or none, so that a judge does.",
        )


def refuse_unlike(row: EndorseRow, judgement: Judgement) -> None:
    """Raise ScoringError where what an expert saw is not what `judgement` and `planted` say."""
    own, levels = getattr(judgement, row.decision), [*LEVELS[row.decision]]
    if own in levels:
        apart = abs(levels.index(row.shown) - levels.index(own))
        if apart >= FAR if row.planted else apart == 0:
            return
    raise ScoringError(
        f"{_who(row)} was shown {row.shown!r} as {'planted' if row.planted else 'its own'}, where "
        f"the judge decided {str(own)!r}.",
        "Name the runs as they were when the study was opened, or correct the file.",
    )


def refuse_unproposed(
    rows: Sequence[ErrorsRow],
    runs: Collection[tuple[str, str]],
    proposed: Mapping[tuple[str, str, str], Collection[str]],
) -> None:
    """Raise ScoringError where people saw a failure of no run, or what nobody proposed of it.

    `runs` are models with conditions, `proposed` the categories given to a failure by model,
    condition and item.
    """
    for row in rows:
        if (row.model, row.condition) not in runs:
            raise ScoringError(
                f"{_who(row)} is of no run at hand.", "Name every run whose failures people saw."
            )
        given = proposed.get((row.model, row.condition, row.item_id))
        if given and row.proposed not in given:
            raise ScoringError(
                f"{_who(row)} was shown {row.proposed!r}, which nobody proposed.",
                "Name the categories that people saw with --errors.",
            )


def _refuse_misfit(place: str, row: AnyRow, release: Release) -> None:
    about = row.release
    if about is not None and about.checksum != release.checksum:
        raise ScoringError(
            f"{place}: the row is about {about.name} {about.version} with checksum "
            f"{about.checksum[:12]}…; this release has {release.checksum[:12]}….",
            "Name its own release.",
        )
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
    if isinstance(row, ErrorsRow):
        _refuse_uncategorised(place, row)
    credit = getattr(row, "answer_credit", getattr(row, "credit", None))
    is_credit = isinstance(row, EndorseRow) and row.decision is Decision.ANSWER_CREDIT
    if form.is_choice and (is_credit or credit is not None):
        raise ScoringError(
            f"{place}: item {row.item_id!r} is a choice item with a credit.",
            "Leave it out: code computes the credit of choice items.",
        )
    if isinstance(row, LabelRow) and not form.is_choice and credit is None:
        raise ScoringError(f"{place}: the open item {row.item_id!r} lacks `answer_credit`.", _FIX)


def _refuse_uncategorised(place: str, row: ErrorsRow) -> None:
    known = {name for scheme in schemes() for name in scheme.ids}
    if unknown := [name for name in (row.proposed, row.category) if name not in known]:
        raise ScoringError(
            f"{place}: {unknown[0]!r} is no category of a scheme.",
            f"Use one of: {', '.join(sorted(known))}.",
        )


def _rows(path: Path) -> Iterator[tuple[str, AnyRow]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
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
