"""Bytes of a release's files to values, with every fault of a file rather than the first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from psychemme.canonical import strict_json
from psychemme.release.faults import Fault, Rule
from psychemme.release.rows import FORMAT_VERSION, KNOWN_VERSIONS, Manifest, Row

R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Parsed(Generic[R]):
    """A row, the line (from 1) where it stands, and the canary it carries there.

    `unknown` are the keys that this format version does not have, such as `transcript.speaker`.
    """

    line: int
    row: R
    canary: object
    unknown: tuple[str, ...]


def parse_manifest(file: str, data: bytes) -> Manifest | Fault:
    """Return the manifest that `data` is, or why it is none that this reads."""
    try:
        manifest = Manifest.model_validate_json(data, strict=True)
        strict_json(data)
    except ValidationError as error:
        return Fault(file=file, rule=Rule.FORMAT, problem=f"is not a manifest: {_first(error)}")
    except ValueError as error:
        return Fault(file=file, rule=Rule.FORMAT, problem=f"is not a manifest: {error}")
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
            content: Any = strict_json(line)
            # Of the JSON: strict validation of `content` would refuse a list for a tuple.
            row = kind.model_validate_json(line, strict=True)
            unknown = [key for key in unknown_keys(content, row) if key != "canary"]
            rows.append(Parsed(number, row, content.get("canary"), tuple(unknown)))
        except ValidationError as error:
            faults.append(_in_line(file, number, _first(error)))
        except (ValueError, RecursionError) as error:
            faults.append(_in_line(file, number, f"is not JSON: {error}"))
    return rows, faults


def unknown_keys(content: object, row: Row) -> Iterator[str]:
    """Yield the keys of the JSON `content` that `row`, which was read from it, ignores."""
    yield from dict.fromkeys(_unknown(content, row.model_dump(mode="json"), ""))


def _unknown(given: object, known: object, place: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in given.items():
            if key in known:
                yield from _unknown(value, known[key], f"{place}{key}.")
            else:
                yield f"{place}{key}"
    elif isinstance(given, list) and isinstance(known, list):
        for value, other in zip(given, known, strict=True):
            yield from _unknown(value, other, place)


def is_known(manifest: Manifest) -> bool:
    """Return whether all keys of a release of this format version are known here."""
    return manifest.format_version in KNOWN_VERSIONS


def has_sums(manifest: Manifest) -> bool:
    """Return whether a release of this format version has SHA256SUMS (since 1.1)."""
    major, minor = manifest.format_version.split(".")
    return (int(major), int(minor)) >= (1, 1)


def _in_line(file: str, number: int, problem: str) -> Fault:
    return Fault(file=file, where=f"line {number}", rule=Rule.FORMAT, problem=problem)


def _major(version: str) -> str:
    return version.partition(".")[0]


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}"
