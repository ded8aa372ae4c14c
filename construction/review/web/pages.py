"""The pages of reviewers, and the way in and out."""

import hmac
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from construction.review.invites import LinkRefused, Opened, enter, enter_curator
from construction.review.web.bodies import Key, Version
from construction.review.web.problems import Refusal
from construction.review.web.sessions import (
    ReviewerOf,
    SomeoneOf,
    VisitorOf,
    clear_cookie,
    genuine,
    set_cookie,
)
from construction.review.web.site import Site, SiteOf
from construction.review.web.views import enter_page, error_page, home_page, review_page
from psychemme.pages.tokens import hash_token

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
CURATOR_HOME = "/curator"
_TOKEN = r"^[A-Za-z0-9_-]{1,128}$"  # noqa: S105 - the shape of one


@router.get("/enter/{token}")
def show_entrance(token: Annotated[str, Path(pattern=_TOKEN)], site: SiteOf) -> str:
    """Show the button that signs in: to look at a link, as mail programs do, changes nothing."""
    return enter_page(token, _is_curator(site, token))


@router.post("/enter")
def sign_in(
    request: Request,
    site: SiteOf,
    visitor: VisitorOf,
    token: Annotated[str, Form(max_length=128)],
) -> Response:
    """Open a session with the link's token, and end the one this browser had."""
    address = request.client.host if request.client else ""
    if wait := site.failures.wait(address):
        headers = {"retry-after": str(wait)}
        raise Refusal(
            429, "Too many links were refused.", f"Try again in {wait} seconds.", headers=headers
        )
    try:
        opened, home = _open(site, token)
    except LinkRefused:
        site.failures.note(address)
        raise
    if visitor is not None:
        site.desk.end_session(hash_token(visitor.token))
    response = RedirectResponse(home, 303)
    set_cookie(response, site, opened)
    return response


@router.post("/leave", dependencies=[Depends(genuine)])
def sign_out(site: SiteOf, visitor: SomeoneOf) -> HTMLResponse:
    """End the session."""
    site.desk.end_session(hash_token(visitor.token))
    response = HTMLResponse(error_page(200, "You are signed out.", "Your link lets you in again."))
    clear_cookie(response, site)
    return response


@router.get("/")
def home(site: SiteOf, visitor: SomeoneOf) -> Response:
    """Show the reviewer's own list; curators are sent to their pages."""
    who = visitor.reviewer
    if who is None:
        return RedirectResponse(CURATOR_HOME, 303)
    page = home_page(site.queue(who), who, site.name_of(who), visitor.csrf)
    return HTMLResponse(page)


@router.get("/items/{key}/{version}")
def item(key: Key, version: Version, site: SiteOf, who: ReviewerOf, visitor: SomeoneOf) -> str:
    """Show an item: without its reference until the reviewer's own answer is committed."""
    work = site.work(who, (key, version))
    shown = work.item
    return review_page(
        work,
        site.store.episode(who, shown.episode_id, shown.preparation),
        None if work.answer is None else site.store.reveal(who, (key, version)),
        site.form,
        site.knowledge,
        site.order(who, shown),
        site.queue(who),
        who,
        visitor.csrf,
    )


def _open(site: Site, token: str) -> tuple[Opened, str]:
    if _is_curator(site, token):
        return enter_curator(site.desk), CURATOR_HOME
    return enter(site.desk, token), "/"


def _is_curator(site: Site, token: str) -> bool:
    known = site.curator_token_sha256
    return known is not None and hmac.compare_digest(hash_token(token), known)
