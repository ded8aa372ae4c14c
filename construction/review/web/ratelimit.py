"""How often an address may fail to enter."""

import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_FAILURES = 10
WINDOW_SECONDS = 300.0
_MOST_ADDRESSES = 10_000


class Failures:
    """Failures of each address in the last `window` seconds; memory is bounded."""

    def __init__(
        self,
        most: int = MOST_FAILURES,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._window, self._clock = most, window, clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, address: str) -> int:
        """Return for how many seconds the address has to wait, 0 where it may try."""
        with self._lock:
            times = self._times.get(_network(address), deque[float]())
            if len(times) < self._most:
                return 0
            return max(0, math.ceil(times[0] + self._window - self._clock()))

    def note(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            network = _network(address)
            times = self._times.setdefault(network, deque(maxlen=self._most))
            times.append(self._clock())
            self._times.move_to_end(network)
            if len(self._times) > _MOST_ADDRESSES:
                self._times.popitem(last=False)


def _network(address: str) -> str:
    # One subscriber holds a whole /64 of IPv6.
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((int(parsed), 64), strict=False))
