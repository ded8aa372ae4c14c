"""Needs: which sentence asks for something, or turns it down, by weighed cues."""

from psychemme.clients.signal.answer.found import Found, Look, best, unsupported
from psychemme.clients.signal.answer.reading import Reading
from psychemme.clients.signal.answer.weighing import SUPPORTED, weigh
from psychemme.clients.signal.facts import sentences
from psychemme.vocabulary import Format, LookAgain

_NEAR = 2.0
_TIE = 0.05


def find_act(look: Look, reading: Reading) -> Found:
    """Choose what carries the act that the question names."""
    heard = _heard(look, reading) if look.format is Format.OPEN else look.options
    scores = {text: weigh(text, reading.act) - _rival(text, reading.act) for text in heard}
    if look.format is Format.OPEN:
        scores = {_core(text, reading.act): score for text, score in scores.items()}
    if look.format is not Format.MULTIPLE:
        floor = SUPPORTED / 2 if LookAgain.CHECK_EVERY_OPTION in look.ways else SUPPORTED * 0.6
        return best(scores, floor, _TIE, f"Its words speak most for a {reading.act}.")
    floor = SUPPORTED * (1.25 if LookAgain.REREAD_QUESTION in look.ways else 1.0)
    if LookAgain.CHECK_EVERY_OPTION in look.ways:
        floor = min(floor, max(scores.values(), default=0.0) / 2)
    chosen = tuple(text for text, score in scores.items() if score >= floor)
    if len(chosen) < 2:
        return unsupported(f"Fewer than two options speak for a {reading.act}.")
    return Found(chosen, why=f"The words of each speak for a {reading.act}.")


def _core(text: str, act: str) -> str:
    """Return the part of a sentence, between its commas, that speaks most for `act`."""
    return max(text.split(", "), key=lambda part: weigh(part, act))


def _rival(text: str, act: str) -> float:
    """Return what speaks for the opposite act: "please don't" is no request."""
    rivals = {"request": ("refusal", "offer"), "refusal": (), "offer": ()}
    return sum(max(0.0, weigh(text, rival) - 0.6) for rival in rivals[act])


def _heard(look: Look, reading: Reading) -> list[str]:
    """Return the sentences heard, near the time the question gives unless told to look wider."""
    runs = list(sentences(look.words))
    if reading.times and LookAgain.CHECK_WHOLE_EPISODE not in look.ways:
        runs = [run for run in runs if abs(run[0].start - reading.times[0]) <= _NEAR]
    return [" ".join(word.text.strip() for word in run) for run in runs]
