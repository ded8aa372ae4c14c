"""The review page as an ASGI application."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from construction.profiles import DEFAULT
from construction.review.web import media, pages, problems, reviewer_api
from construction.review.web.curator import make_curator_router
from construction.review.web.site import Site
from construction.review.web.views import STATIC
from construction.workspace import Workspace
from psychemme import pages as shared
from psychemme.pages.guard import LONGEST_BODY, Guard
from psychemme.pages.serving import LOOPBACK
from psychology_kb.load import load_profile, load_review
from state.review import ReviewStore
from state.review_desk import ReviewDesk


def create_app(
    workspace: Workspace,
    *,
    is_secure: bool = False,
    curator_token_sha256: str | None = None,
    hosts: Sequence[str] = LOOPBACK,
    profile: str = DEFAULT,
) -> FastAPI:
    """Return the review page of a workspace.

    `is_secure` says that browsers come over TLS: cookies are then sent over nothing else. The link
    with the token of `curator_token_sha256` makes a curator. `hosts` are the names by which
    browsers may call this server. Raises WorkspaceError and ConfigError.
    """
    site = Site(
        workspace=workspace,
        store=ReviewStore(workspace.database),
        desk=ReviewDesk(workspace.database),
        form=load_review(profile),
        knowledge=load_profile(profile),
        secret=workspace.secret,
        curator_token_sha256=curator_token_sha256,
        is_secure=is_secure,
    )
    app = FastAPI(
        title="psychemme review",
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_closing(site),
    )
    app.state.site = site
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=LONGEST_BODY)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(Guard, is_secure=is_secure, answer=problems.answer)
    problems.install(app)
    for router in (pages.router, reviewer_api.router, media.router, make_curator_router()):
        app.include_router(router)
    app.add_api_route("/static/base.css", _base_style, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


async def _base_style() -> FileResponse:
    return FileResponse(Path(shared.__file__).with_name("base.css"))


def _closing(site: Site) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        site.store.__exit__()
        site.desk.close()

    return lifespan
