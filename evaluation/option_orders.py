"""The order in which a choice question's options are shown.

Order 0 is the release's own. Every other is a seeded permutation, drawn by item, whose options
carry the letters A, B, ... as shown; answers are read back into the release's ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial
from random import Random
from string import ascii_uppercase

from psychemme.items import Answer, Option
from psychemme.release.read import Release
from psychemme.release.rows import QuestionRow, ReferenceRow

Order = tuple[str, ...]
"""A question's option ids, as the release calls them, in the order shown; empty when open."""


def own_order(question: QuestionRow) -> Order:
    """Return the release's own order."""
    return tuple(option.id for option in question.options)


def option_order(question: QuestionRow, number: int, seed: int | None) -> Order:
    """Return order `number` of a question's options; none comes twice before all have come."""
    orders = [own_order(question)]
    chance = Random(f"{seed}:{question.id}")  # noqa: S311 - a seeded control
    wanted = min(number + 1, factorial(len(question.options)))
    while len(orders) < wanted:
        drawn = tuple(chance.sample(orders[0], len(orders[0])))
        if drawn not in orders:
            orders.append(drawn)
    return orders[number % len(orders)]


def shown_question(question: QuestionRow, order: Order) -> QuestionRow:
    """Return `question` with its options in `order`, lettered as they are shown."""
    if order == own_order(question):
        return question
    texts = {option.id: option.text for option in question.options}
    names = _names(question, order)
    options = tuple(Option(id=letter, text=texts[name]) for letter, name in names.items())
    return question.model_copy(update={"options": options})


def as_released(answer: Answer, question: QuestionRow, order: Order) -> Answer:
    """Return an answer that names shown letters in the release's ids; open ones stay as given."""
    return _renamed(answer, _names(question, order))


def as_shown(answer: Answer, question: QuestionRow, order: Order) -> Answer:
    """Return an answer that names the release's ids in shown letters; open ones stay as given."""
    return _renamed(answer, {name: letter for letter, name in _names(question, order).items()})


def shown_release(release: Release, number: int, seed: int | None) -> Release:
    """Return `release` as it is shown in order `number`, with its references in shown letters."""
    orders = {q.id: option_order(q, number, seed) for q in release.questions.values()}
    questions = {q.id: shown_question(q, orders[q.id]) for q in release.questions.values()}
    facts = (release.root, release.manifest, questions, release.episodes)
    return _ShownRelease(*facts, own=release, orders=orders)


@dataclass(frozen=True)
class _ShownRelease(Release):
    own: Release
    orders: Mapping[str, Order]

    def references(self) -> Mapping[str, ReferenceRow]:
        return {
            name: row.model_copy(
                update={"answer": as_shown(row.answer, self.own.questions[name], self.orders[name])}
            )
            for name, row in self.own.references().items()
        }


def _names(question: QuestionRow, order: Order) -> dict[str, str]:
    """Return the release's id behind each letter shown."""
    letters = order if order == own_order(question) else ascii_uppercase
    return dict(zip(letters, order, strict=False))


def _renamed(answer: Answer, names: Mapping[str, str]) -> Answer:
    if not names:
        return answer
    return names[answer] if isinstance(answer, str) else sorted(names[one] for one in answer)
