"""What each kind of study asks: read what a page sends, tell whether it is all, make rows of it.

What is kept is in the release's option ids; what is sent is in the letters that a person sees.
"""

from collections.abc import Mapping
from typing import Any

from evaluation.people.rows import (
    LEVELS,
    AnyRow,
    BaselineRow,
    Decision,
    EndorseRow,
    ErrorsRow,
    Kind,
    LabelRow,
)
from evaluation.people.store import Kept
from evaluation.people.study import PeopleStudy, Task
from psychemme.items import Answer
from psychemme.vocabulary import Format

Given = Mapping[str, str | list[str]]
"""The fields of a form, by name: a text, or the values of boxes that are ticked."""

CANNOT = "cannot_answer"
ANSWER = "answer"
CATEGORY = "category"
YES, NO = "yes", "no"


class Misfit(ValueError):
    """What was sent is no answer to this task."""


def reason_field(decision: Decision) -> str:
    """Return the name of the field with the reason against a decision."""
    return f"{decision}_reason"


def read_content(study: PeopleStudy, person: str, task: Task, given: Given) -> dict[str, Any]:
    """Return what is kept of `given`, perhaps not all that is asked; raises Misfit."""
    if study.kind is Kind.BASELINE:
        return _baseline(study, person, task, given)
    fields = _fields(study, task)
    content = {}
    for name, value in given.items():
        if not isinstance(value, str) or name not in fields:
            raise Misfit(name)
        allowed = fields[name]
        if allowed is not None and value not in allowed:
            raise Misfit(name)
        if value.strip():
            content[name] = value.strip()
    return content


def _fields(study: PeopleStudy, task: Task) -> dict[str, tuple[str, ...] | None]:
    """Return the values each field may have, None for any text."""
    if study.kind is Kind.ERRORS:
        return {CATEGORY: tuple(category.id for category in study.categories)}
    if study.kind is Kind.LABEL:
        return {d: tuple(map(str, LEVELS[d])) for d in task.decisions}
    texts: dict[str, tuple[str, ...] | None] = {reason_field(d): None for d in task.decisions}
    return texts | dict.fromkeys(map(str, task.decisions), (YES, NO))


def _baseline(study: PeopleStudy, person: str, task: Task, given: Given) -> dict[str, Any]:
    if given.keys() - {ANSWER, CANNOT}:
        raise Misfit("unknown field")
    if given.get(CANNOT):
        return {CANNOT: True}
    answer = given.get(ANSWER, "")
    if task.question.format is Format.OPEN:
        if not isinstance(answer, str):
            raise Misfit(ANSWER)
        return {ANSWER: answer.strip()} if answer.strip() else {}
    own = dict(letters(study, person, task))
    chosen = [answer] if isinstance(answer, str) else answer
    try:
        ids = sorted({own[letter] for letter in chosen if letter})
    except KeyError:
        raise Misfit(ANSWER) from None
    if task.question.format is Format.MULTIPLE:
        return {ANSWER: ids} if ids else {}
    if len(ids) > 1:
        raise Misfit(ANSWER)
    return {ANSWER: ids[0]} if ids else {}


def letters(study: PeopleStudy, person: str, task: Task) -> list[tuple[str, str]]:
    """Return the letter that a person sees and the release's id of each option, as shown."""
    shown = study.options(person, task)
    return [(chr(ord("A") + place), option.id) for place, option in enumerate(shown)]


def is_complete(study: PeopleStudy, task: Task, content: Mapping[str, Any]) -> bool:
    """Return whether all that is asked is there; who does not endorse gives a reason."""
    if study.kind is Kind.BASELINE:
        return bool(content)
    if study.kind is Kind.ERRORS:
        return CATEGORY in content
    if study.kind is Kind.LABEL:
        return all(d in content for d in task.decisions)
    return all(
        d in content and (content[d] == YES or reason_field(d) in content) for d in task.decisions
    )


def rows_of(study: PeopleStudy, person: str, task: Task, kept: Kept) -> list[AnyRow]:
    """Return the rows of a complete answer; who annotates has declared to be no reviewer."""
    content, name = kept.content, task.question.id
    if study.kind is Kind.BASELINE:
        answer: Answer | None = content.get(ANSWER)
        return [
            BaselineRow(
                annotator=person,
                item_id=name,
                answer=answer,
                cannot_answer=answer is None,
                seconds=round(kept.seconds, 1),
                is_reviewer=False,
            )
        ]
    if task.words is None:
        return []
    words = task.words
    who = {"item_id": name, "model": words.model, "condition": words.condition}
    who |= {"kind": study.kind} | ({"draw": study.draw} if study.draw else {})
    if study.kind is Kind.ERRORS:
        said = {"person": person, "proposed": task.proposed, "category": content[CATEGORY]}
        return [ErrorsRow.model_validate(who | said)]
    who |= {"expert": person, "judge": task.judge or ""}
    if study.kind is Kind.LABEL:
        credit = content.get(Decision.ANSWER_CREDIT)
        labels = dict(content) | {"answer_credit": None if credit is None else float(credit)}
        return [LabelRow.model_validate(who | labels)]
    return [
        EndorseRow.model_validate(
            who
            | {
                "decision": decision,
                "shown": task.shown(decision),
                "planted": decision in task.planted,
                "endorses": content[decision] == YES,
                "reason": None if content[decision] == YES else content[reason_field(decision)],
            }
        )
        for decision in task.decisions
    ]
