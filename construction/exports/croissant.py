"""Croissant 1.0 metadata beside the tables it describes."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from construction.exports.source import Source, write_text
from construction.exports.tables import WHAT, Column, columns, write_tables
from psychemme.release.read import Release

Tables = Mapping[str, Mapping[str, Column]]
_TYPES = {"string": "sc:Text", "float64": "sc:Float", "bool": "sc:Boolean", "strings": "sc:Text"}
_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex "
    "repeated replace samplingRate separator source subField transform"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


def write(source: Source, folder: Path) -> list[str]:
    """Write `data/*.jsonl` and `croissant.json` below `folder`; return notes."""
    write_metadata(source, folder, write_tables(source, folder))
    if source.date is None:
        return ["The release has no date: croissant.json has no datePublished; give one by --date."]
    return []


def write_metadata(source: Source, folder: Path, files: Mapping[str, Path]) -> None:
    """Write `croissant.json` about `files`, which lie below `folder`."""
    write_text(folder / "croissant.json", _text(source, folder, files, columns(source)))


def release_files(release: Release) -> dict[str, bytes]:
    """Return `croissant.json` about a release's own rows, to lie beside them in its public part."""
    source = Source(release, references=None, date=release.manifest.date, has_videos=False)
    # Facets are an object there, not the list of pairs that a table needs.
    tables = {
        name: {column: kind for column, kind in table.items() if column != "facets"}
        for name, table in columns(source).items()
    }
    folder = release.root / "public"
    files = {name: folder / f"{name}.jsonl" for name in tables}
    return {"croissant.json": _text(source, folder, files, tables).encode()}


def licence_url(licence: str) -> str:
    """Return the address of an SPDX licence; what is an address already stays as it is."""
    if "://" in licence:
        return licence
    return f"https://spdx.org/licenses/{licence}.html" if licence else "unknown"


def _text(source: Source, folder: Path, files: Mapping[str, Path], tables: Tables) -> str:
    metadata = _metadata(source, folder, files, tables)
    return json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"


def _metadata(
    source: Source, folder: Path, files: Mapping[str, Path], tables: Tables
) -> dict[str, object]:
    manifest = source.release.manifest
    dated = {} if source.date is None else {"datePublished": source.date}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": source.slug,
        "description": _description(source),
        "license": licence_url(manifest.licence),
        "version": _three_numbers(manifest.version),
        **dated,
        "creator": {"@type": "sc:Organization", "name": f"The curators of {manifest.name}"},
        "citeAs": manifest.citation or source.title,
        "isLiveDataset": False,
        "distribution": [_file(name, path, folder) for name, path in files.items()],
        "recordSet": [_records(name, table) for name, table in tables.items()],
    }


def _description(source: Source) -> str:
    counts = source.release
    example = " A demonstration: it measures nothing." if counts.manifest.example else ""
    return (
        f"{source.title}: {len(counts.questions)} questions about {len(counts.episodes)} episodes "
        f"of social interaction in videos.{example} Benchmark data, never to be trained on; "
        f"canary {source.canary}"
    )


def _three_numbers(version: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+){0,2}", version):
        return version
    return ".".join([*version.split("."), "0", "0"][:3])


def _file(name: str, path: Path, folder: Path) -> dict[str, object]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}-file",
        "name": f"{name}-file",
        "contentUrl": path.relative_to(folder).as_posix(),
        "encodingFormat": "application/jsonlines",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _records(name: str, table: Mapping[str, Column]) -> dict[str, object]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": WHAT[name],
        "key": {"@id": f"{name}/id"},
        "field": [_field(name, column, kind) for column, kind in table.items()],
    }


def _field(table: str, column: str, kind: Column) -> dict[str, object]:
    place = f"{table}/{column}"
    if not isinstance(kind, str):
        inner = [_part(table, column, part, type_) for part, type_ in kind.items()]
        return {"@type": "cr:Field", "@id": place, "name": column, "repeated": True} | {
            "subField": inner
        }
    listed = {"repeated": True} if kind == "strings" else {}
    return _leaf(place, column, kind, _read(table, column)) | listed


def _part(table: str, column: str, part: str, kind: str) -> dict[str, object]:
    path = {"transform": {"jsonPath": f"$[*].{part}"}}
    return _leaf(f"{table}/{column}/{part}", part, kind, _read(table, column) | path)


def _leaf(place: str, name: str, kind: str, read: Mapping[str, object]) -> dict[str, object]:
    return {
        "@type": "cr:Field",
        "@id": place,
        "name": name,
        "dataType": _TYPES[kind],
        "source": dict(read),
    }


def _read(table: str, column: str) -> dict[str, object]:
    return {"fileObject": {"@id": f"{table}-file"}, "extract": {"column": column}}
