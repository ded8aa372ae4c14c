"""Fit: what was said last before the moment, and which option's words hold back or push.

Only norms that these words call up count: where they call up none, no option is supported.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from psychemme.clients.signal.answer.found import Found, Look, best, unsupported
from psychemme.clients.signal.answer.reading import Reading
from psychemme.clients.signal.answer.search import find, nearest
from psychemme.clients.signal.answer.weighing import SUPPORTED, weigh
from psychemme.clients.signal.facts import ends_sentence, normal, sentences, tokens
from psychemme.episode import Word
from psychemme.vocabulary import Format, LookAgain

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


_LATEST_END = 0.15
_GOES_ON = 1.0
_CLOSE = 0.35
_TURN_GAP = 0.55
_MOST_SENTENCES = 3
_FADE = 0.9
_TIE = 0.05
_TRIGGERS = {
    "refusal": "refusal",
    "request": "request",
    "offer": "offer",
    "distress": "distress",
    "preference": "preference",
    "hold": "ongoing_speech",
}


def judge_fit(look: Look, reading: Reading) -> Found:
    """Score each option by the markers of the norms that the situation calls up."""
    moment = _moment(look, reading)
    if moment is None:
        return unsupported("The moment the question asks about cannot be found.")
    called = _called(look, moment)
    if not called:
        return unsupported("What is said last before the moment calls for none of these.")
    sign = -1.0 if reading.inverted else 1.0
    norms, count = look.norms, _hits
    if LookAgain.CHECK_EVERY_OPTION in look.ways:
        norms = tuple(norm for norm in norms if reading.conduct in map(str, norm.applies_to))
        count = _shares
    scores = {text: sign * _score(text, called, norms, count) for text in look.options}
    situation = ", ".join(sorted(called))
    if look.format is not Format.MULTIPLE:
        return best(scores, _TIE, _TIE, f"Before the moment: {situation}.")
    chosen = tuple(text for text, score in scores.items() if score > 0)
    if len(chosen) < 2:
        return unsupported("Fewer than two options hold back.")
    return Found(chosen, why=f"Before the moment: {situation}.")


def _moment(look: Look, reading: Reading) -> float | None:
    if look.decision_time is not None:
        return look.decision_time
    if not reading.quotes:
        return reading.times[0] if reading.times else None
    spans = find(look.words, reading.quotes[0])
    if not spans:
        return None
    return nearest(spans, reading.times[0]).end if reading.times else spans[-1].end


def _called(look: Look, moment: float) -> dict[str, float]:
    """Return the triggers that the last words before `moment` carry, and how plainly each."""
    said = [word for word in look.words if word.end <= moment + _LATEST_END]
    if not said:
        return {}
    if not ends_sentence(said[-1].text) and _go_on(look.words[len(said) :], said[-1].end):
        return {"ongoing_speech": 1.0}
    last = _last_turn(said)
    weights = {act: max(fade * weigh(text, act) for text, fade in last) for act in _TRIGGERS}
    floor = max(SUPPORTED, max(weights.values()) - _CLOSE)
    return {_TRIGGERS[act]: weight for act, weight in weights.items() if weight >= floor}


def _last_turn(said: Sequence[Word]) -> list[tuple[str, float]]:
    """Return the sentences since the last gap in talk, the latest first, each fading the next."""
    runs = list(sentences(said))[::-1][:_MOST_SENTENCES]
    turn = [(" ".join(word.text for word in runs[0]), 1.0)]
    for later, run in pairwise(runs):
        if later[0].start - run[-1].end > _TURN_GAP:
            break
        turn.append((" ".join(word.text for word in run), _FADE * turn[-1][1]))
    return turn


def _go_on(later: Sequence[Word], end: float) -> bool:
    return bool(later) and later[0].start - end <= _GOES_ON


def _score(
    text: str,
    called: dict[str, float],
    norms: "Iterable[Norm]",
    count: Callable[[str, Iterable[str]], float],
) -> float:
    """Return restrained less intrusive markers of the norms that are called up."""
    return sum(
        called.get(str(norm.trigger), 0.0)
        * (count(text, norm.restrained_markers) - count(text, norm.intrusive_markers))
        for norm in norms
    )


def _hits(text: str, markers: Iterable[str]) -> float:
    """Return how many markers the text holds whole."""
    padded = f" {normal(text)} "
    return sum(f" {normal(marker)} " in padded for marker in markers if normal(marker))


def _shares(text: str, markers: Iterable[str]) -> float:
    """Return the sum over markers of the share of their words that the text holds, if over half."""
    held = set(tokens(text))
    shares = [len(held & set(tokens(m))) / len(set(tokens(m))) for m in markers if tokens(m)]
    return sum(share for share in shares if share > 0.5)
