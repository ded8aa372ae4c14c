"""Invite links, and the sessions they open.

A token is shown once and kept as its SHA-256 only. A link that is unknown, expired or revoked is
refused in the same words, so that nobody learns which it was.
"""

import re
from dataclasses import dataclass, field

from psychemme.canonical import now
from psychemme.errors import ReviewError
from psychemme.pages.tokens import hash_token, new_token
from psychemme.release.texts import is_blank
from state.review_desk import ReviewDesk
from state.review_values import ReviewerRecord, SessionRecord

HOUR = 3_600_000_000
DAY = 24 * HOUR
"""Microseconds, as all times of day here."""
LINK_DAYS = 30
SESSION = 14 * DAY
CURATOR_SESSION = 12 * HOUR
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_LONGEST_NAME = 100
_LONGEST_LINK_DAYS = 366


class LinkRefused(ReviewError):
    """An invite link is unknown, expired or revoked; which of them is not told."""

    def __init__(self) -> None:
        super().__init__("This link is not valid, or no longer.", "Ask the curator for a new one.")


@dataclass(frozen=True)
class Opened:
    """A session that has just begun: its token, for the browser alone, and when it ends."""

    token: str = field(repr=False)
    expires_at: int


def invite(
    desk: ReviewDesk,
    reviewer_id: str,
    name: str,
    *,
    background: str = "",
    days: float = LINK_DAYS,
    is_demonstration: bool = False,
) -> str:
    """Store a new reviewer whose link works for `days`, and return its token.

    Raises ReviewError where the id is taken or a value is not allowed.
    """
    if not _ID.fullmatch(reviewer_id):
        raise ReviewError(
            f"{reviewer_id!r} is no reviewer id.",
            "Use up to 40 lower-case letters, digits, dots, dashes and underscores.",
        )
    if is_blank(name) or len(name) > _LONGEST_NAME:
        raise ReviewError(
            f"A name of {len(name)} characters is not allowed.", f"Use 1 to {_LONGEST_NAME}."
        )
    token, at = new_token(), now()
    desk.invite(
        ReviewerRecord(
            id=reviewer_id,
            name=name.strip(),
            background=background,
            is_demonstration=is_demonstration,
            token_sha256=hash_token(token),
            invited_at=at,
            expires_at=at + _lifetime(days),
        )
    )
    return token


def renew(desk: ReviewDesk, reviewer_id: str, days: float = LINK_DAYS) -> str:
    """Replace a reviewer's link by one that works for `days`, and return its token.

    The old link and what was opened with it end. Raises ReviewError where there is no such id.
    """
    token = new_token()
    desk.renew(reviewer_id, hash_token(token), now() + _lifetime(days))
    return token


def enter(desk: ReviewDesk, token: str) -> Opened:
    """Open a session with a reviewer's link; raises LinkRefused."""
    at, given = now(), hash_token(token)
    for reviewer in desk.reviewers():
        is_open = reviewer.revoked_at is None and reviewer.expires_at > at
        if is_open and reviewer.token_sha256 == given:
            return _start(desk, reviewer.id, min(at + SESSION, reviewer.expires_at), given)
    raise LinkRefused


def enter_curator(desk: ReviewDesk) -> Opened:
    """Open a curator's session; the caller has checked the link."""
    return _start(desk, None, now() + CURATOR_SESSION)


def _start(
    desk: ReviewDesk, reviewer_id: str | None, expires_at: int, link_sha256: str | None = None
) -> Opened:
    token = new_token()
    record = SessionRecord(
        token_sha256=hash_token(token),
        reviewer_id=reviewer_id,
        started_at=now(),
        expires_at=expires_at,
    )
    if not desk.start_session(record, link_sha256):
        raise LinkRefused
    return Opened(token, expires_at)


def _lifetime(days: float) -> int:
    if not 0 < days <= _LONGEST_LINK_DAYS:
        raise ReviewError(
            f"A link cannot work for {days:g} days.", f"Use at most {_LONGEST_LINK_DAYS}."
        )
    return int(days * DAY)
