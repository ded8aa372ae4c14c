"""What every request works with, and who is asking."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi import Path as InPath

from evaluation.people.rows import Kind
from evaluation.people.store import PeopleStore
from evaluation.people.study import PeopleStudy, Task
from psychemme.errors import ReviewError
from psychemme.pages.tokens import hash_token

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class Refusal(ReviewError):
    """A request is refused with an HTTP status of its own."""

    def __init__(self, status: int, problem: str, action: str) -> None:
        super().__init__(problem, action)
        self.status = status


def is_text(value: str) -> bool:
    """Whether every character is one that a database and a page can hold."""
    return _NO_TEXT.search(value) is None


@dataclass(frozen=True)
class Site:
    """The study that is served; `is_secure` says that browsers come over TLS."""

    folder: Path
    study: PeopleStudy
    store: PeopleStore
    is_secure: bool

    @property
    def cookie(self) -> str:
        """The cookie's name, of this study alone; behind TLS one that no other host can set."""
        return f"{'__Host-' if self.is_secure else ''}people-{self.study.id}"


@dataclass(frozen=True)
class Visitor:
    """Who is signed in, by the token of their link."""

    person: str
    token: str = field(repr=False)

    @property
    def csrf(self) -> str:
        """The token that every form and script of this person's pages sends along."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


async def site_of(request: Request) -> Site:
    """Return the site a request is for."""
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(site_of)]


def visitor_of(request: Request, site: SiteOf) -> Visitor:
    """Return who is signed in; refuses where nobody is."""
    token = request.cookies.get(site.cookie, "")
    person = site.store.invited(hash_token(token))
    if person is None:
        raise Refusal(401, "You are not signed in.", "Open your invite link.")
    return Visitor(person, token)


VisitorOf = Annotated[Visitor, Depends(visitor_of)]


async def genuine(request: Request, visitor: VisitorOf) -> None:
    """Refuse a change that lacks the page's own token."""
    given = request.headers.get("x-csrf-token") or (await request.form()).get("csrf")
    token = given.encode(errors="replace") if isinstance(given, str) else b""
    if not hmac.compare_digest(token, visitor.csrf.encode()):
        raise Refusal(403, "This request did not come from your page.", "Reload it and try again.")


@dataclass(frozen=True)
class Place:
    """A task of one person: its number in their order, from 1, and its index in the study."""

    number: int
    index: int
    task: Task


def may_answer(visitor: VisitorOf, site: SiteOf) -> Visitor:
    """Return who is signed in; refuses annotators who have not said that they reviewed nothing."""
    if site.study.kind is Kind.BASELINE and site.store.declared(visitor.person) is not False:
        raise Refusal(403, "Say first that you did not review these items.", "Go to your list.")
    return visitor


AnswererOf = Annotated[Visitor, Depends(may_answer)]


def place_of(
    number: Annotated[int, InPath(ge=1, le=1_000_000)], site: SiteOf, visitor: AnswererOf
) -> Place:
    """Return the person's own task of that number; others have no address."""
    order = site.study.orders[visitor.person]
    if number > len(order):
        raise Refusal(404, "There is nothing here.", "Go to your list.")
    return Place(number, order[number - 1], site.study.tasks[order[number - 1]])


PlaceOf = Annotated[Place, Depends(place_of)]


def places_of(study: PeopleStudy, person: str) -> Sequence[Place]:
    """Return a person's tasks in their order."""
    order = study.orders[person]
    return [Place(n, index, study.tasks[index]) for n, index in enumerate(order, 1)]
