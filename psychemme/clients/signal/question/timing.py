"""Timing: the first pause, as the audio shows it, that leaves room to speak."""

from collections.abc import Iterator

from psychemme.clients.signal.facts import Line
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.episode import Interval
from psychemme.items import Cue
from psychemme.vocabulary import Format, Modality

MISSING = "Timing is asked as a single choice and needs a pause and two other moments after speech."
_ROOM = (0.5, 0.7, 1.0)
_NEXT = 5
_HINTS = ("turn_opening", "pause", "turn")
_APART = 0.5


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield drafts on the first pause that leaves room after a sentence, and on the longest."""
    if scene.format is not Format.SINGLE:
        return
    for line in scene.quotable():
        for room in _ROOM:
            chosen = next((gap for gap in _after(scene, line) if _length(gap) >= room), None)
            if chosen is not None:
                yield _draft(scene, line, chosen, room)
        longest = max(_after(scene, line)[:_NEXT], key=_length, default=None)
        if longest is not None and _length(longest) >= _ROOM[0]:
            yield _most_room(scene, line, longest)


def _most_room(scene: Scene, line: Line, chosen: Interval) -> Draft:
    asked = f"Someone waits to speak after hearing {quote(line.text)}"
    asks = "Which of these moments leaves the most room to speak without interrupting anyone?"
    others = [gap for gap in _after(scene, line)[:_NEXT] if gap != chosen]
    return Draft(
        kind="most room",
        text=f"{asked}. {asks}",
        timed=f"{asked}, which starts at {seconds(line.start)}. {asks}",
        needs_time=scene.repeated(line),
        right=(seconds(_inside(chosen)),),
        wrong=tuple(seconds(_inside(gap)) for gap in others),
        cues=(_pause(scene, chosen), scene.said(line)),
        rationale=f"In the audio the pause lasts {_length(chosen):.2f} s, the others less.",
        decision_time=round(min(line.end, scene.episode.duration), 3),
        hints=_HINTS,
    )


def _after(scene: Scene, line: Line) -> list[Interval]:
    last = max((other.end for other in scene.lines), default=0.0)
    return [
        gap for gap in scene.episode.signals.pauses if line.end - 0.2 <= gap.start <= last + 0.2
    ]


def _draft(scene: Scene, line: Line, chosen: Interval, room: float) -> Draft:
    right = _inside(chosen)
    asked = f"Someone waits to speak after hearing {quote(line.text)}"
    asks = (
        "At which of these moments does the first pause come that is long enough "
        f"(at least {room:.1f} seconds) to speak without interrupting anyone?"
    )
    return Draft(
        kind=f"pause {room}",
        text=f"{asked}. {asks}",
        timed=f"{asked}, which starts at {seconds(line.start)}. {asks}",
        needs_time=scene.repeated(line),
        right=(seconds(right),),
        wrong=tuple(seconds(time) for time in _tempting(scene, line, chosen, right)),
        cues=(_pause(scene, chosen), scene.said(line)),
        rationale=f"The first audio pause of at least {room} s lasts {_length(chosen):.2f} s.",
        decision_time=round(min(line.end, scene.episode.duration), 3),
        hints=_HINTS,
    )


def _tempting(scene: Scene, line: Line, chosen: Interval, right: float) -> list[float]:
    """Return hesitations too short, later pauses and moments of speech, apart from each other."""
    pauses = [_inside(gap) for gap in _after(scene, line) if gap != chosen]
    talk = [
        (other.start + other.end) / 2
        for other in scene.lines
        if other.start >= line.end and other.end - other.start >= 0.6
    ]
    scene.chance.shuffle(talk)
    kept = [right]
    for time in pauses[:3] + talk:
        if all(abs(round(time, 1) - round(other, 1)) >= _APART for other in kept):
            kept.append(time)
    return kept[1:]


def _pause(scene: Scene, gap: Interval) -> Cue:
    silent = f"No speech is heard for {seconds(_length(gap))}"
    return scene.cue(gap.start, gap.end, Modality.PROSODY, silent)


def _inside(gap: Interval) -> float:
    return gap.start + min(0.4, _length(gap) / 2)


def _length(gap: Interval) -> float:
    return gap.end - gap.start
