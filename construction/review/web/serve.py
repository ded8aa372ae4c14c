"""Serve the review page from one process, to this machine or behind a TLS proxy."""

from collections.abc import Callable, Sequence

from construction.workspace import Workspace
from psychemme.pages.serving import open_door, serve_app
from psychemme.pages.tokens import hash_token, link, new_token
from state.engines import prove_logins
from state.roles import DbRole

DEFAULT_PORT = 8765
_LOGINS = (DbRole.CURATOR, DbRole.REVIEWER_BLIND, DbRole.REVIEWER_INFORMED)


def serve(
    workspace: Workspace,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    *,
    behind_tls: str | None = None,
    proxies: Sequence[str] = ("127.0.0.1", "::1"),
    announce: Callable[[str, str], None],
) -> None:
    """Serve until Ctrl-C or SIGTERM; requests in hand are finished.

    `announce` is called once, when the port is open, with the page's address and the curator's
    link, which is valid while this process runs. `behind_tls` is the address (`https://host`) at
    which a proxy offers the page; forwarded addresses are believed from `proxies` only. Port 0
    takes any that is free. Raises ReviewError where the host or port cannot be served, ConfigError
    where the server of the Shared State refuses a password.
    """
    from construction.review.web.app import create_app

    token = new_token()
    with open_door(host, port, behind_tls) as door:
        prove_logins(workspace.database, _LOGINS)
        app = create_app(
            workspace,
            is_secure=door.is_secure,
            curator_token_sha256=hash_token(token),
            hosts=door.hosts,
        )
        announce(door.address, link(door.address, token))
        serve_app(app, door, proxies)
