"""Which process this is, so that another on the same machine can tell whether it still runs."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_ENDED = frozenset("ZX")
"""States of a process that runs no more but has not been waited for."""


@dataclass(frozen=True)
class Process:
    """A process among all that ever ran anywhere.

    `host` is for people. `machine` tells boots and containers apart, and is empty where the system
    does not say; `started` is in clock ticks after boot, since process ids are used again.
    """

    host: str
    machine: str
    pid: int
    started: int

    @property
    def is_gone(self) -> bool:
        """Whether it ran on this machine and runs no more; False where that cannot be known."""
        if not self.machine or self.machine != _machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return _started(self.pid) not in (None, self.started)


def this_process() -> Process:
    """Return the process that asks."""
    pid = os.getpid()
    return Process(socket.gethostname(), _machine(), pid, _started(pid) or 0)


def _machine() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """Return when a process started, -1 where it has ended, None where the system hides it."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # proc(5): the name, in brackets, may hold anything; fields 3 (state) and 22 come after it.
    fields = text.rpartition(")")[2].split()
    return -1 if fields[0] in _ENDED else int(fields[19])
