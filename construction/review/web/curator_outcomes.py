"""What models made of an item, from files laid into the workspace.

Each line of `WORKSPACE/outcomes/*.jsonl` is a JSON object:

    {"item_id": "...",          the candidate's key, or its id without the run
     "model": "...", "condition": "full",
     "outcome": "ok",           or why there is no answer: refusal, unparsed, ...
     "answer": "B",             an option id, a list of them, a text, or null
     "answer_credit": 1.0,      a, from 0 to 1, or null where it is not scored
     "verified": 0.83}          v, from 0 to 1, or null

Lines whose condition is `leakage` are trials of a leakage filter that ran elsewhere; those of this
workspace's own are in its Shared State. Other keys are ignored.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from psychemme.items import Answer
from state.leakage import TrialCall

LEAKAGE = "leakage"
_LONGEST_LINE = 65_536


class ModelOutcome(BaseModel):
    """What one model did with one item in one condition; the credits are fractions."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    model: str
    condition: str
    outcome: str
    answer: Answer | None = None
    answer_credit: float | None = Field(default=None, ge=0, le=1)
    verified: float | None = Field(default=None, ge=0, le=1)


@dataclass
class ModelOutcomes:
    """The outcomes of one item by model and condition, and which lines could not be read."""

    trials: list[ModelOutcome] = field(default_factory=list)
    answers: list[ModelOutcome] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_outcomes(workspace: Path, ids: set[str]) -> ModelOutcomes:
    """Return what the files of a workspace hold for the item known by any of `ids`."""
    found = ModelOutcomes()
    for path in sorted((workspace / "outcomes").glob("*.jsonl")):
        for number, line in _lines(path):
            try:
                one = ModelOutcome.model_validate_json(line)
            except ValidationError as error:
                rule = error.errors(include_url=False, include_input=False)[0]["msg"]
                found.faults.append(f"{path.name}, line {number}: {rule}.")
                continue
            if one.item_id in ids:
                (found.trials if one.condition == LEAKAGE else found.answers).append(one)
    found.answers.sort(key=lambda one: (one.model, one.condition))
    return found


def stored_trials(calls: Iterable[TrialCall], version: int) -> list[ModelOutcome]:
    """Return the filter's own trials of a version; a judge's verdict stands as one of its own."""
    return [
        ModelOutcome(
            item_id=one.candidate_key,
            model=one.model if one.asked == one.model else f"{one.model} by {one.asked}",
            condition=f"{one.probe} {one.trial + 1}",
            outcome="ok" if one.answer is not None or one.credit is not None else "unreadable",
            answer=one.answer,
            answer_credit=one.credit,
        )
        for one in calls
        if one.version == version
    ]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line[:_LONGEST_LINE]
