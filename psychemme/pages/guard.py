"""What holds for every request and response, whatever the route."""

import logging
import traceback
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_BODY = 64 * 1024
"""Bytes."""
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_log = logging.getLogger(__name__)


class Guard:
    """Refuses what comes from other sites or is too long, and marks every response.

    `answer` makes the response of a refusal from the request, its status and words that are not
    the usual ones. An error that nothing else answers becomes a plain 500 here, and a line in the
    log without the values that it was about.
    """

    def __init__(self, app: ASGIApp, *, is_secure: bool, answer: Callable[..., Response]) -> None:
        self._app, self._scheme = app, "https" if is_secure else "http"
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["scheme"] = self._scheme
        has_begun = False

        async def marked(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                _mark(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            await self._serve(scope, receive, marked)
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__, limit=-6))
            _log.error("%s\n%s", type(error).__name__, where)
            if has_begun:
                raise
            await self._answer(Request(scope), 500)(scope, receive, marked)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if scope["method"] not in SAFE_METHODS and self._is_foreign(headers):
            words = ("This request came from another site.", "Open the page itself.")
            await self._answer(Request(scope), 403, *words)(scope, receive, send)
        elif _length(headers) > LONGEST_BODY:
            await self._answer(Request(scope), 413)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_foreign(self, headers: Headers) -> bool:
        """Whether a browser says that a page of another site made the request.

        A form on a page that sends no referrer has the origin "null"; there, only the browser's
        `Sec-Fetch-Site` tells.
        """
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in {None, "same-origin", "none"}:
            return True
        if origin is None or (origin == "null" and site is not None):
            return False
        return origin.lower() != f"{self._scheme}://{headers.get('host', '').lower()}"


def _mark(headers: MutableHeaders, path: str) -> None:
    for name, value in _HEADERS.items():
        headers[name] = value
    headers.setdefault("cache-control", "no-cache" if path.startswith("/static/") else "no-store")


def _length(headers: Headers) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() else 0
