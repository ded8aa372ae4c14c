"""The tokens of links and sessions: 256 random bits, of which only the SHA-256 is kept."""

import hashlib
import secrets


def new_token() -> str:
    """Return a token that nobody can guess, of characters that a URL keeps."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return what is stored of a token: its SHA-256 (hex)."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def link(address: str, token: str) -> str:
    """Return the link that opens the page at `address` (`https://host`)."""
    return f"{address.rstrip('/')}/enter/{token}"
