"""Timing: the first pause, as the audio shows it, that leaves room to speak."""

from collections.abc import Iterator, Sequence

from psychemme.clients.signal.facts import Line
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.episode import Interval
from psychemme.items import Cue
from psychemme.vocabulary import Format, Modality

MISSING = (
    "Timing is asked as a single choice and needs a pause that is plainly longer than the others "
    "and two other moments after speech."
)
_ROOM = (0.5, 0.7, 0.9, 1.1)
_PLAINLY = 0.2
_NEXT = 5
_HINTS = ("turn_opening", "pause", "turn")
_APART = 0.5
_INSIDE_TALK = 0.6


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield drafts on the first pause that leaves room after a sentence, and on the longest."""
    if scene.format is not Format.SINGLE:
        return
    for line in scene.quotable():
        gaps = _after(scene, line)
        for room in scene.chance.sample(_ROOM, len(_ROOM)):
            chosen = next((gap for gap in gaps if _length(gap) > room - _PLAINLY), None)
            if chosen is not None and _is_opening(scene, chosen, room):
                short = [gap for gap in gaps if _length(gap) <= room - _PLAINLY]
                yield _first_room(scene, line, chosen, room, short)
                break
        longest = max(gaps[:_NEXT], key=_length, default=None)
        if longest is not None and _is_opening(scene, longest, _ROOM[0]):
            short = [gap for gap in gaps[:_NEXT] if _length(longest) - _length(gap) >= 2 * _PLAINLY]
            if len(short) == len(gaps[:_NEXT]) - 1:
                yield _most_room(scene, line, longest, short)


def _is_opening(scene: Scene, gap: Interval, room: float) -> bool:
    """Tell whether `gap` is plainly long enough, by the audio, and follows a whole utterance."""
    said = [line for line in scene.lines if line.start < gap.start]
    ended = not said or max(said, key=lambda line: line.end) not in scene.broken
    return ended and _length(gap) >= room + _PLAINLY


def _most_room(scene: Scene, line: Line, chosen: Interval, short: Sequence[Interval]) -> Draft:
    asks = "Which of these moments leaves the most room to speak without interrupting anyone?"
    pool = [_inside(gap) for gap in short]
    why = f"In the audio the pause lasts {_length(chosen):.2f} s, the others less."
    return _draft(scene, line, chosen, asks, pool, why)


def _first_room(
    scene: Scene, line: Line, chosen: Interval, room: float, short: Sequence[Interval]
) -> Draft:
    asks = (
        "At which of these moments does the first pause come that is long enough "
        f"(at least {room:.1f} seconds) to speak without interrupting anyone?"
    )
    pool = [_inside(gap) for gap in short[:_NEXT]] + _during_talk(scene, line)
    why = f"The first audio pause of at least {room} s lasts {_length(chosen):.2f} s."
    return _draft(scene, line, chosen, asks, pool, why)


def _draft(
    scene: Scene,
    line: Line,
    chosen: Interval,
    asks: str,
    pool: Sequence[float],
    why: str,
) -> Draft:
    asked = f"Someone waits to speak after hearing {quote(line.text)}"
    right, end = _inside(chosen), scene.episode.duration
    wrong = _apart(pool, right, end)
    return Draft(
        kind=f"pause at {chosen.start}",
        text=f"{asked}. {asks}",
        timed=f"{asked}, which starts at {seconds(line.start)}. {asks}",
        needs_time=scene.repeated(line),
        right=(seconds(right),),
        wrong=tuple(seconds(time) for time in wrong),
        cues=(_pause(scene, chosen), scene.said(line)),
        rationale=why,
        # Every moment on offer lies before it: a time of its own would point at one of them.
        decision_time=end,
        hints=_HINTS,
    )


def _after(scene: Scene, line: Line) -> list[Interval]:
    last = max((other.end for other in scene.lines), default=0.0)
    return [gap for gap in scene.episode.signals.pauses if line.end - 0.2 <= gap.start < last - 0.2]


def _during_talk(scene: Scene, line: Line) -> list[float]:
    """Return moments well inside speech after `line`, in random order."""
    talk = [
        (part.start + part.end) / 2
        for part in scene.episode.signals.speech
        if part.start >= line.end - 0.2 and part.end - part.start >= 2 * _INSIDE_TALK
    ]
    scene.chance.shuffle(talk)
    return talk


def _apart(pool: Sequence[float], *taken: float) -> list[float]:
    """Return the moments of `pool` apart from those `taken` and from each other, two decimals.

    Options show one.
    """
    kept = [*taken]
    for time in pool:
        if all(abs(round(time, 1) - round(other, 1)) >= _APART for other in kept):
            kept.append(time)
    return kept[len(taken) :]


def _pause(scene: Scene, gap: Interval) -> Cue:
    silent = f"No speech is heard for {seconds(_length(gap))}"
    return scene.cue(gap.start, gap.end, Modality.PROSODY, silent)


def _inside(gap: Interval) -> float:
    return gap.start + min(0.4, _length(gap) / 2)


def _length(gap: Interval) -> float:
    return gap.end - gap.start
