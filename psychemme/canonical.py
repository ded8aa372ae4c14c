"""One way to turn values into bytes, bytes into ids, and to read the clock."""

import hashlib
import json
import math
import time
from collections import Counter


def canonical_json(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces, so that equal values hash alike."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def strict_json(data: bytes | str) -> object:
    """Return the JSON value of `data` (UTF-8), if all readers must understand it alike.

    Raises ValueError where it is no JSON, a key stands twice, a number is not finite or a text
    cannot be written in UTF-8, and RecursionError where it is nested too deeply.
    """
    text = data if isinstance(data, str) else data.decode()
    found: object = json.loads(
        text, object_pairs_hook=_each_once, parse_constant=_finite, parse_float=_finite
    )
    if not text.isascii() or "\\u" in text:
        _refuse_halves(found)
    return found


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return found


def _refuse_halves(found: object) -> None:
    try:
        canonical_json(found).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds half a character (a lone surrogate)") from None


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return value


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of `value` (hex)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def now() -> int:
    """Return the time as UTC microseconds."""
    return time.time_ns() // 1000
