"""Read the question, look, and answer by option id only at the very end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psychemme.clients.signal.answer.fit import judge_fit
from psychemme.clients.signal.answer.found import Found, Look, ambiguous
from psychemme.clients.signal.answer.moments import find_moment
from psychemme.clients.signal.answer.needs import find_act
from psychemme.clients.signal.answer.order import find_order
from psychemme.clients.signal.answer.reading import Reading, Task, read
from psychemme.clients.signal.answer.recall import recall
from psychemme.clients.signal.answer.voices import count_voices
from psychemme.clients.signal.facts import normal, spoken
from psychemme.items import IndependentAnswer, Option
from psychemme.vocabulary import Format, LookAgain

_SEARCHES: dict[Task, Callable[[Look, Reading], Found]] = {
    Task.COUNT_VOICES: count_voices,
    Task.RECALL: recall,
    Task.FIND_MOMENT: find_moment,
    Task.JUDGE_FIT: judge_fit,
    Task.FIND_ACT: find_act,
    Task.FIND_ORDER: find_order,
}


def answer(inputs: Mapping[str, Any]) -> IndependentAnswer:
    """Return the answer to `inputs` of the answer role; the order of options plays no part."""
    options: Sequence[Option] = inputs["options"]
    ways = frozenset(inputs["feedback"])
    look = Look(
        episode=inputs["episode"],
        words=spoken(inputs["episode"]),
        norms=tuple(inputs["norms"]),
        options=tuple(sorted(option.text for option in options)),
        format=inputs["format"],
        decision_time=inputs["decision_time"],
        ways=ways,
    )
    reading = read(inputs["question"], look.options, again=LookAgain.REREAD_QUESTION in ways)
    return _reply(look, options, _search(look, reading))


def _search(look: Look, reading: Reading) -> Found:
    if len({normal(text) for text in look.options}) < len(look.options):
        return ambiguous("Two options have the same words.")
    return _SEARCHES[reading.task](look, reading)


def _reply(look: Look, options: Sequence[Option], found: Found) -> IndependentAnswer:
    if found.flag is not None:
        return IndependentAnswer(flag=found.flag, rationale=found.why)
    if look.format is Format.OPEN:
        return IndependentAnswer(answer=found.texts[0], rationale=found.why)
    ids = sorted(option.id for option in options if option.text in found.texts)
    return IndependentAnswer(
        answer=ids[0] if look.format is Format.SINGLE else ids, rationale=found.why
    )
