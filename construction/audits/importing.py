"""Items that people wrote elsewhere, one JSON object a line: ours, or as Social-IQ names its keys.

They are audited, never reviewed or frozen: a release is made of candidates that can be traced.
"""

import codecs
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from construction.audits.values import AuditItem
from psychemme.canonical import canonical_json, strict_json
from psychemme.errors import UserError
from psychemme.release.faults import counted, listed
from psychemme.vocabulary import Format

_KNOWN_AS = {"qid": "id", "q": "question", "vid_name": "episode_id", "answer_idx": "answer"}
_UNUSED = frozenset({"ts", "canary"})
_NUMBERED = re.compile(r"a(\d+)")
_FIX = "Correct the lines named; docs/audits.md shows a row of each kind."
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,99}")


def of_jsonl(path: Path) -> list[AuditItem]:
    """Return the items of a JSON Lines file, in its order.

    Raises UserError with every line that is no item, and where two items share an id.
    """
    items: list[AuditItem] = []
    faults: list[str] = []
    lines_of: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            item = AuditItem.model_validate(_item(strict_json(line)))
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            faults.append(f"line {number}: {place}: {fault['msg']}")
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number}: {error}")
        else:
            if (first := lines_of.setdefault(item.id, number)) != number:
                faults.append(f"line {number}: the id {item.id!r} is that of line {first}")
            items.append(item)
    if faults:
        problem = f"{path}: {counted(len(faults), 'line')} cannot be read as items"
        raise UserError(f"{problem}: {listed(faults)}.", _FIX)
    if not items:
        raise UserError(f"{path} holds no item.", _FIX)
    return items


def import_items(source: Path, folder: Path, name: str | None = None) -> tuple[Path, int]:
    """Write the items of `source` into `folder` in one form; return the file and their number.

    It is named after `source` where no `name` is given. The same items may be imported again.
    Raises UserError where others have that name, or where `source` holds a line that is no item.
    """
    called = name or source.name.removesuffix(".jsonl")
    if not _NAME.fullmatch(called):
        raise UserError(f"{called!r} is no plain name.", "Give one of letters and digits: --name.")
    items = of_jsonl(source)
    text = "".join(
        canonical_json(item.model_dump(mode="json", exclude_defaults=True)) + "\n" for item in items
    )
    target = folder / f"{called}.jsonl"
    if target.exists() and target.read_text(encoding="utf-8") != text:
        raise UserError(f"{target} holds other items.", "Choose another name with --name.")
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(target)
    return target, len(items)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if line.strip():
                    yield number, line
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error


def _item(row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError("is no JSON object")
    numbered = {str(key): value for key, value in row.items() if _NUMBERED.fullmatch(str(key))}
    kept: dict[str, Any] = {}
    given: dict[str, str] = {}
    for key, value in row.items():
        if key in numbered or key in _UNUSED:
            continue
        name = str(_KNOWN_AS.get(key, key))
        if (other := given.setdefault(name, key)) != key:
            raise ValueError(f"{' and '.join(sorted((key, other)))} say the same; give one")
        kept[name] = value
    if numbered:
        if "options" in kept:
            raise ValueError(f"options and {min(numbered)} say the same; give one")
        kept["options"] = _in_order(numbered)
    for name in ("id", "episode_id"):
        if isinstance(kept.get(name), int):
            kept[name] = str(kept[name])
    plain = kept.get("options", [])
    kept["options"] = _options(plain)
    kept.setdefault("format", _format(kept))
    if kept.get("answer") is None:
        raise ValueError("answer: is missing")
    if given["answer"] == "answer_idx":
        kept["answer"] = _place(kept["answer"])
    _refuse_two(kept["answer"], plain)
    kept["answer"] = _answer(kept["answer"], kept["options"])
    return kept


def _in_order(numbered: Mapping[str, object]) -> list[object]:
    wanted = [f"a{place}" for place in range(len(numbered))]
    if numbered.keys() != set(wanted):
        found = ", ".join(sorted(numbered))
        raise ValueError(f"the options {found} are not a0 to {wanted[-1]}: what is their order?")
    return [numbered[key] for key in wanted]


def _options(given: object) -> list[Any]:
    if not isinstance(given, list) or len(given) > len(string.ascii_uppercase):
        raise ValueError("options: give a list of 26 at most")
    if odd := [one for one in given if not isinstance(one, str | dict)]:
        raise ValueError(f"options: {odd[0]!r} is neither a text nor an object")
    return [
        {"id": letter, "text": one} if isinstance(one, str) else one
        for letter, one in zip(string.ascii_uppercase, given, strict=False)
    ]


def _format(row: Mapping[str, Any]) -> str:
    if not row["options"]:
        return Format.OPEN
    return Format.MULTIPLE if isinstance(row.get("answer"), list) else Format.SINGLE


def _refuse_two(answer: object, options: Sequence[object]) -> None:
    """Raise ValueError where the letter of one option is the text of another."""
    named: dict[object, object] = dict(zip(string.ascii_uppercase, options, strict=False))
    for one in answer if isinstance(answer, list) else [answer]:
        if isinstance(one, str) and one in options and named.get(one, one) != one:
            raise ValueError(f"answer: {one!r} is one option's letter and another's text")


def _place(given: object) -> object:
    """Return a place from 0 that may be written as a text."""
    if isinstance(given, list):
        return [_place(one) for one in given]
    if isinstance(given, str) and not given.isdecimal():
        raise ValueError(f"answer_idx: {given!r} is no place from 0")
    return int(given) if isinstance(given, str) else given


def _answer(given: object, options: Sequence[Mapping[str, Any]]) -> object:
    """Return an answer by option id; it may be a place from 0, or the text of an option."""
    if isinstance(given, list):
        return [_answer(one, options) for one in given]
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 <= given < len(options):
            raise ValueError(f"answer: there is no option {given}; the first is 0")
        return options[given].get("id")
    ids = [option.get("id") for option in options]
    if isinstance(given, str) and given not in ids:
        alike = [option.get("id") for option in options if option.get("text") == given]
        return alike[0] if len(alike) == 1 else given
    return given
