"""Why a reply holds no answer: the closed list, documented in `docs/response-parsing.md`."""

from enum import StrEnum


class Failure(StrEnum):
    """The named reason of a response without an answer."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    UNCLOSED_THINKING = "unclosed_thinking"
    NOT_JSON = "not_json"
    NO_ANSWER = "no_answer"
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_OPTION = "unknown_option"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    CONTENT_FILTER = "content_filter"


class Unreadable(ValueError):
    """A reply, or a part of one, that holds no answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure
