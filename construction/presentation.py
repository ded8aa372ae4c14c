"""The order in which the Answer Agent sees the options.

It depends on the candidate, the round and a secret key, never on the proposal's content, and
differs from the proposal's own order and from earlier rounds' while permutations last.
"""

import hashlib
import hmac
import math
import string
from collections.abc import Mapping, Sequence

from psychemme.items import Answer, IndependentAnswer, Option


def presentation_order(count: int, candidate_id: str, at: int, secret: bytes) -> tuple[int, ...]:
    """Return the positions of `count` options in the order shown in round `at`."""
    seen = [tuple(range(count))]
    for round_ in range(at + 1):
        draw = 0
        while (order := _order(count, f"{candidate_id}:{round_}:{draw}", secret)) in seen:
            if len(seen) >= math.factorial(count):
                break
            draw += 1
        seen.append(order)
    return seen[-1]


def present(options: Sequence[Option], order: Sequence[int]) -> tuple[Option, ...]:
    """Return the options in `order`, relabelled A, B, C, ..."""
    return tuple(
        Option(id=letter, text=options[position].text)
        for letter, position in zip(string.ascii_uppercase, order, strict=False)
    )


def restore(
    independent: IndependentAnswer, options: Sequence[Option], order: Sequence[int]
) -> IndependentAnswer:
    """Return an answer given to presented options in the proposal's own option ids."""
    own = {
        letter: options[position].id
        for letter, position in zip(string.ascii_uppercase, order, strict=False)
    }
    return independent.model_copy(update={"answer": _translate(independent.answer, own)})


def _translate(answer: Answer | None, own: Mapping[str, str]) -> Answer | None:
    if isinstance(answer, list):
        return sorted({own[letter] for letter in answer})
    return answer if answer is None or not own else own[answer]


def _order(count: int, label: str, secret: bytes) -> tuple[int, ...]:
    def rank(position: int) -> bytes:
        return hmac.digest(secret, f"{label}:{position}".encode(), hashlib.sha256)

    return tuple(sorted(range(count), key=rank))
