"""`run.json`: everything that a run's responses depend on, written once and pinned."""

import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from evaluation.inputs import InputPolicy
from psychemme.canonical import canonical_json
from psychemme.episode import Value
from psychemme.errors import ReleaseError, RunError
from psychemme.media.blobs import write_whole
from psychemme.release.read import Release, read_release

FILE_NAME = "run.json"
ORDERS = "orders"
SCHEMA_VERSION = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAY_CHANGE = frozenset({"release_path", "versions"})


class ReleaseName(Value):
    """Which release a run is about; `checksum` stands for its public files."""

    name: str
    version: str
    checksum: str
    is_example: bool


class Decoding(Value):
    """How replies are decoded; `thinking` says who decides whether a model thinks first."""

    temperature: float = 0.0
    max_output_tokens: int = 768
    thinking: str = "left to the endpoint"


class RunManifest(Value):
    """A run of one model under one condition.

    `items` are the planned item ids in the order they are asked, the denominator of every score;
    `donors` maps items to those whose history they got. `is_self` marks a model that made the
    items, `is_human` a person. `seed` and `chance`, the answer credit it can expect (0 to 1), are
    the random baseline's.
    """

    schema_version: int = SCHEMA_VERSION
    model: str
    family: str = "unknown"
    condition: str
    release: ReleaseName
    release_path: str
    policy: InputPolicy
    card: Mapping[str, JsonValue]
    prompts: Mapping[str, str]
    decoding: Decoding | None
    items: tuple[str, ...]
    donors: Mapping[str, str] = {}
    is_self: bool = False
    is_human: bool = False
    seed: int | None = None
    chance: float | None = None
    versions: Mapping[str, str] = {}

    @property
    def is_ranked(self) -> bool:
        """Whether it competes: people do not, nor who made the items."""
        return not (self.is_self or self.is_human)

    def changes(self, other: "RunManifest") -> list[str]:
        """Return how `other` differs in what a run pins."""
        mine, theirs = self.model_dump(mode="json"), other.model_dump(mode="json")
        return [
            f"{name} was {_short(mine[name])}, is {_short(theirs[name])}"
            for name in mine
            if name not in _MAY_CHANGE and mine[name] != theirs[name]
        ]


def release_name(release: Release) -> ReleaseName:
    """Return what identifies `release` in a manifest."""
    facts = release.manifest
    return ReleaseName(
        name=facts.name,
        version=facts.version,
        checksum=release.checksum,
        is_example=facts.example,
    )


def tool_versions() -> dict[str, str]:
    """Return the versions of what makes a run."""
    return {name: version(name) for name in ("psychemme", "openai", "av")}


def folder_name(release: Release, model: str, condition: str) -> str:
    """Return the name of a run's folder, safe on every file system."""
    return "-".join(
        _UNSAFE.sub("_", part).strip(".") or "_"
        for part in (release.manifest.name, model, condition)
    )


def order_folder(folder: Path, number: int) -> Path:
    """Return where the run at `folder` keeps the same questions in option order `number`."""
    return folder if number == 0 else folder / ORDERS / str(number)


def order_folders(folder: Path) -> list[Path]:
    """Return the runs of every option order that the run at `folder` has, its own first."""
    numbered = (order_folder(folder, number) for number in count())
    return list(takewhile(lambda each: (each / FILE_NAME).exists(), numbered))


def write_manifest(folder: Path, manifest: RunManifest) -> None:
    """Write `run.json` of a run."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_whole(folder / FILE_NAME, f"{text}\n".encode())


def read_manifest(folder: Path, *, any_order: bool = False) -> RunManifest:
    """Return the manifest of the run at `folder`.

    Raises RunError where there is none, or where it is one of another run's option orders, which
    is no model of its own; those are read with `any_order` only.
    """
    manifest = _read(folder)
    if manifest.policy.order and not any_order:
        raise RunError(
            f"{folder} asks in option order {manifest.policy.order} for the run that holds it.",
            f"Name {folder.parent.parent}: `psychemme score` prints its spread over orders.",
        )
    return manifest


def _read(folder: Path) -> RunManifest:
    path = folder / FILE_NAME
    try:
        content: Any = json.loads(path.read_bytes())
        made_by = content["schema_version"]
        if made_by == SCHEMA_VERSION:
            return RunManifest.model_validate(content)
    except FileNotFoundError:
        raise RunError(
            f"{folder} is not a run.", "Name a folder that `psychemme evaluate` made."
        ) from None
    except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
        why = str(error).splitlines()[0]
        raise RunError(f"{path} cannot be read: {why}.", "Evaluate again.") from None
    raise RunError(
        f"{path} has schema version {made_by}; this reads {SCHEMA_VERSION}.",
        "Use a version of psychemme that reads it.",
    )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes from working on the run at `folder`; raises RunError where one does."""
    with (folder / FILE_NAME).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(
                f"Another process works on {folder}.", "Wait for it to end, or stop it."
            ) from None
        yield


def release_of(manifest: RunManifest, given: Path | None = None) -> Release:
    """Return the release that a run is about, at `given` or where it was.

    Raises ReleaseError where its checksum is another.
    """
    path = given or Path(manifest.release_path)
    release = read_release(path)
    refuse_other_release(manifest, release)
    return release


def refuse_other_release(manifest: RunManifest, release: Release) -> None:
    """Raise ReleaseError unless `release` is the one the run is about."""
    if release.checksum != manifest.release.checksum:
        raise ReleaseError(
            f"The release at {release.root} has checksum {release.checksum[:12]}…; the run is "
            f"about {manifest.release.checksum[:12]}… ({manifest.release.name} "
            f"{manifest.release.version}).",
            "Name the run's own release with --release.",
        )


def _short(value: object) -> str:
    text = canonical_json(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
