"""From a model's text to a validated value, without guessing."""

import json
import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

R = TypeVar("R", bound=BaseModel)

_THINKING = re.compile(r"<think(ing)?>.*?</think(ing)?>", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(r"<think(ing)?>", re.IGNORECASE)
_MOST_FAULTS = 5


class InvalidReply(ValueError):
    """The text holds no value of the schema; the message can be shown to the model."""


def parse_reply(text: str, schema: type[R]) -> R:
    """Return the last JSON object in `text` that fits `schema`.

    Code fences, thinking tags and prose around the object are passed over; an unclosed thinking
    tag means there is no answer yet. Raises InvalidReply naming what is wrong.
    """
    visible = _THINKING.sub("", text)
    if _UNCLOSED.search(visible):
        raise InvalidReply("the reply ends inside its thinking")
    complaint = "the reply holds no JSON object"
    found: R | None = None
    for candidate in _objects(visible):
        try:
            found = schema.model_validate(candidate)
        except ValidationError as error:
            complaint = _describe(error)
    if found is None:
        raise InvalidReply(complaint)
    return found


def _objects(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            position = text.find("{", position + 1)
        else:
            yield value
            position = text.find("{", end)


def _describe(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults
    )
