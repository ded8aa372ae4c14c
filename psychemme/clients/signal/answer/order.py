"""Order: what is said before, after, between, first and last, by word times."""

import re
from collections.abc import Sequence

from psychemme.clients.signal.answer.found import Found, Look, Span, ambiguous, unsupported
from psychemme.clients.signal.answer.moments import gaps
from psychemme.clients.signal.answer.reading import Reading
from psychemme.clients.signal.answer.search import find, nearest
from psychemme.clients.signal.facts import ends_sentence
from psychemme.episode import Word
from psychemme.vocabulary import Format, LookAgain

_SENTENCE_GAP = 0.8
_LONGEST_ANSWER = 30


def find_order(look: Look, reading: Reading) -> Found:
    """Answer a question about order by where the words of each option stand."""
    words = _ordered(look)
    if not words:
        return unsupported("Nothing is said in the episode.")
    silence = re.search(r"\bpause\b|\bsilence\b", reading.plain) and not reading.quotes
    if look.format is Format.OPEN:
        return _read_out(look, reading, words, by_silence=bool(silence))
    loosely = LookAgain.CHECK_EVERY_OPTION in look.ways
    places = {text: find(words, text, loosely=loosely) for text in look.options}
    places = {text: spans for text, spans in places.items() if spans}
    if not places:
        return unsupported("No option is heard in the episode.")
    if reading.window:
        return _between(places, reading.window, look.format)
    if silence:
        return _after_longest_gap(look, words, places)
    if reading.quotes or reading.times:
        anchor = _anchor(words, reading)
        return (
            anchor if isinstance(anchor, Found) else _around(look.format, reading, places, anchor)
        )
    return _extreme(places, last=_asks_last(reading))


def _read_out(look: Look, reading: Reading, words: Sequence[Word], *, by_silence: bool) -> Found:
    """Answer an open question with the words that stand where it points."""
    anchor: Span | Found
    if reading.window:
        start, end = reading.window
        run = " ".join(w.text.strip() for w in words if start <= (w.start + w.end) / 2 <= end)
    elif reading.quotes or reading.times or by_silence:
        anchor = _silence(look, words) if by_silence else _anchor(words, reading)
        if isinstance(anchor, Found):
            return anchor
        run = _sentence_after(words, anchor) if reading.after else _sentence_before(words, anchor)
    elif _asks_last(reading):
        run = _sentence_before(words, Span(len(words), len(words), words[-1].end, words[-1].end))
    else:
        run = _sentence_after(words, Span(-1, -1, 0.0, 0.0))
    if not run:
        return unsupported("Nothing is heard there.")
    return Found((run,), why="Read from the words where the question points.")


def _asks_last(reading: Reading) -> bool:
    return bool(re.search(r"\blast\b|final|latest", reading.plain))


def _ordered(look: Look) -> tuple[Word, ...]:
    if LookAgain.CHECK_ORDER in look.ways:
        return tuple(sorted(look.words, key=lambda word: word.start))
    return look.words


def _anchor(words: Sequence[Word], reading: Reading) -> Span | Found:
    """Return the span the question refers to, or the flag why none can be told."""
    if not reading.quotes:
        near = [i for i, word in enumerate(words) if word.start <= reading.times[0]]
        last = near[-1] if near else -1
        return Span(last + 1, last, reading.times[0], reading.times[0])
    spans = find(words, reading.quotes[0])
    if not spans:
        return unsupported("The quoted words are not heard in the episode.")
    if reading.times:
        return nearest(spans, reading.times[0])
    return spans[0] if len(spans) == 1 else ambiguous("The quoted words are heard more than once.")


