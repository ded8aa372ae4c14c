"""The public files for people: the card, the table of licences, the errata.

What sources, reviewers and curators wrote is text here, never markup: every expression of a
template is escaped, except what this module made itself.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from psychemme.episode import Value
from psychemme.release.faults import counted
from psychemme.release.names import Names
from psychemme.release.rows import ErratumRow, ReleaseFacts
from psychemme.release.statistics import Composition
from psychemme.release.versions import parse_version

_TEMPLATES = Path(__file__).parent / "templates"
_MARKUP = re.compile(r"([\\`*_\[\]<>|~$#])")
_LINK = re.compile(r"https?://[^\s<>|\\`]+")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the start of a formula, or strips before looking for one."""
_BLANK_LINES = re.compile(r"\n{3,}")
_SIZES = (1_000, 10_000, 100_000)
_SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M")


class Terms(Value):
    """On what terms a source's clips are used, and how many there are."""

    source: str
    licence: str
    consent: str
    url: str
    clips: int
    questions: int


def card(facts: ReleaseFacts, composition: Composition) -> bytes:
    """Return `README.md`, a dataset card with the front matter that Hugging Face reads."""
    return _render(
        "card.md",
        facts,
        front_matter=Markup(_front_matter(facts, composition)),  # noqa: S704
        numbers=composition.as_json(),
        sources=composition.sources,
        formats=composition.formats,
        capabilities=_capabilities(facts, composition),
        has_words=bool(composition.frequent_words),
        terms=terms(composition),
        count=counted,
        link=lambda url: Markup(f"<{url}>") if _LINK.fullmatch(url) else url,  # noqa: S704
        verbatim=_verbatim,
    )


def errata_page(facts: ReleaseFacts, errata: Sequence[ErratumRow]) -> bytes:
    """Return `ERRATA.md`, the newest version first."""
    versions = sorted({row.version for row in errata}, key=parse_version, reverse=True)
    held = {v: sorted((r for r in errata if r.version == v), key=lambda r: r.id) for v in versions}
    return _render("errata.md", facts, errata=held)


def licences(rows: Iterable[Terms], canary: str) -> bytes:
    """Return `licences.csv`; the canary is a column, so that the file stays a plain table.

    It is made for spreadsheets: a text that one would compute is led by an apostrophe.
    """
    text = io.StringIO(newline="")
    columns = [*Terms.model_fields, "canary"]
    # All is quoted, for a carriage return alone would else end a row.
    table = csv.DictWriter(text, columns, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writeheader()
    for row in rows:
        cells = row.model_dump() | {"canary": canary}
        table.writerow({column: _as_text(cell) for column, cell in cells.items()})
    return text.getvalue().encode()


def _as_text(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def terms(composition: Composition) -> list[Terms]:
    """Return the terms of each source, a row for each that differ."""
    clips: dict[tuple[str, ...], set[str]] = {}
    asked = Counter(question.episode_id for question in composition.questions)
    questions: Counter[tuple[str, ...]] = Counter()
    for row in composition.episodes:
        key = (row.source, row.licence or "", row.consent or "", row.url or "")
        clips.setdefault(key, set()).add(row.sha256)
        questions[key] += asked[row.id]
    fields = ("source", "licence", "consent", "url")
    return [
        Terms.model_validate(
            dict(zip(fields, key, strict=True))
            | {"clips": len(clips[key]), "questions": questions[key]}
        )
        for key in sorted(clips)
    ]


def _capabilities(facts: ReleaseFacts, composition: Composition) -> list[dict[str, Any]]:
    names, rows = Names(facts.profile), []
    for code, held in composition.subcategories.items():
        asked = Counter(q.format for q in composition.questions if q.capability is code)
        counted = [asked[form] for form in composition.formats]
        name = names.capability(code)
        rows.append({"code": code, "name": name, "formats": counted, "all": sum(held.values())})
    return rows


def _front_matter(facts: ReleaseFacts, composition: Composition) -> str:
    size = sum(len(composition.questions) >= border for border in _SIZES)
    fields = {
        "pretty_name": f"{facts.name} {facts.version}",
        "license": facts.licence.lower() or "unknown",
        "language": list(facts.languages),
        "task_categories": ["visual-question-answering", "video-text-to-text"],
        "size_categories": [_SIZE_NAMES[size]],
        "configs": [
            {"config_name": name, "data_files": f"{name}.jsonl", "default": name == "questions"}
            for name in ("questions", "episodes")
        ],
    }
    kept = {name: value for name, value in fields.items() if value}
    return f"---\n{yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)}---"


def _render(template: str, facts: ReleaseFacts, **given: object) -> bytes:
    templates = Environment(  # noqa: S701 - Markdown: `finalize` escapes it, HTML included
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    canary = Markup(f"<!-- canary: {facts.canary} -->")  # noqa: S704
    text = templates.get_template(template).render(facts=facts, canary=canary, **given)
    return (_BLANK_LINES.sub("\n\n", text).strip() + "\n").encode()


def _escaped(value: object) -> object:
    """Return text in one line without the signs that Markdown and HTML read."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    printable = "".join(sign if sign.isprintable() else " " for sign in value)
    return _MARKUP.sub(r"\\\1", " ".join(printable.split()).replace("&", "&amp;"))


def _verbatim(text: str) -> Markup:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return Markup(f"{fence}\n{text.strip()}\n{fence}")  # noqa: S704
