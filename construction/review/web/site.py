"""What every request of the review page works with."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from construction.presentation import presentation_order
from construction.review.web.ratelimit import Failures
from construction.workspace import Workspace
from psychemme.errors import NotAssigned
from psychology_kb.load import KnowledgeBase, ReviewForm
from state.review import Place, ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import BlindItem, OwnWork


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

    def queue(self, reviewer: str) -> tuple[OwnWork, ...]:
        """Return the reviewer's items, without what a skip of another one withholds."""
        held = self.desk.withheld(reviewer)
        return tuple(one for one in self.store.queue(reviewer) if not _is_withheld(one.item, held))

    def work(self, reviewer: str, place: Place) -> OwnWork:
        """Return one item of the reviewer's; raises NotAssigned where a skip withholds it."""
        work = self.store.work(reviewer, place)
        if _is_withheld(work.item, self.desk.withheld(reviewer)):
            raise NotAssigned(
                "You skipped an item that this one belongs with: somebody else takes it over.",
                "Go back to your list.",
            )
        return work

    def name_of(self, reviewer: str) -> str:
        """Return a reviewer's name."""
        return next(one.name for one in self.desk.reviewers() if one.id == reviewer)


def _is_withheld(item: BlindItem, held: Collection[Place]) -> bool:
    return not item.is_closed and (item.candidate_key, item.version) in held


async def site_of(request: Request) -> Site:
    """Return the site a request is for."""
    site: Site = request.app.state.site
    return site


SiteOf = Annotated[Site, Depends(site_of)]
