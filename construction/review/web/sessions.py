"""Who is asking: the session behind a request's cookie."""

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Response

from construction.review.invites import Opened
from construction.review.web.bodies import is_text
from construction.review.web.problems import Refusal
from construction.review.web.site import Site, SiteOf
from psychemme.canonical import now
from psychemme.pages.guard import SAFE_METHODS
from psychemme.pages.tokens import hash_token


@dataclass(frozen=True)
class Visitor:
    """Someone signed in; `reviewer` is None for the curator."""

    token: str = field(repr=False)
    reviewer: str | None

    @property
    def csrf(self) -> str:
        """The token that every form and script of this session sends along."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


def cookie_name(site: Site) -> str:
    """Return the cookie's name; behind TLS one that no other host can set."""
    return "__Host-psychemme" if site.is_secure else "psychemme"


def set_cookie(response: Response, site: Site, opened: Opened) -> None:
    """Sign the browser in."""
    response.set_cookie(
        cookie_name(site),
        opened.token,
        max_age=(opened.expires_at - now()) // 1_000_000,
        httponly=True,
        samesite="lax",
        secure=site.is_secure,
    )


def clear_cookie(response: Response, site: Site) -> None:
    """Sign the browser out."""
    response.delete_cookie(cookie_name(site), httponly=True, samesite="lax", secure=site.is_secure)


def visitor_of(request: Request, site: SiteOf) -> Visitor | None:
    """Return who is signed in, None where nobody is."""
    token = request.cookies.get(cookie_name(site))
    session = site.desk.session(hash_token(token)) if token else None
    if token is None or session is None:
        return None
    return Visitor(token, session.reviewer_id)


VisitorOf = Annotated[Visitor | None, Depends(visitor_of)]


def someone(visitor: VisitorOf) -> Visitor:
    """Return who is signed in; refuses where nobody is."""
    if visitor is None:
        raise Refusal(401, "You are not signed in.", "Open your invite link.")
    return visitor


SomeoneOf = Annotated[Visitor, Depends(someone)]


def reviewer(visitor: SomeoneOf) -> str:
    """Return the id of the reviewer who is signed in; refuses everybody else."""
    if visitor.reviewer is None:
        raise Refusal(403, "This page is for reviewers.", "Go to the curator's pages.")
    return visitor.reviewer


def curator(visitor: SomeoneOf) -> Visitor:
    """Return the curator's session; refuses everybody else."""
    if visitor.reviewer is not None:
        raise Refusal(403, "This page is for curators.", "Go back to your list.")
    return visitor


async def genuine(request: Request, visitor: SomeoneOf) -> None:
    """Refuse a change that lacks the session's own token, and a form that holds no text."""
    if request.method in SAFE_METHODS:
        return
    form = await request.form()
    given = request.headers.get("x-csrf-token") or form.get("csrf")
    token = given.encode(errors="replace") if isinstance(given, str) else b""
    if not hmac.compare_digest(token, visitor.csrf.encode()):
        raise Refusal(403, "This request did not come from your page.", "Reload it and try again.")
    if not all(is_text(value) for _, value in form.multi_items() if isinstance(value, str)):
        raise Refusal(400, "A field holds what is no text.", "Correct it and send it again.")


ReviewerOf = Annotated[str, Depends(reviewer)]
CuratorOf = Annotated[Visitor, Depends(curator)]
