"""What a model that looked at a clip says of it, and what that says against the clip."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from construction.screening.rules import Reason, RubricMinimum
from psychemme.episode import Value

MOST = 2
"""The best score of a dimension; 0 is the worst."""
_LONGEST = 500

Brief = Annotated[str, AfterValidator(lambda text: text[:_LONGEST])]
"""A text of which no more than its beginning is kept."""


def _number(score: object) -> object:
    if isinstance(score, bool):
        raise ValueError("a score is a number")
    return score


class Rating(Value):
    """A score and in one sentence why."""

    reason: Brief = ""
    score: Annotated[int, BeforeValidator(_number)] = Field(ge=0, le=MOST)


class Ratings(Value):
    """A score for each dimension of the rubric; `prompts/screening.md` says what each asks for."""

    interaction: Rating
    people: Rating
    exchange: Rating
    quality: Rating
    safety: Rating


class Rated(Value):
    """One reply of a model about a clip. `ratings` is None where it could not be read.

    `request_key` is the key of the first `attempt` (0) at the same request. `latency` is in
    seconds, `cost` in US dollars.
    """

    model: str
    request_key: str
    attempt: int = 0
    prompt_id: str
    prompt_hash: str
    parameters_json: str
    text: str
    finish_reason: str
    ratings: Ratings | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency: float = 0.0
    cached: bool = False


def reasons_of(ratings: Ratings, minimum: RubricMinimum) -> tuple[Reason, ...]:
    """Return a reason for each dimension that falls short of its minimum."""
    scored: dict[str, Rating] = dict(ratings)
    return tuple(
        Reason(
            rule=f"rubric_minimum.{name}",
            measure=str(scored[name].score),
            threshold=str(least),
            detail=scored[name].reason,
        )
        for name, least in minimum
        if scored[name].score < least
    )
