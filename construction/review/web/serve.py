"""Serve the review page from one process, to this machine or behind a TLS proxy."""

import errno
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence

from construction.review.invites import hash_token, link, new_token
from construction.workspace import Workspace
from psychemme.errors import ReviewError
from state.engines import prove_logins
from state.roles import DbRole

DEFAULT_PORT = 8765
_SECONDS_TO_FINISH = 5
_LOGINS = (DbRole.CURATOR, DbRole.REVIEWER_BLIND, DbRole.REVIEWER_INFORMED)
_HTTPS = re.compile(r"https://([A-Za-z0-9.-]+)(?::\d{1,5})?/?")


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
    import uvicorn

    from construction.review.web.app import LOOPBACK, create_app

    name = None if behind_tls is None else _public_name(behind_tls)
    if name is None and not _is_loopback(host):
        raise ReviewError(
            f"{host} can be reached from other machines, and nothing would be encrypted.",
            "Put a TLS proxy in front and name its address with --behind-tls https://HOST.",
        )
    prove_logins(workspace.database, _LOGINS)
    token = new_token()
    with _listen(host, port) as listener:
        app = create_app(
            workspace,
            is_secure=name is not None,
            curator_token_sha256=hash_token(token),
            hosts=LOOPBACK if name is None else (name,),
        )
        config = uvicorn.Config(
            app,
            access_log=False,  # a link's token is part of its path
            log_level="warning",
            ws="none",
            server_header=False,
            proxy_headers=name is not None,
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        )
        address = behind_tls or _address(listener)
        announce(address, link(address, token))
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return


def _public_name(address: str) -> str:
    found = _HTTPS.fullmatch(address)
    if found is None:
        raise ReviewError(
            f"{address!r} is no https address.", "Give one such as https://review.example.org."
        )
    return found[1]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ReviewError(
                f"Port {port} of {host} is in use.", "Choose another with --port."
            ) from None
        raise ReviewError(
            f"{host}:{port} cannot be opened: {error.strerror}.", "Choose another with --port."
        ) from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
