"""What Dask's log leaves out: a connection that is lost, which whoever needed it reports."""

import logging
from asyncio import CancelledError

_WRITERS = ("batched", "client", "comm.tcp", "comm.utils", "core", "utils", "worker")

# The second: the scheduler tells a worker that it is leaving, when it has left already.
_NO_NEWS = ("Failed to reconnect to scheduler", "Invalid Worker.status transition")


def keep_quiet_of_losses() -> None:
    """Let Dask log no connection that is lost; call it before anything connects."""
    for name in _WRITERS:
        logging.getLogger(f"distributed.{name}").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    fault = record.exc_info[1] if record.exc_info else record.msg
    if isinstance(fault, str):
        return not fault.startswith(_NO_NEWS)
    return not isinstance(fault, OSError | CancelledError)
