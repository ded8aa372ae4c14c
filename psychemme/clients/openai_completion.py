"""From the body of a chat completion to text, finish reason and usage, trusting none of it."""

from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from psychemme.clients.failures import ReplyFault
from psychemme.clients.protocol import Usage
from psychemme.errors import ReplyError


class _Part(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Body(BaseModel):
    error: object = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


@dataclass(frozen=True)
class Completion:
    """The first choice of a chat completion."""

    text: str
    finish_reason: str
    usage: Usage


def read_completion(body: str) -> Completion:
    """Return the first choice in `body`, the text of an HTTP 200.

    Endpoints send errors, web pages and empty lists with status 200: raises ReplyError `not_json`,
    `error_body` or `no_choices`. A refusal counts as filtered content.
    """
    parsed = _parse(body)
    if parsed.error:
        raise ReplyError(ReplyFault.ERROR_BODY)
    if not parsed.choices:
        raise ReplyError(ReplyFault.NO_CHOICES)
    choice, usage = parsed.choices[0], parsed.usage or _Usage()
    text, refusal = _joined(choice.message.content), choice.message.refusal
    refused = bool(refusal) and not text.strip()
    return Completion(
        text=refusal if refusal and refused else text,
        finish_reason="content_filter" if refused else choice.finish_reason or "stop",
        usage=Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0),
    )


def _parse(body: str) -> _Body:
    try:
        return _Body.model_validate_json(body)
    except ValidationError as error:
        is_json = all(fault["type"] != "json_invalid" for fault in error.errors())
    raise ReplyError(ReplyFault.NO_CHOICES if is_json else ReplyFault.NOT_JSON)


def _joined(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content or ""
