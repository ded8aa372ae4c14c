"""What every request of the review page works with."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from construction.presentation import presentation_order
from construction.review.web.ratelimit import Failures
from construction.workspace import Workspace
from psychology_kb.load import KnowledgeBase, ReviewForm
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import BlindItem


@dataclass(frozen=True)
class Site:
    """The workspace that is served, the doors to its Shared State, and the review form.

    `curator_token_sha256` is of the link that makes a curator, None where there is none;
    `is_secure` says that browsers come over TLS.
    """

    workspace: Workspace
    store: ReviewStore
    desk: ReviewDesk
    form: ReviewForm
    knowledge: KnowledgeBase
    secret: bytes = field(repr=False)
    curator_token_sha256: str | None
    is_secure: bool
    failures: Failures = field(default_factory=Failures)

    def order(self, reviewer: str, item: BlindItem) -> tuple[int, ...]:
        """Return the positions of an item's options in the order that this reviewer sees."""
        label = f"{item.candidate_key}:{item.version}:{reviewer}"
        return presentation_order(len(item.options), label, 0, self.secret)

    def name_of(self, reviewer: str) -> str:
        """Return a reviewer's name."""
        return next(one.name for one in self.desk.reviewers() if one.id == reviewer)


async def site_of(request: Request) -> Site:
    """Return the site a request is for."""
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(site_of)]
