"""How large a request is before it is sent: tokens, seconds of media, and how long to wait.

Estimates, for limits, budgets and dry runs; what a call really took is in its reply's usage.
"""

from psychemme.clients.protocol import Request

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 300
TOKENS_PER_VIDEO_SECOND = 300
TOKENS_PER_AUDIO_SECOND = 32
_SECONDS_PER_BASE = 60.0


def text_tokens(text: str) -> int:
    """Return about how many tokens `text` has."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def input_tokens(request: Request) -> int:
    """Return about how many tokens the request has, media included."""
    turns = (turn for pair in request.exchange for turn in pair)
    text = sum(map(text_tokens, (request.system, request.user, *turns)))
    length = _episode_seconds(request)
    per_part = {
        "image": TOKENS_PER_IMAGE,
        "video": round(length * TOKENS_PER_VIDEO_SECOND),
        "audio": round(length * TOKENS_PER_AUDIO_SECOND),
    }
    return text + sum(per_part[part.kind] for part in request.media)


def media_seconds(request: Request) -> float:
    """Return the length of the request's media in seconds: a frame stands for one second."""
    length = _episode_seconds(request)
    return sum(1.0 if part.kind == "image" else length for part in request.media)


def timeout_for(request: Request, base: float) -> float:
    """Return how long to wait for a reply, in seconds: `base`, and as much per minute of media."""
    return base * (1 + media_seconds(request) / _SECONDS_PER_BASE)


def _episode_seconds(request: Request) -> float:
    return float(getattr(request.inputs.get("episode"), "duration", 0.0))
