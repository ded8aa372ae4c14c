"""Versions of a release: `major.minor.patch`, and which must grow for which change."""

import re
from enum import IntEnum

from psychemme.errors import ReleaseError

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


class Bump(IntEnum):
    """The least part of a version that a change raises."""

    PATCH = 0
    MINOR = 1
    MAJOR = 2


def parse_version(text: str) -> tuple[int, int, int]:
    """Return `1.0` or `1.0.2` as three numbers; raises ReleaseError."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ReleaseError(f"{text!r} is not a version.", "Use a form such as 1.0.0.")
    return int(found[1]), int(found[2]), int(found[3] or 0)


def version_text(version: tuple[int, int, int]) -> str:
    """Return three numbers as `1.0.2`."""
    return ".".join(map(str, version))


def least_next(version: tuple[int, int, int], bump: Bump) -> tuple[int, int, int]:
    """Return the lowest version after `version` that a change of size `bump` may have."""
    major, minor, patch = version
    if bump is Bump.MAJOR:
        return major + 1, 0, 0
    return (major, minor + 1, 0) if bump is Bump.MINOR else (major, minor, patch + 1)
