"""Why a candidate failed, a closed list of codes (`docs/failures.md`), and how to go on."""

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


GO_ON = "run the same command again, with --resume where it has one; finished work is kept."
"""How errors say to go on once their cause is mended, whichever verb asked."""
