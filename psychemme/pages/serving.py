"""Serve pages from one process, to this machine or behind a TLS proxy."""

import errno
import ipaddress
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from psychemme.errors import ReviewError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SECONDS_TO_FINISH = 5
_HTTPS = re.compile(r"https://([A-Za-z0-9.-]+)(?::\d{1,5})?/?")


@dataclass(frozen=True)
class Door:
    """An open port: the `address` that browsers use and the `hosts` by which they call it."""

    listener: socket.socket
    address: str
    hosts: tuple[str, ...]
    is_secure: bool


@contextmanager
def open_door(host: str, port: int, behind_tls: str | None = None) -> Iterator[Door]:
    """Yield an open port; 0 takes any that is free.

    `behind_tls` is the address (`https://host`) at which a proxy offers the page. Raises
    ReviewError where the host or port cannot be served.
    """
    if behind_tls is None and not _is_loopback(host):
        raise ReviewError(
            f"{host} can be reached from other machines, and nothing would be encrypted.",
            "Put a TLS proxy in front and name its address with --behind-tls https://HOST.",
        )
    name = None if behind_tls is None else _public_name(behind_tls)
    with _listen(host, port) as listener:
        address = behind_tls or _address(listener)
        yield Door(listener, address, LOOPBACK if name is None else (name,), name is not None)


def serve_app(app: ASGIApp, door: Door, proxies: Sequence[str]) -> None:
    """Serve until Ctrl-C or SIGTERM; requests in hand are finished.

    Forwarded addresses are believed from `proxies` only.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        access_log=False,  # a link's token is part of its path
        log_level="warning",
        ws="none",
        server_header=False,
        proxy_headers=door.is_secure,
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    try:
        uvicorn.Server(config).run(sockets=[door.listener])
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
