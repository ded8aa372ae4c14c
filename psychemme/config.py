"""Settings, and the only reader of the environment.

Precedence: command-line flag > `PSYCHEMME_*` > `psychemme.toml` > default. The API key comes from
the environment alone, so that no file of a workspace ever holds it.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError

from psychemme.episode import Value
from psychemme.errors import ConfigError

FILE_NAME = "psychemme.toml"
PREFIX = "PSYCHEMME_"
_ENVIRONMENT_ONLY = frozenset({"api_key"})


class Settings(Value):
    """Every setting with its default: times in seconds, prices in US dollars a million tokens."""

    model: str | None = None
    question_model: str | None = None
    answer_model: str | None = None
    critic_model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_output_tokens: int = Field(default=2048, ge=64)
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=6, ge=0)
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    seed: int = Field(default=42, ge=0, lt=2**63)
    concurrency: int = Field(default=8, ge=1, le=512)
    workers: int = Field(default=2, ge=1)
    asr: str = "auto"
    plan: Path | None = None


@dataclass(frozen=True)
class Effective:
    """Settings in force, and where each came from: flag, environment, file or default."""

    settings: Settings
    origins: Mapping[str, str]


def load_settings(workspace: Path, flags: Mapping[str, object] | None = None) -> Effective:
    """Return the settings in force for `workspace`; flags that are None count as not given.

    Raises ConfigError naming every unknown or invalid setting at once.
    """
    layers: dict[str, dict[str, Any]] = {
        "default": {},
        "file": _from_file(workspace / FILE_NAME),
        "environment": _from_environment(),
        "flag": {k: v for k, v in (flags or {}).items() if v is not None},
    }
    merged: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for origin, layer in layers.items():
        merged |= layer
        origins |= dict.fromkeys(layer, origin)
    try:
        return Effective(Settings.model_validate(merged), origins)
    except ValidationError as error:
        faults = "; ".join(_fault(fault, origins) for fault in error.errors())
        raise ConfigError(f"Settings are not valid: {faults}.", _known()) from None


def key_in(variable: str) -> str | None:
    """Return the API key in the environment variable that a model's card names, if there is one."""
    return os.environ.get(variable) or None


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", "Correct the file.") from error
    if secret := _ENVIRONMENT_ONLY & values.keys():
        name = sorted(secret)[0]
        raise ConfigError(
            f"{path} holds `{name}`, which is never stored in a file.",
            f"Remove it and set {PREFIX}{name.upper()} in the environment.",
        )
    if values.get("plan"):
        values["plan"] = path.parent / values["plan"]
    return values


def stated_width() -> int | None:
    """Return the width in characters that the environment gives the terminal, if it does."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else None


def _from_environment() -> dict[str, Any]:
    names = {f"{PREFIX}{name.upper()}": name for name in Settings.model_fields}
    return {names[key]: value for key, value in os.environ.items() if key in names and value}


def _fault(fault: Any, origins: Mapping[str, str]) -> str:  # noqa: ANN401
    name = str(fault["loc"][0])
    value = "(hidden)" if name in _ENVIRONMENT_ONLY else repr(fault["input"])
    return f"`{name}` = {value} from {origins.get(name, 'flag')}: {fault['msg']}"


def _known() -> str:
    return f"Known settings: {', '.join(Settings.model_fields)}."
