"""How a request ends that cannot be served: JSON for scripts, a page for people.

Answers are in words of this module or of the errors that reviewers and curators can fix; what
else went wrong stays in the server's log.
"""

import logging
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from construction.review.web.views import error_page
from psychemme.errors import (
    AnswerFirst,
    ItemClosed,
    NotAssigned,
    ReviewError,
    UserError,
    VotedMeanwhile,
)

_log = logging.getLogger(__name__)
_WORDS = {
    400: ("The request is not well formed.", "Reload the page and try again."),
    404: ("There is nothing here.", "Go back to your list."),
    405: ("This address does not take such a request.", "Go back to your list."),
    413: ("This is too long to be stored.", "Shorten your text."),
    422: ("The request is not well formed.", "Reload the page and try again."),
    500: ("Something went wrong on the server.", "Try again; if it stays, tell the curator."),
}
_STATUS: Mapping[type[ReviewError], int] = {
    NotAssigned: 404,
    ItemClosed: 409,
    AnswerFirst: 409,
    VotedMeanwhile: 409,
}


class Refusal(ReviewError):
    """A request is refused with an HTTP status of its own."""

    def __init__(
        self,
        status: int,
        problem: str,
        action: str,
        *,
        faults: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(problem, action)
        self.status = status
        self.faults = tuple(faults)
        self.headers = headers


def refuse_faults(faults: Sequence[str]) -> None:
    """Raise a Refusal that lists the faults, if there are any."""
    if faults:
        raise Refusal(400, "This cannot be stored yet.", "Correct it first.", faults=faults)


def answer(
    request: Request,
    status: int,
    problem: str | None = None,
    action: str | None = None,
    *,
    faults: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return what a refused request gets; without words of its own, those of its status."""
    usual = _WORDS.get(status, _WORDS[400])
    problem, action = problem or usual[0], action or usual[1]
    if request.scope["path"].startswith("/api/"):
        content: dict[str, object] = {"problem": problem, "action": action}
        if faults:
            content["faults"] = list(faults)
        return JSONResponse(content, status, headers)
    return HTMLResponse(error_page(status, problem, action, faults), status, headers)


def install(app: FastAPI) -> None:
    """Make `app` answer every error in these words."""
    app.exception_handler(ReviewError)(_review_error)
    app.exception_handler(UserError)(_user_error)
    app.exception_handler(RequestValidationError)(_not_valid)
    app.exception_handler(HTTPException)(_http)


async def _review_error(request: Request, error: ReviewError) -> Response:
    if isinstance(error, Refusal):
        return answer(
            request,
            error.status,
            error.problem,
            error.action,
            faults=error.faults,
            headers=error.headers,
        )
    return answer(request, _STATUS.get(type(error), 400), error.problem, error.action)


async def _user_error(request: Request, error: UserError) -> Response:
    # Whoever runs the server can mend it; who asked is told no more than usual.
    said = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(error))
    _log.error(said)
    return answer(request, 500)


async def _not_valid(request: Request, error: RequestValidationError) -> Response:
    in_path = any(fault["loc"][0] == "path" for fault in error.errors())
    return answer(request, 404 if in_path else 422)


async def _http(request: Request, error: HTTPException) -> Response:
    return answer(request, error.status_code, headers=error.headers)
