"""What each address of a study's pages does."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evaluation.people.kinds import Misfit, is_complete, read_content
from evaluation.people.rows import Kind
from evaluation.people.study import film_path
from evaluation.people.web.site import (
    PlaceOf,
    Refusal,
    SiteOf,
    VisitorOf,
    genuine,
    is_text,
    may_answer,
    places_of,
)
from evaluation.people.web.views import enter_page, error_page, home_page, task_page
from psychemme.pages.tokens import hash_token

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
DAYS = 30
"""For how long a browser stays signed in."""
LONGEST_TEXT = 4_000
_TOKEN = r"^[A-Za-z0-9_-]{1,128}$"  # noqa: S105 - the shape of one


def _storable(text: str) -> str:
    if not is_text(text):
        raise ValueError("a character that no text has")
    return text


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]


class SaveBody(BaseModel):
    """A form's fields, made when there were `revision` answers; `seconds` were spent in all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: Annotated[
        dict[
            Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")],
            Text | Annotated[list[Text], Field(max_length=26)],
        ],
        Field(max_length=16),
    ]
    seconds: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)]
    revision: Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


class Saved(BaseModel):
    """An answer is stored as the `revision`-th at `saved_at` (UTC microseconds)."""

    saved_at: int
    revision: int
    complete: bool


@router.get("/enter/{token}")
def show_entrance(token: Annotated[str, Path(pattern=_TOKEN)], site: SiteOf) -> str:
    """Show the button that signs in: to look at a link, as mail programs do, changes nothing."""
    return enter_page(site, token)


@router.post("/enter")
def sign_in(site: SiteOf, token: Annotated[str, Form(pattern=_TOKEN)]) -> Response:
    """Sign the browser in with a link's token."""
    if site.store.invited(hash_token(token)) is None:
        raise Refusal(
            401, "This link is not valid, or no longer.", "Ask the curator for a new one."
        )
    response = RedirectResponse("/", 303)
    response.set_cookie(
        site.cookie,
        token,
        max_age=DAYS * 86_400,
        httponly=True,
        samesite="lax",
        secure=site.is_secure,
    )
    return response


@router.post("/leave", dependencies=[Depends(genuine)])
def sign_out(site: SiteOf) -> Response:
    """Sign the browser out."""
    response = HTMLResponse(error_page(200, "You are signed out.", "Your link lets you in again."))
    response.delete_cookie(site.cookie, httponly=True, samesite="lax", secure=site.is_secure)
    return response


@router.get("/")
def home(site: SiteOf, visitor: VisitorOf) -> str:
    """Show the person's own list, or what annotators have to declare before it."""
    return home_page(site, visitor)


@router.post("/declare", dependencies=[Depends(genuine)])
def declare(
    site: SiteOf, visitor: VisitorOf, is_reviewer: Annotated[str, Form(pattern="^(yes|no)$")]
) -> Response:
    """Store whether the annotator reviewed items of the release."""
    if site.study.kind is Kind.BASELINE:
        site.store.declare(visitor.person, is_reviewer == "yes")
    return RedirectResponse("/", 303)


@router.post("/finish", dependencies=[Depends(genuine), Depends(may_answer)])
def finish(site: SiteOf, visitor: VisitorOf) -> Response:
    """Store that the person has finished, once everything is answered."""
    kept = site.store.answers(visitor.person)
    left = [
        place.number
        for place in places_of(site.study, visitor.person)
        if place.index not in kept
        or not is_complete(site.study, place.task, kept[place.index].content)
    ]
    if left:
        raise Refusal(409, f"{len(left)} are not answered yet, such as {left[0]}.", "Answer them.")
    site.store.finish(visitor.person)
    return RedirectResponse("/", 303)


@router.get("/tasks/{number}")
def show_task(site: SiteOf, visitor: VisitorOf, place: PlaceOf) -> str:
    """Show one task with what the person said so far."""
    return task_page(site, visitor, place)


@router.post("/api/tasks/{number}", dependencies=[Depends(genuine)], response_class=JSONResponse)
def save(site: SiteOf, visitor: VisitorOf, place: PlaceOf, body: SaveBody) -> Saved:
    """Store an answer, whole or not; it counts once it is whole."""
    try:
        content = read_content(site.study, visitor.person, place.task, body.fields)
    except Misfit:
        raise Refusal(400, "This is no answer to the question.", "Reload the page.") from None
    kept = site.store.keep(visitor.person, place.index, content, body.seconds, body.revision)
    return Saved(
        saved_at=kept.at,
        revision=kept.revision,
        complete=is_complete(site.study, place.task, kept.content),
    )


@router.api_route("/media/{number}.mp4", methods=["GET", "HEAD"])
def film(site: SiteOf, place: PlaceOf) -> FileResponse:
    """Return the window of one of the person's own tasks, in byte ranges."""
    episode = site.study.episodes[place.task.question.episode_id]
    path = film_path(site.folder, episode)
    if episode.id not in site.study.films or not path.is_file():
        raise Refusal(404, "The footage is missing.", "Tell the curator.")
    return FileResponse(path, media_type="video/mp4")
