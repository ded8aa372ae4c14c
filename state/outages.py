"""A database server that is restarted: what did not come through is done again, for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from psychemme.errors import DatabaseAway

T = TypeVar("T")
PATIENCE_SECONDS = 8.0
_PAUSE_SECONDS = 0.1
_AWAY = ("08", "57P")
"""How SQLSTATE begins where a connection failed, or the server stops or starts."""


class Patience:
    """What the users of one engine have waited for its server so far, from any thread."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._seconds = seconds
        self._away_since: float | None = None

    def outlast(self, attempt: Callable[[], T], may_repeat: Callable[[], bool]) -> T:
        """Return what `attempt` does, again and again until the server is back.

        Raises what the last one raised where the server stays away, or it may not be repeated.
        """
        while True:
            try:
                result = attempt()
            except Exception as error:
                if not is_away(error) or not may_repeat() or self._is_over():
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                self._away_since = None
                return result

    def _is_over(self) -> bool:
        self._away_since = self._away_since or time.monotonic()
        return time.monotonic() - self._away_since >= self._seconds


def is_away(error: Exception) -> bool:
    """Return whether an error says that the database's server is not there, or was not."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated
    # What begins a transaction goes straight to the driver.
    state = getattr(error, "sqlstate", "")
    return isinstance(error, DatabaseAway) or state is None or state.startswith(_AWAY)
