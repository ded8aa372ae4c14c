"""What a question in plain English asks, whoever wrote it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from psychemme.clients.signal.facts import tokens

_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|(?<!\w)['‘](?=\w)(.+?)['’](?!\w)")
_NUMBER = r"(\d+(?:\.\d+)?)"
_CLOCK = re.compile(r"\b(\d{1,3}):(\d{2}(?:\.\d+)?)\b")
_SECONDS = re.compile(rf"{_NUMBER}\s*(?:s|sec|secs|seconds?)\b")
_RANGE = re.compile(
    rf"(?:between|from)\s+{_NUMBER}\s*(?:s|sec|seconds?)?\s*(?:and|to|until|-|–)\s+{_NUMBER}"
)
_ROOM = re.compile(
    rf"(?:at least|minimum of|longer than|more than|or more than)\s+{_NUMBER}\s*s(?:ec\w*)?\b"
)
_WORD_ROOM = re.compile(r"(?:at least|longer than|more than) (half a|one|a|two) seconds?")
_WORD_NUMBERS = {"half a": 0.5, "one": 1.0, "a": 1.0, "two": 2.0}
_DEFAULT_ROOM = 0.7


class Task(StrEnum):
    """The kinds of question this answerer knows how to look into."""

    COUNT_VOICES = "count_voices"
    RECALL = "recall"
    FIND_MOMENT = "find_moment"
    JUDGE_FIT = "judge_fit"
    FIND_ACT = "find_act"
    FIND_ORDER = "find_order"


_KEYWORDS: dict[Task, re.Pattern[str]] = {
    Task.COUNT_VOICES: re.compile(r"how (?:many times|often).*\b(?:voice|speaker|turn)"),
    Task.RECALL: re.compile(
        r"before th(?:is|e) (?:clip|episode|video)|\bearlier (?:session|clip|conversation|stated)"
        r"|\b(?:stated|said|mentioned|expressed) earlier|\bhistory\b|\bremember|\bpreferences?\b"
    ),
    Task.FIND_MOMENT: re.compile(
        r"\bmoments?\b|\bat what time\b|\bwhen (?:can|could|should|would|is|does)\b|\binterrupt"
    ),
    Task.JUDGE_FIT: re.compile(
        r"\bfit(?:s|ting)?\b|\bappropriate|\brespect|\bsuitable|\bshould\b|\bbest\b|\boverstep"
        r"|\bintrusive|\bconsiderate|\btactful|\brestrained|\bpushy|\bwould be\b"
    ),
    Task.FIND_ACT: re.compile(
        r"\brequest|\bask(?:s|ed|ing)? (?:for|someone|somebody|another|others|the other)\b"
        r"|\brefus|\bdeclin|\bturn(?:s|ed|ing)?\b.*\bdown\b|\breject|\bsay(?:s|ing)? no\b"
        r"|\bwants?\b|\bneeds?\b|\boffer"
    ),
    Task.FIND_ORDER: re.compile(
        r"\bafter\b|\bfollow|\bnext\b|\bbefore\b|\bpreced|\bbetween\b|\bfirst\b|\blast\b|\bfinal"
        r"|\bearliest\b|\blatest\b|\bbegin|\bpause\b|\bsilence\b"
    ),
}


@dataclass(frozen=True)
class Reading:
    """A question understood: `plain` is its text without what it quotes, in lower case.

    `window` and `times` are seconds; `room` is how long a pause must last; `after` tells the
    direction of an order; `inverted` whether a question about fit asks for what does not fit;
    `conduct` the capability a question about fit speaks of: S words, A deeds, R limits.
    """

    task: Task
    plain: str
    quotes: tuple[str, ...]
    times: tuple[float, ...]
    window: tuple[float, float] | None
    room: float
    act: str
    after: bool
    inverted: bool
    conduct: str


def read(question: str, options: Sequence[str], *, again: bool = False) -> Reading:
    """Read `question`; `again` weighs all its keywords instead of taking the first that fits."""
    quotes = tuple(
        next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(question)
    )
    plain = " ".join(_QUOTED.sub(" ", question).casefold().split())
    found = times(_ROOM.sub(" ", plain))
    return Reading(
        task=_task(plain, options, again),
        plain=plain,
        quotes=tuple(quote for quote in quotes if tokens(quote)),
        times=found,
        window=_window(plain, found),
        room=_room(plain),
        act=_act(plain),
        after=not re.search(r"\bbefore\b|\bpreced|\bprior\b|\bled up\b", plain),
        conduct=_conduct(plain),
        inverted=bool(re.search(r"overstep|intrusive|\bnot\b|unfit|inappropriate|pushy", plain)),
    )


def times(text: str) -> tuple[float, ...]:
    """Return the times in `text` ("1:05", "12.4 s", "7 seconds") in seconds."""
    clocks = [60 * int(match[1]) + float(match[2]) for match in _CLOCK.finditer(text)]
    rest = _CLOCK.sub(" ", text.casefold())
    return (*clocks, *(float(match[1]) for match in _SECONDS.finditer(rest)))


def _task(plain: str, options: Sequence[str], again: bool) -> Task:
    if options and all(times(option) and len(tokens(option)) <= 5 for option in options):
        return Task.FIND_MOMENT
    hits = {task: len(pattern.findall(plain)) for task, pattern in _KEYWORDS.items()}
    if again:
        return max(hits, key=lambda task: hits[task])
    return next((task for task, count in hits.items() if count), Task.FIND_ORDER)


def _window(plain: str, found: tuple[float, ...]) -> tuple[float, float] | None:
    if ranges := _RANGE.search(_CLOCK.sub(lambda clock: f"{times(clock[0])[0]}", plain)):
        return float(ranges[1]), float(ranges[2])
    return (found[0], found[1]) if "between" in plain and len(found) > 1 else None


def _room(plain: str) -> float:
    if found := _ROOM.search(plain):
        return float(found[1])
    found = _WORD_ROOM.search(plain)
    return _WORD_NUMBERS[found[1]] if found else _DEFAULT_ROOM


def _conduct(plain: str) -> str:
    if re.search(r"\brepl|\brespond|\bresponse|\bsay\b|\banswer", plain):
        return "S"
    return "A" if re.search(r"\baction|\bdo\b|\bact\b|\bmove\b", plain) else "R"


def _act(plain: str) -> str:
    if re.search(
        r"refus|declin|\bturn\w*\b.*\bdown\b|reject|\bsay(?:s|ing)? no\b|\bnot (?:to|want)\b",
        plain,
    ):
        return "refusal"
    return "offer" if re.search(r"\boffer", plain) else "request"
