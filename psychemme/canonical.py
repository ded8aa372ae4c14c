"""One way to turn values into bytes, bytes into ids, and to read the clock."""

import hashlib
import json
import time


def canonical_json(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces, so that equal values hash alike."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of `value` (hex)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def now() -> int:
    """Return the time as UTC microseconds."""
    return time.time_ns() // 1000
