"""From a model's name to the client that answers for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psychemme.clients.cards import KEY_VARIABLE, Cards, EndpointKind, ModelCard, load_cards
from psychemme.clients.protocol import Client
from psychemme.config import key_in
from psychemme.errors import ConfigError

if TYPE_CHECKING:
    from psychemme.clients.openai_compatible import OpenAICompatibleClient

SIGNAL = "signal"
"""The name of the baseline without a language model."""

NO_KEY = "none"
"""What is sent to a server of one's own, which asks for no key."""


@dataclass(frozen=True)
class EndpointSettings:
    """How to reach an OpenAI-compatible endpoint. `timeout_s` is in seconds, for one try.

    Without `base_url` a model's own card says where it is, and `key_in` finds the key that the
    card names; `api_key` goes to `base_url` alone, or where the card names no other.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    max_retries: int = 6
    cards: Cards = field(default_factory=load_cards, repr=False)
    key_in: Callable[[str], str | None] = field(default=key_in, repr=False)


@dataclass(frozen=True)
class Address:
    """Where a model is asked, with which key, and the variable that the key comes from."""

    base_url: str
    api_key: str = field(repr=False)
    key_variable: str = KEY_VARIABLE


def make_client(name: str, settings: EndpointSettings) -> Client:
    """Return the client of the model `name`: `signal`, or one at the endpoint.

    Raises ConfigError where the endpoint's address or key is missing or malformed.
    """
    card = settings.cards.card_for(name)
    # Both are imported late: neither is needed for the other, and the SDK takes a second.
    if card.endpoint is EndpointKind.SIGNAL:
        from psychemme.clients.signal.client import SignalClient

        return SignalClient()
    return openai_client(name, settings)


def openai_client(name: str, settings: EndpointSettings) -> "OpenAICompatibleClient":
    """Return the client of the model `name` at its endpoint; raises ConfigError likewise."""
    from psychemme.clients.openai_compatible import OpenAICompatibleClient

    card = settings.cards.card_for(name)
    address = address_of(card, settings)
    return OpenAICompatibleClient(
        name,
        address.base_url,
        address.api_key,
        settings.timeout_s,
        max_retries=settings.max_retries,
        card=card,
        key_variable=address.key_variable,
    )


def address_of(card: ModelCard, settings: EndpointSettings) -> Address:
    """Return where the model is asked: the address set, else its card's.

    An address of one's own needs no key. A provider's key never goes to another address. Raises
    ConfigError naming the variable to set.
    """
    if settings.base_url:
        return Address(settings.base_url, settings.api_key or NO_KEY)
    if card.base_url is None:
        raise _missing(card, "base URL", "PSYCHEMME_BASE_URL", "http://127.0.0.1:8000/v1")
    key = settings.api_key if card.key_variable == KEY_VARIABLE else None
    if not (key := key or settings.key_in(card.key_variable)):
        raise _missing(card, "API key", card.key_variable, "your key")
    return Address(card.base_url, key, card.key_variable)


def _missing(card: ModelCard, what: str, variable: str, example: str) -> ConfigError:
    return ConfigError(
        f"The model {card.name!r} needs an endpoint, and no {what} is set.",
        f"Set {variable} in the environment (export {variable}='{example}'). The model "
        f"{SIGNAL!r} needs none, but it cannot judge.",
    )
