"""How clips are prepared: everything that changes a prepared clip's bytes."""

from pathlib import Path

from pydantic import Field

from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychemme.media.asr_model import MODEL_SHA256, bundled_model, is_bundled_installed
from psychemme.media.blobs import sha256_file

VERSION = 1
"""Raised whenever the same clip and settings would give other results."""


class MediaSettings(Value):
    """Choices of preparation.

    `asr` is `auto` (the bundled recogniser where installed), `bundled`, `off`, or the path of a
    faster-whisper model folder. `max_side` is in pixels, `min_duration` in seconds.
    """

    asr: str = "auto"
    max_side: int = Field(default=512, ge=64)
    min_duration: float = Field(default=1.0, gt=0)
    frames_per_second: float = Field(default=1.0, gt=0)
    most_frames: int = Field(default=64, ge=1)


class AsrModel(Value):
    """A recogniser on disk and what identifies its results."""

    path: Path
    sha256: str


def resolve_asr(settings: MediaSettings, cache_dir: Path) -> AsrModel | None:
    """Return the model that `settings.asr` names; None for `off` and for `auto` without one.

    Raises ConfigError where a named model is missing.
    """
    if settings.asr == "off" or (settings.asr == "auto" and not is_bundled_installed()):
        return None
    if settings.asr in ("auto", "bundled"):
        return AsrModel(path=bundled_model(cache_dir), sha256=MODEL_SHA256)
    weights = Path(settings.asr) / "model.bin"
    if not weights.is_file():
        raise ConfigError(
            f"Speech model {settings.asr!r} is no folder with a `model.bin`.",
            "Name a faster-whisper model folder, `bundled`, `auto` or `off`.",
        )
    return AsrModel(path=weights.parent.absolute(), sha256=sha256_file(weights))
