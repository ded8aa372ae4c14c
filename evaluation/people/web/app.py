"""The pages of one study as an ASGI application."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from evaluation.people.store import PeopleStore
from evaluation.people.study import read_study
from evaluation.people.web.routes import router
from evaluation.people.web.site import Refusal, Site
from evaluation.people.web.views import STATIC, error_page
from psychemme import pages as shared
from psychemme.errors import ReviewError
from psychemme.pages.guard import LONGEST_BODY, Guard
from psychemme.pages.serving import LOOPBACK

_WORDS = {
    404: ("There is nothing here.", "Go to your list."),
    413: ("This is too long to be stored.", "Shorten your text."),
    500: ("Something went wrong on the server.", "Try again; if it stays, tell the curator."),
}
_USUAL = ("The request is not well formed.", "Reload the page and try again.")


def create_app(
    folder: Path, *, is_secure: bool = False, hosts: Sequence[str] = LOOPBACK
) -> FastAPI:
    """Return the pages of the study at `folder`.

    `is_secure` says that browsers come over TLS: cookies are then sent over nothing else. `hosts`
    are the names by which browsers may call this server. Raises RunError.
    """
    site = Site(folder, read_study(folder), PeopleStore(folder), is_secure)

    @asynccontextmanager
    async def closing(_app: FastAPI) -> AsyncIterator[None]:
        with site.store:
            yield

    app = FastAPI(
        title="psychemme people", openapi_url=None, redirect_slashes=False, lifespan=closing
    )
    app.state.site = site
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=LONGEST_BODY)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(Guard, is_secure=is_secure, answer=answer)
    app.exception_handler(ReviewError)(_refused)
    app.exception_handler(RequestValidationError)(_not_valid)
    app.exception_handler(HTTPException)(_http)
    app.include_router(router)
    app.add_api_route("/static/base.css", _base_style, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


def answer(
    request: Request, status: int, problem: str | None = None, action: str | None = None
) -> Response:
    """Return what a refused request gets: JSON for scripts, a page for people."""
    usual = _WORDS.get(status, _USUAL)
    problem, action = problem or usual[0], action or usual[1]
    if request.scope["path"].startswith("/api/"):
        return JSONResponse({"problem": problem, "action": action}, status)
    return HTMLResponse(error_page(status, problem, action), status)


async def _base_style() -> FileResponse:
    return FileResponse(Path(shared.__file__).with_name("base.css"))


async def _refused(request: Request, error: ReviewError) -> Response:
    status = error.status if isinstance(error, Refusal) else 409
    return answer(request, status, error.problem, error.action)


async def _not_valid(request: Request, error: RequestValidationError) -> Response:
    in_path = any(fault["loc"][0] == "path" for fault in error.errors())
    return answer(request, 404 if in_path else 422)


async def _http(request: Request, error: HTTPException) -> Response:
    return answer(request, error.status_code)
