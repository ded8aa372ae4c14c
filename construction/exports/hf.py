"""A Hugging Face dataset: tables, a card with front matter, and Croissant metadata."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from construction.exports.card import card
from construction.exports.croissant import write_metadata
from construction.exports.source import Source, write_text
from construction.exports.tables import Column, columns, write_tables

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
# The hub's own names for what SPDX spells in capitals.
_LICENCES = frozenset(
    {"mit", "apache-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0"}
    | {"cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "cc-by-3.0", "odc-by", "odbl"}
)


def write(source: Source, folder: Path) -> list[str]:
    """Write `README.md`, `data/*.jsonl` and `croissant.json` below `folder`; return notes."""
    files = write_tables(source, folder)
    write_metadata(source, folder, files)
    head = yaml.safe_dump(_front_matter(source), sort_keys=False, allow_unicode=True)
    write_text(folder / "README.md", f"---\n{head}---\n\n{card(source)}")
    if source.references is None:
        return []
    return ["It holds the references: keep the repository private."]


def _front_matter(source: Source) -> dict[str, object]:
    manifest = source.release.manifest
    tables = columns(source)
    return {
        **_licence(manifest.licence),
        **({"language": list(manifest.languages)} if manifest.languages else {}),
        "pretty_name": source.title,
        "task_categories": ["video-text-to-text", "question-answering", "multiple-choice"],
        "size_categories": [_size(len(source.release.questions))],
        "tags": ["benchmark", "social-interaction", "psychology", "video"],
        "configs": [_config(name) for name in tables],
        "dataset_info": [_info(name, table) for name, table in tables.items()],
    }


def _licence(licence: str) -> dict[str, str]:
    if not licence:
        return {"license": "unknown"}
    if licence.lower() in _LICENCES:
        return {"license": licence.lower()}
    return {"license": "other", "license_name": licence}


def _size(count: int) -> str:
    return next((name for most, name in _SIZES if count < most), "100K<n<1M")


def _config(name: str) -> dict[str, object]:
    default = {"default": True} if name == "questions" else {}
    files = [{"split": "test", "path": f"data/{name}.jsonl"}]
    return {"config_name": name, "data_files": files, **default}


def _info(name: str, table: Mapping[str, Column]) -> dict[str, object]:
    """Return the columns' types, so that a column without values keeps its own."""
    return {"config_name": name, "features": [_feature(*column) for column in table.items()]}


def _feature(name: str, kind: Column) -> dict[str, object]:
    if kind == "strings":
        return {"name": name, "list": "string"}
    if isinstance(kind, str):
        return {"name": name, "dtype": kind}
    return {"name": name, "list": [_feature(*part) for part in kind.items()]}
