"""One way to turn values into bytes and bytes into ids."""

import hashlib
import json


def canonical_json(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces, so that equal values hash alike."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON of `value` (hex)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
