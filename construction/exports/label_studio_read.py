"""Read reviews out of a Label Studio export (its `JSON` format), or name every fault of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from psychemme.canonical import strict_json
from psychemme.errors import UserError
from psychemme.release.faults import listed

UNSTATED = "unstated"
"""The reason of a task that was cancelled without one."""

_FIX = "Export it again from Label Studio as JSON, from a project with this configuration."
_REASONS = "_reasons"
_OPTION = re.compile(r"([A-Z])(\. .*)?", re.DOTALL)

Key = tuple[str, int, str]
"""Candidate id, version, reviewer."""


@dataclass(frozen=True)
class LabelledVote:
    """What one reviewer did with one version of an item.

    `blind_answer` is a tuple of option ids, or a text on open questions, or None where step one is
    not in the files. Verdicts are `approve` or `reject`, `reasons` those of
    the rejected ones; `skipped` is the reason of a skip.
    """

    candidate_id: str
    version: int
    reviewer: str
    blind_answer: tuple[str, ...] | str | None = None
    verdicts: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    comment: str = ""
    skipped: str | None = None

    @property
    def key(self) -> Key:
        """Whose vote on what it is."""
        return self.candidate_id, self.version, self.reviewer


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Data(_Read):
    candidate_id: str = Field(min_length=1)
    version: int = Field(ge=1)

    @model_validator(mode="before")
    @classmethod
    def _says_of_which_version(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("version") is None:
            raise ValueError(
                f"{str(data.get('candidate_id'))[:80]!r} does not say of which version it is; "
                "`psychemme review export` writes tasks that do"
            )
        return data


class _User(_Read):
    email: str = ""
    id: int | None = None


class _Result(_Read):
    from_name: str
    type: str
    value: dict[str, object]


class _Annotation(_Read):
    completed_by: int | _User
    result: list[_Result] = []
    was_cancelled: bool = False


class _Task(_Read):
    data: _Data
    annotations: list[_Annotation] = []


class _Fault(Exception):
    pass


def read_label_studio(*paths: Path) -> list[LabelledVote]:
    """Return the votes in the exports `paths`, sorted by item, version and reviewer.

    The exports of both steps together give whole votes. The reviewer is the e-mail address that
    Label Studio tells, else the number of the account. Raises UserError naming file, task and
    fault: JSON of another shape, a control given twice or unknown, a verdict that is neither
    approve nor reject, a rejection without a reason, two votes of one reviewer on one task.
    """
    votes: dict[Key, LabelledVote] = {}
    faults: list[str] = []
    for path in paths:
        for place, task in _tasks(path):
            for annotation in task.annotations:
                try:
                    vote = _vote(task.data, annotation)
                    votes[vote.key] = _joined(votes.get(vote.key), vote)
                except _Fault as fault:
                    faults.append(f"{place} ({task.data.candidate_id}): {fault}")
    if faults:
        raise UserError(f"{listed(faults)}.", _FIX)
    return [votes[key] for key in sorted(votes)]


def _tasks(path: Path) -> Iterator[tuple[str, _Task]]:
    try:
        # Strictly: of two readers, neither takes another of two equal keys.
        rows = strict_json(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON: {error}.", _FIX) from None
    if not isinstance(rows, list):
        raise UserError(f"{path} is no list of tasks.", _FIX)
    for number, row in enumerate(rows, 1):
        place = f"{path}: task {number}"
        try:
            yield place, _Task.model_validate(row)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "task"
            raise UserError(f"{place}: {where}: {first['msg']}.", _FIX) from None


def _vote(data: _Data, annotation: _Annotation) -> LabelledVote:
    reviewer = _reviewer(annotation.completed_by)
    vote = LabelledVote(data.candidate_id, data.version, reviewer)
    given: dict[str, tuple[str, ...]] = {}
    for result in annotation.result:
        values = _values(result)
        if given.setdefault(result.from_name, values) != values:
            raise _Fault(f"{reviewer} gives {result.from_name!r} twice, with different values")
    for name, values in given.items():
        vote = _with(vote, name, values)
    if annotation.was_cancelled and vote.skipped is None:
        vote = replace(vote, skipped=UNSTATED)
    for name, verdict in vote.verdicts.items():
        if (verdict == "reject") != bool(vote.reasons.get(name)):
            raise _Fault(f"{reviewer} says {verdict} of {name}, and reasons are for rejections")
    if stray := sorted(vote.reasons.keys() - vote.verdicts.keys()):
        raise _Fault(f"{reviewer} gives reasons for {stray[0]} and no verdict")
    if vote == LabelledVote(*vote.key):
        raise _Fault(f"{reviewer} submitted nothing")
    return vote


def _reviewer(completed_by: int | _User) -> str:
    if isinstance(completed_by, int):
        return str(completed_by)
    name = completed_by.email or ("" if completed_by.id is None else str(completed_by.id))
    if not name:
        raise _Fault("completed_by names nobody")
    return name


def _values(result: _Result) -> tuple[str, ...]:
    key = "text" if result.type == "textarea" else "choices"
    found = result.value.get(key)
    listed = [found] if isinstance(found, str) else found
    if result.type not in ("choices", "textarea") or not isinstance(listed, list):
        raise _Fault(f"{result.from_name!r} is of type {result.type!r} without {key!r}")
    values = tuple(value for value in listed if isinstance(value, str))
    if not values or len(values) != len(listed):
        raise _Fault(f"{result.from_name!r} holds something else than texts")
    return values


def _with(vote: LabelledVote, name: str, values: tuple[str, ...]) -> LabelledVote:
    if name == "comment":
        return replace(vote, comment="\n".join(values))
    if name == "answer_text":
        return replace(vote, blind_answer="\n".join(values))
    if name == "answer":
        return replace(vote, blind_answer=tuple(sorted({_option(value) for value in values})))
    if name.endswith(_REASONS):
        given = {name.removesuffix(_REASONS): tuple(sorted(set(values)))}
        return replace(vote, reasons={**vote.reasons, **given})
    if len(values) != 1:
        raise _Fault(f"{name!r} has {len(values)} values")
    if name == "skipped":
        return replace(vote, skipped=values[0])
    if values[0] in ("approve", "reject"):
        return replace(vote, verdicts={**vote.verdicts, name: values[0]})
    raise _Fault(f"{name!r} is {values[0]!r}, neither approve nor reject")


def _option(value: str) -> str:
    option = _OPTION.fullmatch(value)
    if option is None:
        raise _Fault(f"the answer {value[:40]!r} names no option")
    return option[1]


def _joined(one: LabelledVote | None, other: LabelledVote) -> LabelledVote:
    """Return the two steps of one vote as one."""
    if one is None:
        return other
    if one.blind_answer is None:
        one, other = other, one
    if other.blind_answer is not None or one.verdicts or one.skipped is not None:
        raise _Fault(f"{one.reviewer} voted twice")
    comment = "\n".join(text for text in (one.comment, other.comment) if text)
    return replace(other, blind_answer=one.blind_answer, comment=comment)
