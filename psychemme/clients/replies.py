"""From a model's text to a validated value, without guessing.

The text is untrusted: whatever it holds, reading it takes time linear in its length up to a fixed
number of tries, and InvalidReply is all that can come of it.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

R = TypeVar("R", bound=BaseModel)

LONGEST = 200_000
"""Characters a reply may hold."""

MOST_TRIES = 500
"""Places in a reply where an object is looked for."""

MOST_READ = 5 * LONGEST
"""Characters read in places that held none."""

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_OBJECT = re.compile(r'\{\s*["}]')
_MOST_FAULTS = 5
_LONGEST_COMPLAINT = 1_000


class InvalidReply(ValueError):
    """The text holds no value of the schema; the message can be shown to the model."""


def parse_reply(text: str, schema: type[R]) -> R:
    """Return the last JSON object in `text` that fits `schema`.

    Code fences, thinking tags and prose around the object are passed over; an unclosed thinking
    tag means there is no answer yet. Raises InvalidReply naming what is wrong.
    """
    if len(text) > LONGEST:
        raise InvalidReply(f"the reply is longer than {LONGEST} characters")
    complaint = "the reply holds no JSON object"
    found: R | None = None
    for candidate in _objects(_outside_thinking(text)):
        try:
            found = _valid(candidate, schema)
        except ValidationError as error:
            complaint = _describe(error)
        except PydanticSerializationError:
            complaint = "the reply holds a lone surrogate, which is no character"
    if found is None:
        raise InvalidReply(complaint)
    return found


def _valid(candidate: object, schema: type[R]) -> R:
    value = schema.model_validate(candidate)
    # What cannot be written as JSON could not be stored either.
    value.model_dump_json()
    return value


def _outside_thinking(text: str) -> str:
    shown: list[str] = []
    position, is_thinking = 0, False
    for tag in _THINKING.finditer(text):
        if not is_thinking and tag[1]:
            # Its opening tag was in the prompt: all so far was thought.
            shown.clear()
        elif not is_thinking:
            shown.append(text[position : tag.start()])
        position, is_thinking = tag.end(), not tag[1]
    if is_thinking:
        raise InvalidReply("the reply ends inside its thinking")
    return "".join((*shown, text[position:]))


def _objects(text: str) -> Iterator[object]:
    position = tries = read = 0
    while (brace := _OBJECT.search(text, position)) is not None:
        tries += 1
        if tries > MOST_TRIES or read > MOST_READ:
            raise InvalidReply("the reply holds too many braces")
        start, position = brace.start(), brace.start() + 1
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            read += getattr(error, "pos", len(text)) - start
        else:
            yield value


def _finite(digits: str) -> float:
    if math.isfinite(value := float(digits)):
        return value
    raise ValueError(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)


def _describe(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
    listed = "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults
    )
    # Unknown keys are the model's own text: of any length, and not always encodable.
    return listed[:_LONGEST_COMPLAINT].encode(errors="replace").decode()
