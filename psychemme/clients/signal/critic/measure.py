"""Measure again which options the episode supports, by a third method for each target."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from psychemme.clients.signal.critic.premise import kind_of, triggers
from psychemme.clients.signal.critic.timeline import Timeline
from psychemme.clients.signal.facts import normal, tokens
from psychemme.episode import Episode, VoiceTurn
from psychemme.items import Question
from psychemme.vocabulary import ReasoningDefect

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


_QUOTED = re.compile(r"\"([^\"]+)\"")
_TIME = re.compile(r"(\d+(?:\.\d+)?) s(?:econds)?\b")
_ROOM = re.compile(r"at least (\d+(?:\.\d+)?) s")
_LEAN = 0.75
_SHORT_TURN = 0.4
_TURN_GAP = 0.55
_SURE = 0.1
_JUST = 3.0
_COUNTS = ("never", "once", "twice", "three", "four", "five", "six")


@dataclass(frozen=True)
class Measured:
    """What the critic found: `supported` option texts, `fault` it names in an answer outside them.

    `refuted` are the texts whose own measurement shows that fault.
    """

    supported: frozenset[str]
    refuted: frozenset[str]
    fault: ReasoningDefect


@dataclass(frozen=True)
class Bench:
    """What the critic measures with."""

    episode: Episode
    timeline: Timeline
    norms: "tuple[Norm, ...]"
    question: Question
    code: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The option texts."""
        return tuple(option.text for option in self.question.options)

    @property
    def plain(self) -> str:
        """The question without what it quotes, in lower case."""
        return _QUOTED.sub(" ", self.question.question).casefold()

    @property
    def quoted(self) -> str:
        """What the question quotes, else what is said last before its decision time."""
        quoted = _QUOTED.search(self.question.question)
        if quoted is not None:
            return quoted[1]
        moment = self.question.decision_time
        return self.timeline.within(moment - _JUST, moment) if moment is not None else ""

    def heard_once(self) -> bool:
        """Tell whether the question quotes nothing, or what is said only once."""
        quoted = _QUOTED.search(self.question.question)
        return quoted is None or len(self.timeline.places(quoted[1])) == 1

    def anchor(self) -> tuple[float, float] | None:
        """Return the window of the utterance the question quotes, None where there is none."""
        quoted = _QUOTED.search(self.question.question)
        places = self.timeline.places(quoted[1]) if quoted else []
        times = _TIME.findall(_ROOM.sub(" ", self.plain))
        if not places:
            return None
        if times:
            return min(places, key=lambda place: abs(place[0] - float(times[0])))
        return places[0]


def measure(bench: Bench) -> Measured | None:
    """Return what the signals support for a choice question, or None where they cannot tell."""
    if not bench.texts:
        return None
    if bench.code == "T":
        return _moments(bench)
    if bench.code == "N":
        return _acts(bench)
    if bench.code == "M":
        return _topics(bench)
    if bench.code in ("S", "A", "R"):
        return _examples(bench)
    return _voices(bench) if "voice change" in bench.plain else _order(bench)


def _moments(bench: Bench) -> Measured | None:
    """Room is the stretch between two speech intervals of the audio."""
    room = _ROOM.search(bench.plain)
    anchor = bench.anchor()
    if anchor is None or not bench.episode.signals.speech:
        return None
    need = float(room[1]) if room else 0.7
    moments = {text: float(_TIME.findall(text)[0]) for text in bench.texts if _TIME.search(text)}
    free = {text: _room_at(time, bench.episode) for text, time in moments.items()}
    if "most room" in bench.plain or "longest" in bench.plain:
        widest = max(free.values(), default=0.0)
        near = frozenset(text for text in moments if free[text] >= widest - _SURE)
        return Measured(near, frozenset(moments) - near, ReasoningDefect.IGNORED_SPEECH)
    open_ = [text for text in moments if free[text] >= need and moments[text] >= anchor[1] - 0.3]
    first = min(open_, key=lambda text: moments[text], default=None)
    if first is None:
        return None
    spoken_over = frozenset(text for text in moments if free[text] == 0.0)
    return Measured(frozenset({first}), spoken_over, ReasoningDefect.IGNORED_SPEECH)


def _room_at(time: float, episode: Episode) -> float:
    """Return how long the silence around `time` lasts in seconds, 0 inside speech."""
    speech = episode.signals.speech
    if any(part.start < time < part.end for part in speech):
        return 0.0
    before = max((part.end for part in speech if part.end <= time), default=0.0)
    after = min((part.start for part in speech if part.start >= time), default=episode.duration)
    return after - before


def _acts(bench: Bench) -> Measured | None:
    """An utterance has the act of the longest stock phrase in it."""
    act = "refusal" if re.search(r"refus|turn\w* .*down", bench.plain) else "request"
    kinds = {text: kind_of(text) for text in bench.texts}
    clear = frozenset(text for text, kind in kinds.items() if kind == act)
    if not any(kinds.values()):
        return None
    far = frozenset(text for text, kind in kinds.items() if kind != act)
    return Measured(clear, far, ReasoningDefect.MISREAD_QUESTION)


