"""Read a profile's folder into values; every fault of a file is named at once."""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import yaml
from pydantic import ValidationError

from psychemme.episode import Value
from psychemme.errors import ConfigError
from psychology_kb.cards import (
    CapabilityCard,
    Distinction,
    Domain,
    KnowledgeBase,
    Norm,
    Reason,
    ReviewForm,
    Subcategory,
    Trigger,
    Verdict,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "CapabilityCard",
    "Distinction",
    "Domain",
    "KnowledgeBase",
    "Norm",
    "Reason",
    "ReviewForm",
    "Subcategory",
    "Trigger",
    "Verdict",
    "load_profile",
    "load_review",
    "profiles",
    "read_review",
    "read_taxonomy",
]

ROOT = Path(__file__).parent
_ENTRY = re.compile(r"^\s*@\w+\s*\{\s*([^,\s]+)\s*,", re.MULTILINE)
_Read = TypeVar("_Read", bound=Value)


class _StrictLoader(yaml.SafeLoader):
    """YAML that refuses a key given twice; PyYAML would keep the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise yaml.YAMLError(f"key {twice[0]!r} is given twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def profiles() -> tuple[str, ...]:
    """Return the ids of the profiles at hand, sorted."""
    return tuple(sorted(path.parent.name for path in ROOT.glob("*/taxonomy.yaml")))


@cache
def load_profile(profile_id: str) -> KnowledgeBase:
    """Return the knowledge base of `profile_id`.

    Raises ConfigError for an unknown id, and for a file with unknown keys or dangling references.
    """
    return read_taxonomy(_folder(profile_id))


@cache
def load_review(profile_id: str) -> ReviewForm:
    """Return the review form of `profile_id`; raises ConfigError as `load_profile` does."""
    return read_review(_folder(profile_id))


def read_taxonomy(folder: Path) -> KnowledgeBase:
    """Return the knowledge base kept in `folder`; raises ConfigError naming every fault."""
    return _read(folder, "taxonomy.yaml", KnowledgeBase)


def read_review(folder: Path) -> ReviewForm:
    """Return the review form kept in `folder`; raises ConfigError naming every fault."""
    return _read(folder, "review.yaml", ReviewForm)


def _folder(profile_id: str) -> Path:
    if profile_id not in profiles():
        known = ", ".join(profiles())
        raise ConfigError(f"There is no profile {profile_id!r}.", f"Use one of: {known}.")
    return ROOT / profile_id


def _read(folder: Path, name: str, model: type[_Read]) -> _Read:
    raw = _parse(folder / name)
    context = {
        "citation": _citations(folder / "references.bib"),
        "subcategory": _ids(raw, "subcategories"),
        "domain": _ids(raw, "domains"),
    }
    try:
        read = model.model_validate(raw, context=context)
    except ValidationError as error:
        raise _refusal(folder / name, [_fault(item) for item in error.errors()]) from None
    if (found := getattr(read, "id", None)) != folder.name:
        raise _refusal(folder / name, [f"id: {found!r} is not the folder's name {folder.name!r}"])
    return read


def _parse(path: Path) -> object:
    try:
        # The loader below is a SafeLoader.
        return yaml.load(path.read_text("utf-8"), _StrictLoader)  # noqa: S506
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _refusal(path, [str(error)]) from None


def _citations(path: Path) -> set[str]:
    try:
        keys = _ENTRY.findall(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, [str(error)]) from None
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise _refusal(path, [f"{key}: key is given twice" for key in twice])
    return set(keys)


def _ids(raw: object, key: str) -> set[object]:
    """Collect the ids of all entries under `key`, at any depth of a file not yet validated."""
    if isinstance(raw, list):
        return {found for item in raw for found in _ids(item, key)}
    if not isinstance(raw, dict):
        return set()
    entries = raw.get(key)
    own = entries if isinstance(entries, list) else []
    ids = {str(entry["id"]) for entry in own if isinstance(entry, dict) and "id" in entry}
    return ids.union(*(_ids(value, key) for value in raw.values()))


def _fault(item: "ErrorDetails") -> str:
    where = ".".join(str(part) for part in item["loc"])
    rule = item["msg"].removeprefix("Value error, ")
    return f"{where}: {rule}" if where else rule


def _refusal(path: Path, faults: list[str]) -> ConfigError:
    listed = "\n".join(f"  - {fault}" for fault in faults)
    return ConfigError(f"{path} cannot be used:\n{listed}\n", "Correct each entry and try again.")
