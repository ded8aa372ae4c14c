"""What a model answered: one response per item, model and condition (paper, Table 10).

A reply is parsed into an answer and eight rationales, or into a typed outcome with a named reason;
never into text that a later step could mistake for an answer (`docs/response-parsing.md`).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from evaluation.extraction.choices import Choices
from evaluation.extraction.failures import Failure, Unreadable
from evaluation.extraction.fallback import stated
from evaluation.extraction.fields import as_answer, holds_answer_key, read_objects
from evaluation.extraction.objects import Found, objects_with
from evaluation.extraction.refusals import refuses
from evaluation.extraction.text import LONGEST, outside_thinking, storable
from psychemme.episode import Value
from psychemme.items import Answer, Option
from psychemme.vocabulary import Capability, Format

EXTRACTOR_VERSION = "2"
"""Raised whenever a reply may be parsed differently than before."""

Extractor = Literal["json", "fallback"]


class Outcome(StrEnum):
    """What became of one request to a model."""

    OK = "ok"
    UNPARSED = "unparsed"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"
    API_ERROR = "api_error"
    MEDIA_ERROR = "media_error"
    BUDGET = "budget"

    @property
    def is_models_fault(self) -> bool:
        """Whether the response scores 0 and stays in the denominator."""
        return self in _MODELS_FAULTS

    @property
    def is_unscored(self) -> bool:
        """Whether the model is not to blame, so that the item has no score at all."""
        return self is not Outcome.OK and self not in _MODELS_FAULTS


_MODELS_FAULTS = frozenset(
    {Outcome.UNPARSED, Outcome.REFUSAL, Outcome.TRUNCATED, Outcome.CONTENT_FILTER}
)
_OUTCOME_OF = {
    Failure.REFUSAL: Outcome.REFUSAL,
    Failure.TRUNCATED: Outcome.TRUNCATED,
    Failure.CONTENT_FILTER: Outcome.CONTENT_FILTER,
}
_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "max_completion_tokens"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content"})
_NO_RATIONALES: dict[Capability, str | None] = dict.fromkeys(Capability)


def _storable(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


class Parsed(Value):
    """What a reply holds: an answer with its rationales, or a failure with its reason.

    `answer` is an option id, the sorted ids of several options, or a text. On `multiple` it is
    always a list; on `single` two ids stay two ids, which is a wrong answer and no failure.
    """

    outcome: Outcome
    reason: str | None = None
    answer: Answer | None = None
    rationales: Mapping[Capability, str | None] = Field(default_factory=_NO_RATIONALES.copy)
    extractor: Extractor | None = None
    extractor_version: str = EXTRACTOR_VERSION

    @model_validator(mode="after")
    def _answer_or_reason(self) -> "Parsed":
        is_ok = self.outcome is Outcome.OK
        if is_ok != (self.answer is not None) or is_ok != (self.reason is None):
            raise ValueError("an `ok` outcome has an `answer`, any other a `reason`")
        return self


class Response(Parsed):
    """One model's response to one item under one condition; `raw` is the reply as received.

    Lone surrogates in `raw`, which no file could hold, are replaced.
    """

    item_id: str
    model: str
    condition: str
    raw: Annotated[str | None, BeforeValidator(_storable)] = None


def parse_response(
    raw: str | None, finish_reason: str | None, form: Format, options: Sequence[Option]
) -> Parsed:
    """Return what `raw` answers to a question of `form` with `options` (none when open).

    `finish_reason` is the endpoint's word for why the reply ended. Raises nothing on any text.
    """
    ended = (finish_reason or "stop").casefold()
    try:
        if ended in _FILTERED:
            raise Unreadable(Failure.CONTENT_FILTER)
        if ended == "refusal":
            raise Unreadable(Failure.REFUSAL)
        return _parse(raw or "", ended in _CUT_SHORT, Choices(form, options))
    except Unreadable as unreadable:
        failure = unreadable.failure
    if failure is Failure.UNCLOSED_THINKING and ended in _CUT_SHORT:
        failure = Failure.TRUNCATED
    return Parsed(outcome=_OUTCOME_OF.get(failure, Outcome.UNPARSED), reason=failure)


def _parse(raw: str, is_cut_short: bool, choices: Choices) -> Parsed:
    if len(raw) > LONGEST:
        raise Unreadable(Failure.TOO_LONG)
    shown = outside_thinking(raw)
    found = list(objects_with("answer", shown))
    if refuses(_outside(shown, found)):
        raise Unreadable(Failure.REFUSAL)
    if found:
        answer, rationales = read_objects(found, shown[found[-1].end :], choices)
        return Parsed(outcome=Outcome.OK, answer=answer, rationales=rationales, extractor="json")
    if is_cut_short:
        raise Unreadable(Failure.TRUNCATED)
    if not shown.strip():
        raise Unreadable(Failure.EMPTY)
    return _from_text(shown, choices)


def _outside(text: str, found: Sequence[Found]) -> str:
    """Return the prose around the objects."""
    ends = [0, *(one.end for one in found)]
    starts = [*(one.start for one in found), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _from_text(text: str, choices: Choices) -> Parsed:
    if not choices.form.is_choice or holds_answer_key(text):
        raise Unreadable(Failure.NOT_JSON)
    answer = as_answer(stated(text, choices), choices.form)
    return Parsed(outcome=Outcome.OK, answer=answer, extractor="fallback")
