"""Voices: changes of voice from word to word."""

import re
from itertools import groupby

from psychemme.clients.signal.answer.found import Found, Look, unsupported
from psychemme.clients.signal.answer.reading import Reading
from psychemme.vocabulary import Format, LookAgain

_COUNTS = {
    "never": 0, "none": 0, "zero": 0, "once": 1, "one": 1, "twice": 2, "two": 2, "three": 3,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_SHORT_RUN = 2


def count_voices(look: Look, reading: Reading) -> Found:
    """Count how often consecutive words belong to different voices inside the window asked for."""
    start, end = reading.window or (0.0, look.episode.duration)
    voices = [
        voice
        for word in look.words
        if start <= (word.start + word.end) / 2 <= end
        and (voice := _voice(look, (word.start + word.end) / 2)) is not None
    ]
    runs = [(voice, len(list(run))) for voice, run in groupby(voices)]
    if LookAgain.CHECK_SPEAKER in look.ways:
        runs = [run for run in runs if run[1] >= _SHORT_RUN]
    count = max(0, len(list(groupby(voice for voice, _ in runs))) - 1)
    if not voices:
        return unsupported("No voice is told apart there.")
    why = f"The voice of consecutive words changes {count} times."
    if look.format is Format.OPEN:
        return Found((str(count),), why=why)
    chosen = tuple(text for text in look.options if _number(text) == count)
    return Found(chosen[:1], why=why) if chosen else unsupported(f"No option says {count}.")


def _voice(look: Look, time: float) -> int | None:
    """Return the voice of the turn at `time`; of overlapping turns, the one that began last."""
    held = [turn for turn in look.episode.signals.turns if turn.start <= time <= turn.end]
    return max(held, key=lambda turn: turn.start).voice if held else None


def _number(text: str) -> int | None:
    for word in re.findall(r"\w+", text.casefold()):
        if word.isdigit():
            return int(word)
        if word in _COUNTS:
            return _COUNTS[word]
    return None
