"""What a cluster needs before anything starts: the extra, addresses that are meant, PostgreSQL."""

import importlib.util
import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from psychemme.errors import ConfigError
from state.address import Address

_NAMES = ("tcp", "tls")


def require_extra() -> None:
    """Raise ConfigError with the line that installs Dask, where it is missing."""
    if importlib.util.find_spec("distributed") is None:
        raise ConfigError(
            "Work on many machines needs Dask, which is not installed.",
            "Run `pip install 'psychemme[cluster]'` on every machine.",
        )


def require_address(address: str) -> str:
    """Return a scheduler's address as given; raises ConfigError where it is none."""
    parts = urlsplit(address)
    try:
        is_whole = bool(parts.hostname and parts.port)
    except ValueError:
        is_whole = False
    if parts.scheme not in _NAMES or not is_whole or parts.path:
        raise ConfigError(
            f"{address!r} is not the address of a scheduler.",
            "Give tcp://HOST:PORT, or tls://HOST:PORT where Dask is configured for TLS.",
        )
    return address


def is_loopback(host: str) -> bool:
    """Return whether `host` can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_trust(host: str, is_encrypted: bool, is_trusted: bool) -> None:
    """Raise ConfigError where strangers could reach a port that runs what it is sent."""
    if not (is_loopback(host) or is_encrypted or is_trusted):
        raise ConfigError(
            f"Whoever reaches a cluster's port on {host} can run code there, and TLS is off.",
            "Configure Dask's TLS (see docs/cluster.md), or add --trusted-network where only "
            "machines of yours reach that address.",
        )


def require_team_database(address: Address) -> None:
    """Raise ConfigError where the Shared State is a file, which machines cannot share."""
    if isinstance(address, Path):
        raise ConfigError(
            "A cluster needs a Shared State that every machine reaches, and this one is an "
            "SQLite file.",
            "Set PSYCHEMME_DATABASE to a PostgreSQL database and move this workspace there with "
            "`psychemme db export` and `psychemme db import`, or leave out --cluster.",
        )
