"""Fit: what just happened by the clock, and which option's words hold back or push."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from psychemme.clients.signal.answer.found import Found, Look, best, unsupported
from psychemme.clients.signal.answer.reading import Reading
from psychemme.clients.signal.answer.search import find, nearest
from psychemme.clients.signal.answer.weighing import SUPPORTED, weigh
from psychemme.clients.signal.facts import normal, sentences, tokens
from psychemme.vocabulary import Format, LookAgain

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


_JUST_BEFORE = 5.0
_TIE = 0.05
_ACTS = ("refusal", "request", "offer", "distress", "preference")


def judge_fit(look: Look, reading: Reading) -> Found:
    """Score each option by the markers of the norms that the situation calls up."""
    moment = _moment(look, reading)
    if moment is None:
        return unsupported("The moment the question asks about cannot be found.")
    called = _called(look, moment)
    sign = -1.0 if reading.inverted else 1.0
    norms, count = look.norms, _hits
    if LookAgain.CHECK_EVERY_OPTION in look.ways:
        norms = tuple(norm for norm in norms if reading.conduct in map(str, norm.applies_to))
        count = _shares
    scores = {text: sign * _score(text, called, norms, count) for text in look.options}
    situation = ", ".join(sorted(called)) or "no known trigger"
    if look.format is not Format.MULTIPLE:
        return best(scores, -99.0, _TIE, f"Before the moment: {situation}.")
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
    """Return the triggers met in the last seconds before `moment`, the latest weighing most."""
    reach = moment if LookAgain.CHECK_WHOLE_EPISODE in look.ways else _JUST_BEFORE
    called: dict[str, float] = {}
    for run in sentences(look.words):
        if not moment - reach <= run[-1].end <= moment + 0.3:
            continue
        text = " ".join(word.text for word in run)
        recency = 1.0 / (1.0 + max(0.0, moment - run[-1].end))
        for act in _ACTS:
            strength = weigh(text, act)
            if strength >= SUPPORTED:
                called[act] = max(called.get(act, 0.0), strength * recency)
    if any(word.start < moment - 0.1 and moment + 0.1 < word.end for word in look.words) or (
        _heard(look, moment - 0.6, moment) and _heard(look, moment, moment + 0.6)
    ):
        called["ongoing_speech"] = 2.0
    return called


def _heard(look: Look, start: float, end: float) -> bool:
    return any(word.start < end and start < word.end for word in look.words)


def _score(
    text: str,
    called: dict[str, float],
    norms: "Iterable[Norm]",
    count: Callable[[str, Iterable[str]], float],
) -> float:
    """Return restrained less intrusive markers; norms that are not called up count a tenth."""
    total = 0.0
    for norm in norms:
        weight = called.get(str(norm.trigger), 0.0) + 0.1
        held = count(text, norm.restrained_markers)
        pushed = count(text, norm.intrusive_markers)
        total += weight * (held - pushed)
    return total


def _hits(text: str, markers: Iterable[str]) -> float:
    """Return how many markers the text holds whole."""
    padded = f" {normal(text)} "
    return sum(f" {normal(marker)} " in padded for marker in markers if normal(marker))


def _shares(text: str, markers: Iterable[str]) -> float:
    """Return the sum over markers of the share of their words that the text holds, if over half."""
    held = set(tokens(text))
    shares = [len(held & set(tokens(m))) / len(set(tokens(m))) for m in markers if tokens(m)]
    return sum(share for share in shares if share > 0.5)
