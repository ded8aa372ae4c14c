"""Who acts: the reviewer as whom the statements of a context run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_reviewer: ContextVar[str] = ContextVar("reviewer", default="")


@contextmanager
def acting(reviewer_id: str) -> Iterator[None]:
    """Make `current_reviewer()` of every transaction in this context return `reviewer_id`."""
    token = _reviewer.set(reviewer_id)
    try:
        yield
    finally:
        _reviewer.reset(token)


def actor() -> str:
    """Return the id of the reviewer who acts, empty where nobody does."""
    return _reviewer.get()
