"""What a model accepts, costs and bears: one capability card per model, in `cards.yaml`.

A workspace may override or add cards in its own `models.yaml`, which has the same form;
`cards.schema.json` beside this module is the schema of both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from psychemme.canonical import digest
from psychemme.config import without_secrets
from psychemme.episode import Value
from psychemme.errors import ConfigError

FILE_NAME = "models.yaml"
KEY_VARIABLE = "PSYCHEMME_API_KEY"
_BUILT_IN = Path(__file__).parent / "cards.yaml"
_FIX = "Correct the file; docs/models.md describes it, and cards.schema.json is its schema."
_NOT_SENT = frozenset({"aliases", "provider", "family", "price", "limits", "notes", "open_weights"})


class EndpointKind(StrEnum):
    """What answers for a model."""

    OPENAI_COMPATIBLE = "openai_compatible"
    SIGNAL = "signal"


class JsonMode(StrEnum):
    """How an endpoint can be held to JSON, strictest first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"


class PartShape(StrEnum):
    """How a medium is spelled in a message; `docs/models.md` shows the JSON of each."""

    IMAGE_URL = "image_url"
    VIDEO_URL = "video_url"
    AUDIO_URL = "audio_url"
    INPUT_AUDIO = "input_audio"
    INPUT_AUDIO_URL = "input_audio_url"


class TokenLimit(StrEnum):
    """What an endpoint calls the limit of output tokens."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class Parts(Value):
    """The shape of each medium."""

    image: PartShape = PartShape.IMAGE_URL
    video: PartShape = PartShape.VIDEO_URL
    audio: PartShape = PartShape.INPUT_AUDIO


class ImageLimits(Value):
    """How many images a request may hold, their longest side in pixels and their bytes each.

    `most` of 0 is a model that sees nothing; None is no limit.
    """

    most: int | None = Field(default=None, ge=0)
    max_side: int | None = Field(default=None, ge=32)
    max_bytes: int | None = Field(default=None, ge=1024)


class CardPrice(Value):
    """US dollars per million tokens, and where they were read."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    source: str = ""


class CardLimits(Value):
    """What the endpoint bears, per minute where it says so; None is no limit."""

    concurrency: int | None = Field(default=None, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)


class ModelCard(Value):
    """One model at one kind of endpoint.

    `family` is the lab's line of models, for marking a model that judges its kin. `key_variable`
    goes to `base_url` alone: an address of one's own gets `PSYCHEMME_API_KEY`. `max_media_bytes`
    bounds one video or audio part; `extra_body` is sent with every request. `price` is None where
    it is unknown.
    """

    name: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    provider: str = "local"
    family: str = "unknown"
    open_weights: bool = False
    endpoint: EndpointKind = EndpointKind.OPENAI_COMPATIBLE
    base_url: str | None = None
    key_variable: str = Field(default=KEY_VARIABLE, pattern=r"^[A-Z][A-Z0-9_]*$")
    native_video: bool = False
    native_audio: bool = False
    parts: Parts = Parts()
    images: ImageLimits = ImageLimits()
    max_media_bytes: int | None = Field(default=None, ge=1024)
    json_mode: JsonMode = JsonMode.NONE
    context_tokens: int | None = Field(default=None, ge=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    token_limit: TokenLimit = TokenLimit.MAX_TOKENS
    supports_seed: bool = True
    supports_temperature: bool = True
    extra_body: Mapping[str, JsonValue] = {}
    price: CardPrice | None = None
    limits: CardLimits = CardLimits()
    notes: str = ""
    is_generic: bool = False

    _names_no_key = field_validator("base_url")(without_secrets)

    @property
    def hash(self) -> str:
        """Return the SHA-256 of what shapes this model's requests (hex)."""
        return digest(self.model_dump(mode="json", exclude=set(_NOT_SENT)))


class CardFile(Value):
    """A file of cards; names and aliases are unique, whatever their case."""

    cards: tuple[ModelCard, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> "CardFile":
        seen: set[str] = set()
        for names in map(_names, self.cards):
            if twice := sorted(seen & names):
                raise ValueError(f"{twice[0]!r} names two cards")
            seen |= names
        return self


@dataclass(frozen=True)
class Cards:
    """Every known card, in the order of the files."""

    all: tuple[ModelCard, ...]

    def card_for(self, name: str) -> ModelCard:
        """Return the card that `name` or an alias names, else the generic card of that name."""
        wanted = name.casefold()
        found = next((card for card in self.all if wanted in _names(card)), None)
        return found or generic_card(name)


def load_cards(workspace: Path | None = None) -> Cards:
    """Return the built-in cards, overridden and joined by those of the workspace's `models.yaml`.

    A card there replaces the built-in one of the same name as a whole, and takes the names it
    claims from any other. Raises ConfigError naming every fault of the file.
    """
    if workspace is None or not (path := workspace / FILE_NAME).exists():
        return _built_in()
    own = _read(path).cards
    claimed = {name for card in own for name in _names(card)}
    return Cards((*own, *(_without(card, claimed) for card in _built_in().all
                          if card.name.casefold() not in claimed)))  # fmt: skip


def card_for(name: str, workspace: Path | None = None) -> ModelCard:
    """Return the card of the model `name`; the generic one where no file knows it."""
    return load_cards(workspace).card_for(name)


def generic_card(name: str) -> ModelCard:
    """Return what may be assumed of any model: frames, no JSON mode, no known price.

    Raises ConfigError where the name is empty.
    """
    if not name.strip():
        raise ConfigError("A model's name is empty.", "`psychemme models list` shows known names.")
    notes = (
        "No card is known for this model: it gets frames and no native video or audio, no JSON "
        f"mode, and its price is unknown. Describe it in {FILE_NAME} of the workspace."
    )
    return ModelCard(name=name, provider="unknown", notes=notes, is_generic=True)


def schema_text() -> str:
    """Return the text of `cards.schema.json`."""
    return json.dumps(CardFile.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


@cache
def _built_in() -> Cards:
    return Cards(_read(_BUILT_IN).cards)


def _read(path: Path) -> CardFile:
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return CardFile.model_validate(content)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'file'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise ConfigError(f"{path} is no file of model cards: {faults}.", _FIX) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", _FIX) from None


def _names(card: ModelCard) -> frozenset[str]:
    return frozenset(name.casefold() for name in (card.name, *card.aliases))


def _without(card: ModelCard, claimed: set[str]) -> ModelCard:
    kept = tuple(alias for alias in card.aliases if alias.casefold() not in claimed)
    return card if kept == card.aliases else card.model_copy(update={"aliases": kept})
