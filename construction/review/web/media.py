"""Footage for players, in byte ranges."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse

from construction.review.opening import footage_path
from construction.review.web.bodies import Version
from construction.review.web.problems import Refusal
from construction.review.web.sessions import SomeoneOf
from construction.review.web.site import SiteOf

router = APIRouter(include_in_schema=False)
EpisodeId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}-\d{1,12}-\d{1,12}$")]


@router.api_route("/media/{episode_id}/{preparation}.mp4", methods=["GET", "HEAD"])
def footage(
    episode_id: EpisodeId, preparation: Version, site: SiteOf, visitor: SomeoneOf
) -> FileResponse:
    """Return an episode's footage: any to curators, that of own items to reviewers."""
    if visitor.reviewer is not None:
        site.store.episode(visitor.reviewer, episode_id, preparation)
    path = footage_path(site.workspace, episode_id, preparation)
    if not path.is_file():
        raise Refusal(404, "The footage is missing.", "Tell the curator.")
    return FileResponse(path, media_type="video/mp4")
