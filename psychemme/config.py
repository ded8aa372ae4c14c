"""Settings, and the only reader of the environment.

Precedence: command-line flag > `PSYCHEMME_*` > `psychemme.toml` > default. The API key comes from
the environment alone, so that no file of a workspace ever holds it; passwords of a database come
from the environment or from a file that only its owner may read.
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError, field_validator

from psychemme.episode import Value
from psychemme.errors import ConfigError

FILE_NAME = "psychemme.toml"
PREFIX = "PSYCHEMME_"
SECRETS_VARIABLE = f"{PREFIX}DATABASE_SECRETS"
PASSWORD_PREFIX = f"{PREFIX}DATABASE_PASSWORD_"
_ENVIRONMENT_ONLY = frozenset({"api_key"})
_HIDDEN = _ENVIRONMENT_ONLY | {"database", "base_url", "media"}
_DATABASE = re.compile(
    r"postgresql://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/[A-Za-z_][A-Za-z0-9_-]{0,62}"
)


def without_secrets(uri: str | None) -> str | None:
    """Return `uri` as given; raises ValueError where a part of it could hold a key.

    Settings are shown by `doctor` and sent to the workers of a cluster.
    """
    # Anywhere: a password may hold a slash. A file's own name may hold all of these.
    if uri is not None and not uri.startswith("file:///") and re.search("[@?#]", uri):
        raise ValueError("must hold no user, password, query or fragment, where keys are kept")
    return uri


class Settings(Value):
    """Every setting with its default: times in seconds, prices in US dollars a million tokens."""

    model: str | None = None
    question_model: str | None = None
    answer_model: str | None = None
    critic_model: str | None = None
    embedding_model: str | None = None
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
    media: str | None = None
    database: str | None = None
    database_admin: str = "postgres"

    _names_no_key = field_validator("base_url", "media")(without_secrets)

    @field_validator("database")
    @classmethod
    def _names_no_secret(cls, value: str | None) -> str | None:
        if value is not None and not _DATABASE.fullmatch(value):
            raise ValueError("must be postgresql://host:port/name, without a user or a password")
        return value


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


def database_passwords(logins: Iterable[str]) -> dict[str, SecretStr]:
    """Return the passwords of the `logins` that have one: the environment wins over the file.

    Raises ConfigError where the file is readable by others, is no TOML or names something else.
    """
    known = tuple(logins)
    file = os.environ.get(SECRETS_VARIABLE)
    found = _secrets_in(Path(file), known) if file else {}
    given = {login: os.environ.get(f"{PASSWORD_PREFIX}{login.upper()}") for login in known}
    found |= {login: password for login, password in given.items() if password}
    return {login: SecretStr(password) for login, password in found.items()}


def _secrets_in(path: Path, known: tuple[str, ...]) -> dict[str, str]:
    rule = f'{SECRETS_VARIABLE} names a TOML file of role = "password" for {", ".join(known)}.'
    try:
        others = stat.S_IMODE(path.stat().st_mode) & 0o077
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # What the file holds stays out of the message.
        raise ConfigError(f"{path} cannot be read ({type(error).__name__}).", rule) from None
    if others:
        raise ConfigError(f"{path} may be read by others.", f"Run `chmod 600 {path}`.")
    if unknown := sorted(values.keys() - set(known)):
        raise ConfigError(f"{path} names `{unknown[0]}`, which is no role.", rule)
    if any(not isinstance(value, str) or not value for value in values.values()):
        raise ConfigError(f"{path} holds something that is no password.", rule)
    return values


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
    value = "(hidden)" if name in _HIDDEN else repr(fault["input"])
    return f"`{name}` = {value} from {origins.get(name, 'flag')}: {fault['msg']}"


def _known() -> str:
    return f"Known settings: {', '.join(Settings.model_fields)}."
