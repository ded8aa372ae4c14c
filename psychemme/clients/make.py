"""From a model's name to the client that answers for it."""

from dataclasses import dataclass, field

from psychemme.clients.protocol import Client
from psychemme.errors import ConfigError

SIGNAL = "signal"
"""The name of the baseline without a language model."""


@dataclass(frozen=True)
class EndpointSettings:
    """How to reach an OpenAI-compatible endpoint. `timeout_s` is in seconds, for one try."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    max_retries: int = 6


def make_client(name: str, settings: EndpointSettings) -> Client:
    """Return the client of the model `name`: `signal`, or one at the endpoint.

    Raises ConfigError where the endpoint's address or key is missing or malformed.
    """
    # Both are imported late: neither is needed for the other, and the SDK takes a second.
    if name == SIGNAL:
        from psychemme.clients.signal.client import SignalClient

        return SignalClient()
    from psychemme.clients.openai_compatible import OpenAICompatibleClient

    return OpenAICompatibleClient(
        name,
        _given(
            name, "base URL", "PSYCHEMME_BASE_URL", settings.base_url, "http://127.0.0.1:8000/v1"
        ),
        _given(name, "API key", "PSYCHEMME_API_KEY", settings.api_key, "your key"),
        settings.timeout_s,
        max_retries=settings.max_retries,
    )


def _given(name: str, what: str, variable: str, value: str | None, example: str) -> str:
    if value:
        return value
    raise ConfigError(
        f"The model {name!r} needs an endpoint, and no {what} is set.",
        f"Set {variable} in the environment (export {variable}='{example}'), "
        f"or use --model {SIGNAL}, which needs none.",
    )
