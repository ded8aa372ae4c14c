"""What an edit changed, word by word; pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from psychemme.items import Answer
from state.review_values import ItemVersion

# A number, a word, a space or a sign; scripts written without spaces are compared sign by sign.
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """A stretch of text that is `same`, `gone` or `new`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Change:
    """A part of an item that differs between two versions."""

    part: str
    pieces: tuple[Piece, ...]


def changes(before: ItemVersion, after: ItemVersion) -> tuple[Change, ...]:
    """Return every part in which two versions of an item differ."""
    old, new = dict(_parts(before)), dict(_parts(after))
    return tuple(
        Change(part, word_diff(old.get(part, ""), new.get(part, "")))
        for part in {**old, **new}
        if old.get(part) != new.get(part)
    )


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """Return `after` against `before` in pieces; what went stands before what came."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces = []
    for action, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if action == "equal":
            pieces.append(Piece("same", "".join(old[a:b])))
            continue
        pieces += [Piece("gone", "".join(old[a:b]))] if b > a else []
        pieces += [Piece("new", "".join(new[c:d]))] if d > c else []
    return tuple(pieces)


def _parts(item: ItemVersion) -> Iterator[tuple[str, str]]:
    yield "question", item.question
    for option in item.options:
        yield f"option {option.id}", option.text
    yield "reference", _answer_text(item.revealed.answer)
    for number, point in enumerate(item.revealed.key_points, 1):
        need = "required" if point.required else "optional"
        yield f"key point {number}", f"{need}: {point.text}"
    for number, cue in enumerate(item.revealed.cues, 1):
        window = f"{cue.modality} {cue.start:g}–{cue.end:g} s"
        yield f"cue {number}", f"{window}: {cue.description}"
    if item.decision_time is not None:
        yield "decision time", f"{item.decision_time:g} s"


def _answer_text(answer: Answer) -> str:
    return answer if isinstance(answer, str) else ", ".join(answer)
