r"""The choice fallback: read the option that a reply without JSON explicitly states.

It serves models that cannot write JSON, and reads statements only: `Answer: B`, `the answer is
(B)`, `\boxed{B}`, `<answer>B</answer>`, `答案是B`, or a line that is nothing but an option. A
letter mentioned in passing is never read. The last statement decides; one that cannot be resolved,
or is taken back later, leaves the reply without an answer. Time is linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from evaluation.extraction.choices import Choices, Ids
from evaluation.extraction.failures import Failure, Unreadable
from evaluation.extraction.text import plain

MOST_STATEMENTS = 200
"""Statements read, from the last one backwards."""

LONGEST_STATEMENT = 1_000
"""Characters read of one statement."""

_PRAISE = (
    r"(?:(?:most|single|likely|appropriate|accurate|suitable|plausible|best|correct|right|closest"
    r"|final|only|and)\s){%s,5}"
)
_IS = r"(?:is|are|would be|should be|must be|will be|=)(?![A-Za-z])"
_STRONG = re.compile(
    r"(?<![A-Za-z])(?:answers?|(?:correct|best|right|final)\s(?:option|choice)s?)[*_`\"]{0,4}\s?:"
    r"|<answer>|\\boxed\s?\{"
    r"|答案[*_]{0,3}(?:】|\s?:|(?:应该|应|就)?(?:是|为|选))"
    r"|选项(?:应该|应)?(?:是|为|:)|(?:故|应该|应|因此|所以|我)选择?",
    re.IGNORECASE,
)
_SOFT = re.compile(
    rf"\b(?:the|my)\s(?:{_PRAISE % 0}answer|{_PRAISE % 1}(?:option|choice))(?:\s(?:letter|choice))?"
    rf"(?P<clause>\s[^.\n:;?!]{{1,90}}?)??\s?(?:{_IS}(?:\s?:)?|:)"
    r"|\bI(?:\s(?:would|will)|'d|'ll)?\s(?:choose|select|pick|go with)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:\b[Oo]ption\s|(?<![A-Za-z]))[*_(\[]{0,4}(?P<id>[A-Z])(?![A-Za-z])[*_)\]]{0,4}"
    rf"\s(?:is|as)\s(?:the|my)\s(?:{_PRAISE % 0}answer|{_PRAISE % 1}(?:option|choice))\b(?!\s?\?)"
)
_ADVERB = re.compile(
    r"[\s*_`]{0,4}(?:(?:most\s)?(?:likely|probably|clearly|definitely|therefore|thus|simply|indeed"
    r"|still)|option|letter|选项)(?![A-Za-z])",
    re.IGNORECASE,
)
_OPEN_ENDED = re.compile(
    r"[\s*_`\"]{0,6}(?:none|neither|nothing|unclear|uncertain|unknown|impossible|either|also|both"
    r"|not\s(?:listed|among|given|clear|available|possible|provided|one of))\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|assuming|doubt|example|e\.g"
    r"|(?:some|someone|others|you|they|people|one)\s(?:may|might|could|would|will))\b|如果|假如|若",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|wrong|incorrect|sample|previous|unlikely|except|least|other|another"
    r"|possible|user|you|they|some|people)\b|n't\b|不|错误|非",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(r"[,.;:\n，。；]")
_WITHDRAWAL = re.compile(
    r"\b(?:cannot|can't|can not|unable to|not possible to|impossible to)\s(?:\w{1,20}\s){0,2}"
    r"(?:determine|select|choose|provide|give|identify|decide|pick)\s(?:\w{1,20}\s){0,4}"
    r"(?:answer|option|choice)\b|(?:\A|[.!?\n])\s?(?:(?:but|no|oh|hmm|actually),?\s){0,2}wait\b"
    r"|(?:\A|[.!?\n])\s?(?:no,?\s)?actually,?\s(?:it|that|this|the answer)\s"
    r"(?:should|must|would|is)\b"
    r"|(?:\A|[,.!?\n])\s?(?:but\s)?i (?:do not|don't) know(?=\s?(?:[.!\n]|\Z))"
    r"|\bon second thought|\bscratch that\b|无法(?:确定|选择|判断)",
    re.IGNORECASE,
)
_NEXT_TURN = re.compile(
    r"^[ \t#*]{0,6}(?:question|q|human|user|问题|题目)(?:\s?\d{1,4})?[*]{0,2}\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class _Statement:
    """Where a reply says that it answers; `chosen` is set where the grammar itself held the id."""

    start: int
    end: int
    is_strong: bool = False
    chosen: str | None = None


def stated(text: str, choices: Choices) -> Ids:
    """Return the options that `text` states as its answer; raises Unreadable."""
    text = plain(text)
    for turn in _turns(text):
        if (found := _last_stated(turn, choices)) is not None:
            return found
    raise Unreadable(Failure.NO_ANSWER)


def takes_back(text: str) -> bool:
    """Return whether `text`, which follows an answer, takes it back."""
    return bool(_WITHDRAWAL.search(plain(text).strip()))


def _turns(text: str) -> Iterator[str]:
    """Yield the text between questions: what a base model asks itself next is not ours."""
    starts = [0, *(turn.start() for turn in _NEXT_TURN.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        yield text[start:end]


def _last_stated(text: str, choices: Choices) -> Ids | None:
    position, found = -1, None
    for statement in reversed(_statements(text)[-MOST_STATEMENTS:]):
        if (found := _resolve(text, statement, choices)) is not None:
            position = statement.start
            break
    line_start, line = _option_line(text, choices)
    if line is not None and line_start > position:
        position, found = line_start, line
    if found is not None and _WITHDRAWAL.search(text, position):
        raise Unreadable(Failure.AMBIGUOUS)
    return found


def _statements(text: str) -> list[_Statement]:
    strong = [_Statement(at.start(), at.end(), True) for at in _STRONG.finditer(text)]
    soft = [
        _Statement(at.start(), at.end())
        for at in _SOFT.finditer(text)
        if not (at["clause"] and (_DENIAL.search(at["clause"]) or _DOUBT.search(at["clause"])))
    ]
    subject = [_Statement(at.start(), at.end(), chosen=at["id"]) for at in _SUBJECT.finditer(text)]
    return sorted((*strong, *soft, *subject), key=lambda statement: statement.end)


def _resolve(text: str, statement: _Statement, choices: Choices) -> Ids | None:
    """Return what a statement states, None where it states nothing after all."""
    if _is_denied(text, statement.start):
        return None
    if statement.chosen:
        return choices.whole(statement.chosen)
    content = _content(text, statement)
    if not _WORD.search(content):
        return None
    try:
        found = _named(content, choices)
    except Unreadable as unreadable:
        if unreadable.failure is not Failure.NO_ANSWER:
            raise
        if statement.is_strong or _OPEN_ENDED.match(content):
            raise Unreadable(Failure.UNKNOWN_OPTION) from unreadable
        return None
    following = _next_line(text, statement.end + len(content))
    if (after := choices.line(following)) is not None and after != found:
        raise Unreadable(Failure.AMBIGUOUS)
    return found


def _is_denied(text: str, start: int) -> bool:
    before = text[max(0, start - 150) : start]
    sentence = re.split(r"[.!?。\n]", before)[-1]
    clause = _CLAUSE_ENDS.split(before)[-1]
    return bool(_DOUBT.search(sentence) or _DENIAL.search(clause))


def _content(text: str, statement: _Statement) -> str:
    """Return what follows the lead-in: its tag, its braces, the rest of its line or the next."""
    window = text[statement.end : statement.end + LONGEST_STATEMENT]
    opened = text[statement.start : statement.end]
    if opened.casefold() == "<answer>":
        return window.split("</", 1)[0]
    if opened.startswith("\\boxed"):
        return _braced(window)
    line, _, rest = window.partition("\n")
    if _WORD.search(line):
        return line
    return line + "\n" + rest[: len(rest) - len(rest.lstrip())] + _next_line(rest, 0)


def _braced(window: str) -> str:
    depth = 1
    for position, mark in enumerate(window):
        depth += (mark == "{") - (mark == "}")
        if depth == 0:
            return window[:position]
    return window.partition("\n")[0]


def _next_line(text: str, position: int) -> str:
    window = text[position : position + LONGEST_STATEMENT].lstrip()
    return window.partition("\n")[0]


def _named(content: str, choices: Choices) -> Ids:
    content = content.strip().lstrip("-• :")
    while adverb := _ADVERB.match(content):
        content = content[adverb.end() :].lstrip(" :")
    return choices.named(content)


def _option_line(text: str, choices: Choices) -> tuple[int, Ids | None]:
    """Return the first or last line where it is an option and no other line names another."""
    lines = [(at.start(), at[0]) for at in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if not lines:
        return 0, None
    if len(lines) == 1:
        return 0, _only_line(lines[0][1], choices)
    named = {ids for _, line in lines if (ids := choices.line(line)) is not None}
    for start, line in (lines[-1], lines[0]):
        if len(named) == 1 and choices.line(line) is not None:
            return start, named.pop()
    return 0, None


def _only_line(line: str, choices: Choices) -> Ids | None:
    try:
        found = choices.line(line)
        return choices.whole(line) if found is None and len(line) < LONGEST_STATEMENT else found
    except Unreadable as unreadable:
        if unreadable.failure is Failure.AMBIGUOUS:
            raise
        return None
