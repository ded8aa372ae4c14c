"""What is said and when: by recognition where no transcript is given, and cut to a window."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from psychemme.episode import Utterance, Word
from psychemme.media.audio import RATE, Sound

THREADS = 2
"""Fixed, because the number of threads changes the order of sums and so the words."""

_SHORTEST = 0.001
_LONGEST_GAP = 1.0
_SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！")


class Recogniser(Protocol):
    """What faster-whisper's `WhisperModel` offers."""

    def transcribe(self, audio: Sound, **options: Any) -> tuple[Iterable[Any], Any]:  # noqa: ANN401
        """Return segments with words, and facts about the run."""
        ...


@dataclass(frozen=True)
class _Spoken:
    """A recognised word and the flags of the segment it came in."""

    word: Any
    flags: tuple[str, ...]


def load_recogniser(model: Path) -> Recogniser:
    """Load the faster-whisper model in folder `model` for the processor; never downloads."""
    from faster_whisper import WhisperModel

    recogniser: Recogniser = WhisperModel(
        str(model),
        device="cpu",
        compute_type="int8",
        cpu_threads=THREADS,
        num_workers=1,
        local_files_only=True,
    )
    return recogniser


def transcribe(audio: Sound, model: Recogniser) -> tuple[Utterance, ...]:
    """Return the utterances heard in mono 16 kHz `audio`; times in seconds from its start.

    Deterministic: one beam search at temperature 0, no sampled second try. Suspected inventions
    are kept and flagged `no_speech`, `repetition` or `compression`.
    """
    segments, _ = model.transcribe(
        audio,
        beam_size=5,
        temperature=0.0,
        condition_on_previous_text=False,
        word_timestamps=True,
        vad_filter=True,
    )
    length = len(audio) / RATE
    spoken = [
        _Spoken(word, recogniser_flags(segment.text, segment.no_speech_prob))
        for segment in segments
        for word in segment.words or ()
        if word.start < length and word.word.strip()
    ]
    return tuple(_utterance(sentence, length) for sentence in _sentences(spoken))


def recogniser_flags(text: str, no_speech: float) -> tuple[str, ...]:
    """Return the suspected faults of a recognised `text`; `no_speech` is a probability.

    Limits are Whisper's own (0.6, 2.4); repetition is a run of one to four words said four times.
    """
    data = text.encode()
    checks = {
        "no_speech": no_speech > 0.6,
        "repetition": _repeats(text),
        "compression": len(data) / len(zlib.compress(data)) > 2.4,
    }
    return tuple(name for name, raised in checks.items() if raised)


def window_transcript(
    utterances: Iterable[Utterance], start: float, end: float
) -> tuple[Utterance, ...]:
    """Return the utterances whose middle lies in [start, end), in seconds from `start`.

    Times are cut to the window; words belong by their middle too, and where the source times its
    words the text is theirs.
    """
    return tuple(
        _cut(utterance, start, end)
        for utterance in utterances
        if start <= (utterance.start + utterance.end) / 2 < end
    )


def _sentences(spoken: Iterable[_Spoken]) -> Iterable[list[_Spoken]]:
    """Group words into sentences: the recogniser's own segments end in the middle of them."""
    sentence: list[_Spoken] = []
    for one in spoken:
        if sentence and _ends(sentence[-1].word, one.word):
            yield sentence
            sentence = []
        sentence.append(one)
    if sentence:
        yield sentence


def _ends(word: Any, following: Any) -> bool:  # noqa: ANN401 - a library's objects
    if word.word.strip().endswith(_SENTENCE_ENDS):
        return True
    return bool(following.start - word.end > _LONGEST_GAP)


def _utterance(sentence: list[_Spoken], length: float) -> Utterance:
    words = tuple(_word(one.word, length) for one in sentence)
    return Utterance(
        start=words[0].start,
        end=max(word.end for word in words),
        text="".join(one.word.word for one in sentence).strip(),
        words=words,
        flags=tuple(sorted({flag for one in sentence for flag in one.flags})),
    )


def _word(word: Any, length: float) -> Word:  # noqa: ANN401 - a library's object
    start, end = _span(word.start, word.end, 0.0, length)
    return Word(
        start=start, end=end, text=word.word.strip(), probability=round(float(word.probability), 3)
    )


def _span(start: float, end: float, low: float, high: float) -> tuple[float, float]:
    """Return both times cut to [low, high], counted from `low`, at least 1 ms apart."""
    start = round(float(max(start, low) - low), 3)
    return start, round(max(float(min(end, high) - low), start + _SHORTEST), 3)


def _cut(utterance: Utterance, start: float, end: float) -> Utterance:
    begin, finish = _span(utterance.start, utterance.end, start, end)
    kept = [w for w in utterance.words if start <= (w.start + w.end) / 2 < end]
    words = []
    for word in kept:
        word_start, word_end = _span(word.start, word.end, start, end)
        words.append(word.model_copy(update={"start": word_start, "end": word_end}))
    whole = len(kept) == len(utterance.words)
    text = utterance.text if whole or not kept else " ".join(word.text for word in kept)
    changes = {"start": begin, "end": finish, "text": text, "words": tuple(words)}
    return utterance.model_copy(update=changes)


def _repeats(text: str) -> bool:
    words = re.findall(r"\w+", text.lower())
    return any(
        words[i : i + size] * 4 == words[i : i + 4 * size]
        for size in range(1, 5)
        for i in range(len(words) - 4 * size + 1)
    )
