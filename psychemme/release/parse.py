"""Bytes of a release's files to values, with every fault of a file rather than the first."""

import json
import re
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from psychemme.release.faults import Fault, Rule
from psychemme.release.rows import FORMAT_VERSION, Manifest, Row

R = TypeVar("R", bound=Row)
_VERSION = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Parsed(Generic[R]):
    """A row, the line (from 1) where it stands, and the canary it carries there."""

    line: int
    row: R
    canary: object


def parse_manifest(file: str, data: bytes) -> Manifest | Fault:
    """Return the manifest that `data` is, or why it is none that this reads."""
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        return Fault(file=file, rule=Rule.FORMAT, problem=f"is not a manifest: {_first(error)}")
    if _major(manifest.format_version) != _major(FORMAT_VERSION):
        problem = f"has format version {manifest.format_version}; this reads {FORMAT_VERSION}"
        return Fault(file=file, rule=Rule.FORMAT, problem=problem)
    return manifest


def parse_rows(file: str, data: bytes, kind: type[R]) -> tuple[list[Parsed[R]], list[Fault]]:
    """Return the rows of a JSON Lines file in its order, and a fault for each other line."""
    rows, faults = [], []
    # Not splitlines(): a text may hold other separators of lines.
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            content: Any = json.loads(line)
            rows.append(Parsed(number, kind.model_validate(content), content.get("canary")))
        except ValidationError as error:
            faults.append(_in_line(file, number, _first(error)))
        except (ValueError, RecursionError) as error:
            faults.append(_in_line(file, number, f"is not JSON: {error}"))
    return rows, faults


def has_sums(manifest: Manifest) -> bool:
    """Return whether a release of this format version has SHA256SUMS (since 1.1)."""
    found = _VERSION.match(manifest.format_version)
    return found is None or (int(found[1]), int(found[2])) >= (1, 1)


def _in_line(file: str, number: int, problem: str) -> Fault:
    return Fault(file=file, where=f"line {number}", rule=Rule.FORMAT, problem=problem)


def _major(version: str) -> str:
    return version.partition(".")[0]


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
