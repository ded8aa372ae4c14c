"""How a model is reached, what it costs and what its endpoint bears, from settings and cards."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from psychemme.clients.budget import Price
from psychemme.clients.cards import Cards
from psychemme.clients.limits import Limits
from psychemme.clients.make import SIGNAL, EndpointSettings
from psychemme.config import Settings
from psychemme.errors import ConfigError


def endpoint_of(settings: Settings, cards: Cards) -> EndpointSettings:
    """Return how to reach the endpoint that `settings` name, or else the models' own."""
    key = settings.api_key
    return EndpointSettings(
        base_url=settings.base_url,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.timeout,
        max_retries=settings.max_retries,
        cards=cards,
    )


@dataclass(frozen=True)
class Terms:
    """What a model costs, None where nobody knows, and what its endpoint bears."""

    price: Price | None = None
    limits: Limits = field(default_factory=Limits)


def terms_of(model: str, settings: Settings, cards: Cards) -> Terms:
    """Return the terms of `model`: what `settings` say of the endpoint goes before its card."""
    if model == SIGNAL:
        return Terms(price=Price(0.0, 0.0))
    given = (settings.input_price, settings.output_price)
    card = cards.card_for(model)
    listed = Price(card.price.input, card.price.output) if card.price else None
    price = listed if None in given else Price(*(value or 0.0 for value in given))
    limits = Limits(None, settings.requests_per_minute, settings.tokens_per_minute)
    return Terms(price, limits.strictest(Limits(**card.limits.model_dump())))


def refuse_unknown_prices(models: Iterable[str], settings: Settings, cards: Cards) -> None:
    """Raise ConfigError naming every model whose price is unknown: no budget could hold it."""
    terms = {name: terms_of(name, settings, cards) for name in models}
    unknown = sorted(name for name, one in terms.items() if one.price is None)
    if unknown:
        raise ConfigError(
            f"A budget needs prices, and none is known for {', '.join(unknown)}.",
            "Set PSYCHEMME_INPUT_PRICE and PSYCHEMME_OUTPUT_PRICE (US dollars per million tokens; "
            "0 for a server of your own), or leave out --budget.",
        )
