"""Why a candidate failed: the closed list of codes, documented in `docs/failures.md`."""

from enum import StrEnum


class ReplyFault(StrEnum):
    """What made a model's reply unusable; the code of a ReplyError."""

    INVALID = "invalid"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    REJECTED = "rejected"
    NO_CHOICES = "no_choices"
    ERROR_BODY = "error_body"
    NOT_JSON = "not_json"
