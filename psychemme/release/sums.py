"""`SHA256SUMS`: one line a file of a release, readable by `sha256sum -c`, and its own checksum.

Lines that begin with `#` are comments to that program. The last one holds the SHA-256 of the bytes
before it, so that a change of this file names this file.
"""

import hashlib
import re
from collections.abc import Mapping

from psychemme.release.faults import SUMS, Fault, Rule

_SEAL = "# SHA-256 of the lines above: "
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def sums_file(files: Mapping[str, bytes], canary: str) -> bytes:
    """Return `SHA256SUMS` for `files`, by their paths below the release's folder."""
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    return _sealed(f"# canary: {canary}\n" + "".join(lines))


def read_sums(data: bytes) -> tuple[dict[str, str], list[Fault]]:
    """Return path to SHA-256 (hex) as the file says, and whether it is as it was written."""
    text = data.decode(errors="replace")
    above, _, _ = text.rpartition(_SEAL)
    sums = {found[2]: found[1] for line in text.split("\n") if (found := _LINE.fullmatch(line))}
    if _sealed(above) == data:
        return sums, []
    return sums, [Fault(file=SUMS, rule=Rule.CHECKSUM, problem="is not as it was written")]


def _sealed(above: str) -> bytes:
    return f"{above}{_SEAL}{hashlib.sha256(above.encode()).hexdigest()}\n".encode()
