"""Find the JSON objects in a reply, including those JSON itself would refuse.

What models print instead of JSON and is read here: trailing commas, single or curly quotes,
unescaped quotes and line breaks inside strings, Python literals, comments, bare keys, full-width
punctuation. An object is repaired token by token in one pass and never completed: what does not
close is no object. Reading takes time linear in the text up to a fixed number of tries.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

MOST_TRIES = 500
"""Places in a reply where an object is looked for."""

MOST_READ = 600_000
"""Characters read in places that held none."""

DEEPEST = 8
"""Levels of nesting that are repaired."""

_BRACE = re.compile(
    r"[{｛](?=\s{0,100}(?:[\"'“}]|//|/\*|#))"
    # A brace right after a word is LaTeX: only there could `{Answer: B}` be anything but an object.
    r"|(?<!\w)[{｛](?=\s{0,100}\w{1,30}\s{0,20}[:：])"
)
# A quote ends its string only where JSON could go on; any other is part of what it quotes.
_ENDS = (
    r"(?=\s*+(?:[}\]:｝］：]|\Z|//|/\*|[,，]\s*+(?:[\"'“}\]{\[]|//|/\*|\#|\w{1,30}\s{0,20}[:：]"
    r"|(?:null|none|true|false)\b|-?\d)))"
)
_TOKEN = re.compile(
    r"(?P<skip>\s++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/)){0,500}+\*/)"
    r"|(?P<mark>[{}\[\]:,｛｝［］：，])"
    rf'|"(?P<double>(?:[^"\\]++|\\.|"(?!{_ENDS}))*+)"'
    rf"|'(?P<single>(?:[^'\\]++|\\.|'(?!{_ENDS}))*+)'"
    r"|“(?P<curly>[^”]*+)”"
    r"|(?P<bare>[^\s{}\[\]:,｛｝［］：，\"'“]++)",
    re.DOTALL | re.IGNORECASE,
)
_NARROW = str.maketrans("｛｝［］：，", "{}[]:,")
_ESCAPE = re.compile(r'\\(?:(u[0-9a-f]{4}|["\\/bfnrt])|(.))', re.DOTALL | re.IGNORECASE)
_LITERALS = {"null": "null", "none": "null", "true": "true", "false": "false"}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?", re.ASCII)


@dataclass(frozen=True)
class Pairs:
    """One object as its keys and values in order, so that a repeated key is seen."""

    items: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Found:
    """An object that has the asked-for key, and the place it was read from."""

    pairs: Pairs
    start: int
    end: int


def objects_with(key: str, text: str) -> Iterator[Found]:
    """Yield the outermost objects in `text` that have `key`, in order; case is ignored.

    An object without the key is searched for objects inside it. Stops silently at the bounds
    above: what is past them is not read, which callers see as an absent object.
    """
    position = tries = read = 0
    while (brace := _BRACE.search(text, position)) and tries < MOST_TRIES and read < MOST_READ:
        start = brace.start()
        value, end = _read(text, start)
        tries, read, position = tries + 1, read + end - start, start + 1
        if value is not None and any(name.strip().casefold() == key for name, _ in value.items):
            yield Found(value, start, end)
            position = end


def _read(text: str, start: int) -> tuple[Pairs | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        return None, len(text)
    except ValueError:
        return _read_repaired(text, start)
    return (value if isinstance(value, Pairs) else None), end


def _read_repaired(text: str, start: int) -> tuple[Pairs | None, int]:
    tokens, end = _strict_tokens(text, start)
    try:
        value = _DECODER.decode("".join(tokens))
    except (ValueError, RecursionError):
        return None, end
    return (value if isinstance(value, Pairs) else None), end


def _strict_tokens(text: str, start: int) -> tuple[Sequence[str], int]:
    """Return the object's tokens as JSON spells them, up to the brace that closes it."""
    tokens: list[str] = []
    depth, position = 0, start
    while token := _TOKEN.match(text, position):
        position = token.end()
        if token.lastgroup == "skip":
            continue
        if token.lastgroup == "mark":
            mark = token[0].translate(_NARROW)
            if mark in "}]" and tokens[-1] == ",":
                tokens.pop()
            depth += (mark in "{[") - (mark in "}]")
            tokens.append(mark)
            if depth == 0 or depth > DEEPEST:
                break
        else:
            tokens.append(_scalar(token))
    return tokens, position


def _scalar(token: re.Match[str]) -> str:
    if token.lastgroup != "bare":
        return json.dumps(_ESCAPE.sub(_unescaped, token[token.lastgroup or 0]))
    word = token[0]
    if _NUMBER.fullmatch(word):
        return word
    return _LITERALS.get(word.casefold()) or json.dumps(word)


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return str(json.loads(f'"\\{escape[1].lower()}"'))
    # JSON has no such escape: LaTeX keeps its backslash, a quote loses it.
    return escape[2] if escape[2] in "'\n" else escape[0]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _pairs(items: list[tuple[str, object]]) -> Pairs:
    return Pairs(tuple(items))


# Numbers stay text: none is calculated with, and their digits may be an option's words.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_int=str,
    parse_float=str,
    parse_constant=_no_constant,
    strict=False,
)