def _around(
    form: Format, reading: Reading, places: dict[str, tuple[Span, ...]], anchor: Span
) -> Found:
    side = {text: _distance(spans, anchor, reading.after) for text, spans in places.items()}
    beyond = {text: distance for text, distance in side.items() if distance is not None}
    if form is Format.MULTIPLE:
        return _several(tuple(beyond), "Each chosen option is heard on that side of the words.")
    if not beyond:
        return unsupported("No option is heard on that side of the quoted words.")
    nearby = min(beyond.values())
    closest = [text for text, distance in beyond.items() if distance == nearby]
    if len(closest) > 1:
        return ambiguous("Two options start at the same word.")
    return Found((closest[0],), why=f"It is heard {nearby} words away.")


def _distance(spans: Sequence[Span], anchor: Span, after: bool) -> int | None:
    """Return how many words lie between `anchor` and the nearest span on the side asked for."""
    if after:
        gaps = [span.first - anchor.last - 1 for span in spans if span.first > anchor.last]
    else:
        gaps = [anchor.first - span.last - 1 for span in spans if span.last < anchor.first]
    return min(gaps, default=None)


def _between(
    places: dict[str, tuple[Span, ...]], window: tuple[float, float], form: Format
) -> Found:
    start, end = window
    inside = tuple(
        text
        for text, spans in places.items()
        if any(start <= (span.start + span.end) / 2 <= end for span in spans)
    )
    if form is Format.MULTIPLE:
        return _several(inside, "The middle of each chosen option lies inside the window.")
    if len(inside) > 1:
        return ambiguous("Several options are heard inside the window.")
    return (
        Found(inside, why="Only it is heard there.")
        if inside
        else (unsupported("No option is heard inside the window."))
    )


def _silence(look: Look, words: Sequence[Word]) -> Span | Found:
    """Return the longest gap between words as an empty span before the word that ends it."""
    inner = [gap for gap in gaps(look) if words[0].start < gap.start and gap.end <= words[-1].end]
    if not inner:
        return unsupported("No gap between words is found.")
    widest = max(inner, key=lambda gap: gap.end - gap.start)
    following = min(range(len(words)), key=lambda i: abs(words[i].start - widest.end))
    return Span(following, following - 1, widest.start, widest.end)


def _after_longest_gap(
    look: Look, words: Sequence[Word], places: dict[str, tuple[Span, ...]]
) -> Found:
    silence = _silence(look, words)
    if isinstance(silence, Found):
        return silence
    away = {
        text: min(abs(span.first - silence.first) for span in spans)
        for text, spans in places.items()
    }
    text = min(sorted(away), key=lambda text: away[text])
    return Found((text,), why=f"The widest gap lasts {silence.end - silence.start:.1f} s.")


def _extreme(places: dict[str, tuple[Span, ...]], *, last: bool) -> Found:
    if last:
        text = max(sorted(places), key=lambda text: places[text][-1].first)
    else:
        text = min(sorted(places), key=lambda text: places[text][0].first)
    return Found((text,), why="By the place of its words in the stream.")


def _several(texts: tuple[str, ...], why: str) -> Found:
    return (
        Found(texts, why=why)
        if len(texts) > 1
        else (unsupported("Fewer than two options are supported."))
    )


def _sentence_after(words: Sequence[Word], anchor: Span) -> str:
    run: list[str] = []
    for index in range(anchor.last + 1, min(len(words), anchor.last + 1 + _LONGEST_ANSWER)):
        gap = words[index].start - words[index - 1].end if run else 0.0
        if gap > _SENTENCE_GAP:
            break
        run.append(words[index].text.strip())
        if ends_sentence(words[index].text):
            break
    return " ".join(run)


def _sentence_before(words: Sequence[Word], anchor: Span) -> str:
    run: list[str] = []
    for index in range(anchor.first - 1, max(-1, anchor.first - 1 - _LONGEST_ANSWER), -1):
        gap = words[index + 1].start - words[index].end if run else 0.0
        if gap > _SENTENCE_GAP or (run and ends_sentence(words[index].text)):
            break
        run.insert(0, words[index].text.strip())
    return " ".join(run)
