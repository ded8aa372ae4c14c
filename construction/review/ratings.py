"""What reviewers said, as agreement takes it: one value a reviewer, item and dimension."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from psychemme.canonical import canonical_json, strict_json
from psychemme.episode import Value
from psychemme.errors import UserError
from psychemme.vocabulary import Approval

ALL = "all"
"""In place of a capability: items of every capability together."""
VERDICTS = tuple(approval.value for approval in Approval)

_FIELDS = ("item", "reviewer", "dimension", "capability", "value")
_MAY = ("options", "replaced")
_FIX = "Each line is a JSON object with " + ", ".join(f"`{field}`" for field in _FIELDS) + "."


class Dimension(StrEnum):
    """What reviewers are compared on; `overall` approves where all three verdicts do."""

    BLIND_ANSWER = "blind_answer"
    QUESTION_VALIDITY = "question_validity"
    ANSWER_CORRECTNESS = "answer_correctness"
    PSYCHOLOGICAL_CONSISTENCY = "psychological_consistency"
    OVERALL = "overall"


class Kind(StrEnum):
    """What a rating is."""

    OPTION = "option"
    OPTION_SET = "option_set"
    VERDICT = "verdict"


class Rating(Value):
    """What one reviewer said of one item in one dimension; a skip is no rating.

    `value` is "approve" or "reject"; as a blind answer it is an option letter, or for `multiple`
    items the chosen letters, kept sorted. Open answers are no ratings. `options` is how many the
    item offers, None where that is not told. `replaced` marks a version that an edit replaced.
    """

    item: str = Field(min_length=1)
    reviewer: str = Field(min_length=1)
    dimension: Dimension
    capability: str = Field(min_length=1)
    value: str | tuple[str, ...]
    options: int | None = Field(default=None, ge=2, le=26)
    replaced: bool = False

    @field_validator("capability")
    @classmethod
    def _one_capability(cls, name: str) -> str:
        if name == ALL:
            raise ValueError(f"{ALL!r} is no capability")
        return name

    @field_validator("value")
    @classmethod
    def _fits_dimension(
        cls, value: str | tuple[str, ...], info: ValidationInfo
    ) -> str | tuple[str, ...]:
        if info.data.get("dimension") is not Dimension.BLIND_ANSWER:
            if value not in VERDICTS:
                raise ValueError(f"a verdict is {' or '.join(VERDICTS)}")
            return value
        if not value or not all(len(one) == 1 and "A" <= one <= "Z" for one in value):
            raise ValueError("a blind answer is an option letter, or a list of them")
        if isinstance(value, tuple):
            return tuple(sorted(set(value)))
        if len(value) > 1:
            raise ValueError("several letters are a list")
        return value

    @model_validator(mode="after")
    def _is_offered(self) -> "Rating":
        if self.dimension is not Dimension.BLIND_ANSWER or self.options is None:
            return self
        if any(ord(letter) - ord("A") >= self.options for letter in self.value):
            raise ValueError(f"only {self.options} options are offered")
        return self

    @property
    def kind(self) -> Kind:
        """A verdict, an option or a set of options."""
        if self.dimension is not Dimension.BLIND_ANSWER:
            return Kind.VERDICT
        return Kind.OPTION_SET if isinstance(self.value, tuple) else Kind.OPTION


def read_ratings_file(path: Path) -> list[Rating]:
    """Return the ratings in a JSON Lines file; keys other than those of a rating are ignored.

    Raises UserError naming file, line and fault.
    """
    places: list[str] = []
    ratings: list[Rating] = []
    for place, line in _lines(path):
        places.append(place)
        ratings.append(_rating(place, line))
    for index, fault in conflicts(ratings):
        raise UserError(f"{places[index]}: {fault}", "Leave one of them out.")
    if not ratings:
        raise UserError(f"{path} holds no rating.", _FIX)
    return ratings


def conflicts(ratings: Sequence[Rating]) -> Iterator[tuple[int, str]]:
    """Yield the index of each rating that contradicts an earlier one, and how."""
    voted: set[tuple[str, str, Dimension]] = set()
    capabilities: dict[str, str] = {}
    kinds: dict[tuple[str, Dimension], Kind] = {}
    offered: dict[tuple[str, Dimension], int | None] = {}
    for index, one in enumerate(ratings):
        vote = (one.item, one.reviewer, one.dimension)
        if vote in voted:
            yield index, f"{one.reviewer!r} rated {one.dimension} of item {one.item!r} twice."
        voted.add(vote)
        if capabilities.setdefault(one.item, one.capability) != one.capability:
            yield index, f"Item {one.item!r} has two capabilities."
        if kinds.setdefault((one.item, one.dimension), one.kind) is not one.kind:
            yield index, f"Item {one.item!r} has an option and a list of options as blind answers."
        if offered.setdefault((one.item, one.dimension), one.options) != one.options:
            yield index, f"Item {one.item!r} offers two numbers of options."


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", line
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.", _FIX) from error


def _rating(place: str, line: str) -> Rating:
    try:
        row = strict_json(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place} is not JSON: {error}.", _FIX) from None
    if not isinstance(row, dict):
        raise UserError(f"{place} is no JSON object.", _FIX)
    try:
        given = {field: row[field] for field in (*_FIELDS, *_MAY) if field in row}
        return Rating.model_validate_json(canonical_json(given), strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = fault["loc"][0] if fault["loc"] else "options"
        raise UserError(f"{place}: {where}: {fault['msg']}.", _FIX) from None