def _topics(bench: Bench) -> Measured | None:
    """A statement bears on the clip by its closest long words, compared letter by letter."""
    past = normal(" ".join(entry.text for entry in bench.episode.history))
    quoted = _QUOTED.search(bench.question.question)
    present = tokens(quoted[1] if quoted else bench.timeline.text)
    now = [word for word in present if len(word) > 4]
    recalled = {text: fuzz.partial_ratio(normal(text), past) >= 88 for text in bench.texts}
    shared = {
        text: sum(
            len(word)
            for word in set(tokens(text))
            if len(word) > 4 and any(fuzz.ratio(word, other) >= 80 for other in now)
        )
        for text in bench.texts
        if recalled[text]
    }
    if not shared or not max(shared.values()):
        return None
    most = max(shared.values())
    top = frozenset(text for text, letters in shared.items() if letters >= _LEAN * most)
    strange = frozenset(text for text in bench.texts if not shared.get(text))
    return Measured(top, strange, ReasoningDefect.IGNORED_HISTORY)


def _examples(bench: Bench) -> Measured | None:
    """An option fits as much as it resembles what the norms that apply here call fitting."""
    heard = triggers(bench.quoted, bench.question.decision_time, bench.episode)
    norms = [
        norm
        for norm in bench.norms
        if bench.code in map(str, norm.applies_to) and str(norm.trigger) in heard
    ]
    good = [text for norm in norms for text in norm.fitting]
    bad = [text for norm in norms for text in norm.unfitting]
    if not good or not bad:
        return None
    leaning = {text: _closest(text, good) - _closest(text, bad) for text in bench.texts}
    fits = frozenset(text for text, lean in leaning.items() if lean > 0)
    pushes = frozenset(text for text, lean in leaning.items() if lean < 0)
    return Measured(fits, pushes, ReasoningDefect.SKIPPED_OPTION) if fits else None


def _closest(text: str, examples: Sequence[str]) -> float:
    return max(fuzz.token_set_ratio(normal(text), normal(example)) for example in examples)


def _voices(bench: Bench) -> Measured | None:
    """Changes of voice between turns, those too short to be sure left out."""
    times = [float(time) for time in _TIME.findall(bench.plain)]
    if len(times) < 2:
        return None
    start, end = times[:2]
    turns = [turn for turn in bench.episode.signals.turns if _lasts(turn, start, end)]
    if any(a.voice == b.voice and b.start - a.end >= _TURN_GAP for a, b in pairwise(turns)):
        return Measured(frozenset(), frozenset(), ReasoningDefect.WRONG_SPEAKER)
    count = sum(here.voice != there.voice for here, there in pairwise(turns))
    if count >= len(_COUNTS):
        return None
    right = frozenset(text for text in bench.texts if tokens(text)[:1] == (_COUNTS[count],))
    wrong = frozenset(bench.texts) - right
    return Measured(right, wrong, ReasoningDefect.WRONG_SPEAKER)


def _lasts(turn: VoiceTurn, start: float, end: float) -> bool:
    return min(turn.end, end) - max(turn.start, start) >= _SHORT_TURN


def _order(bench: Bench) -> Measured | None:
    """Compare the times at which the letters of the options sound."""
    windows = {text: bench.timeline.places(text) for text in bench.texts}
    heard = {text: places for text, places in windows.items() if places}
    supported = _supported(bench, heard)
    if supported is None:
        return None
    by_silence = "pause" in bench.plain
    fault = ReasoningDefect.IGNORED_SPEECH if by_silence else ReasoningDefect.WRONG_ORDER
    return Measured(supported, frozenset(bench.texts) - supported, fault)


def _supported(bench: Bench, heard: dict[str, list[tuple[float, float]]]) -> frozenset[str] | None:
    times = [float(time) for time in _TIME.findall(bench.plain)]
    if "between" in bench.plain and len(times) >= 2:
        inside = (
            text
            for text, places in heard.items()
            if any(times[0] - 0.2 <= start and end <= times[1] + 0.2 for start, end in places)
        )
        return frozenset(inside)
    if "pause" in bench.plain:
        return _after_silence(bench, heard)
    if not _QUOTED.search(bench.question.question):
        last = "last" in bench.plain
        edge = max if last else min
        text = edge(heard, key=lambda text: edge(heard[text])[0], default=None)
        return frozenset({text}) if text else None
    return _beside(bench, heard)


def _after_silence(
    bench: Bench, heard: dict[str, list[tuple[float, float]]]
) -> frozenset[str] | None:
    speech = bench.episode.signals.speech
    silences = [(there.start - here.end, there.start) for here, there in pairwise(speech)]
    if not silences or not heard:
        return None
    _, resumes = max(silences)
    return frozenset(
        {min(heard, key=lambda text: min(abs(start - resumes) for start, _ in heard[text]))}
    )


def silence_is_clear(bench: Bench) -> bool:
    """Tell whether the longest silence between speech outlasts every other by what ears notice."""
    speech = bench.episode.signals.speech
    silences = sorted(there.start - here.end for here, there in pairwise(speech))
    return len(silences) < 2 or silences[-1] - silences[-2] >= _SURE


def _beside(bench: Bench, heard: dict[str, list[tuple[float, float]]]) -> frozenset[str] | None:
    anchor = bench.anchor()
    if anchor is None:
        return None
    if "before" in bench.plain:
        return frozenset(t for t, places in heard.items() if any(p[0] < anchor[0] for p in places))
    later = {
        text: min(starts)
        for text, places in heard.items()
        if (starts := [start for start, _ in places if start > anchor[0]])
    }
    if "directly" not in bench.plain:
        return frozenset(later)
    return frozenset({min(later, key=lambda text: later[text])}) if later else None
