"""Grounding: who speaks when, what follows what."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from psychemme.clients.signal.facts import Line, normal
from psychemme.clients.signal.question.draft import Draft, Scene, quote, seconds
from psychemme.episode import VoiceTurn
from psychemme.vocabulary import Format, Modality

MISSING = "Grounding needs utterances of four words or more, in turns that can be told apart."
_SHORTEST_PAUSE = 0.5
_OWN_TURN = 0.6
_FEWEST_WORDS = 4
_COUNTS = ("never", "once", "twice", "three times", "four times", "five times", "six times")


def drafts(scene: Scene) -> Iterator[Draft]:
    """Yield what can be asked about order and turns in the format of `scene`."""
    if scene.format is Format.MULTIPLE:
        yield from _sides(scene)
        yield from _windows(scene)
        return
    yield from _follows(scene)
    if scene.format is Format.SINGLE:
        yield from _ends(scene)
        yield from _after_pause(scene)
        yield from _voice_changes(scene)


def _follows(scene: Scene) -> Iterator[Draft]:
    lines = scene.quotable(_FEWEST_WORDS)
    what = "Which of these" if scene.format is Format.SINGLE else "What"
    for here, there in pairwise(scene.lines):
        if here not in lines or there not in lines or not _are_apart(scene, here, there):
            continue
        asked = f"{what} is said directly after {quote(here.text)}"
        yield Draft(
            kind="follows",
            text=f"{asked}?",
            timed=f"{asked}, which starts at {seconds(here.start)}?",
            needs_time=scene.repeated(here),
            right=(there.text,),
            wrong=_texts(lines, but=(here, there)),
            cues=(scene.said(here), scene.said(there)),
            rationale=f"In the transcript {quote(there.text)} is the next sentence.",
            hints=("sequence", "order", "turn"),
        )


def _are_apart(scene: Scene, here: Line, there: Line) -> bool:
    """Tell whether two lines in a row are two turns, and not two parts of one."""
    if normal(here.text) == normal(there.text):
        return False
    voices = scene.voice(here), scene.voice(there)
    changes = None not in voices and voices[0] != voices[1]
    return changes or there.start - here.end >= _OWN_TURN


def _ends(scene: Scene) -> Iterator[Draft]:
    lines = scene.quotable(_FEWEST_WORDS)
    for index, line in enumerate(lines):
        before, after = lines[:index], lines[index + 1 :]
        for word, others, beyond in (("first", after, before), ("last", before, after)):
            yield Draft(
                kind=word,
                text=f"Of these sentences, which is said {word}?",
                right=(line.text,),
                wrong=_texts(others, but=(line, *beyond)),
                cues=(scene.said(line),),
                rationale=f"Of the options {quote(line.text)} comes {word}.",
                hints=("sequence", "order", "turn"),
            )


def _after_pause(scene: Scene) -> Iterator[Draft]:
    pauses = [
        pause
        for pause in scene.episode.signals.pauses
        if any(line.end <= pause.start + 0.2 for line in scene.lines)
        and any(line.start >= pause.end - 0.2 for line in scene.lines)
    ]
    longest = max(pauses, key=lambda pause: pause.end - pause.start, default=None)
    if longest is None or longest.end - longest.start < _SHORTEST_PAUSE:
        return
    line = min(scene.lines, key=lambda line: abs(line.start - longest.end))
    if line not in scene.quotable(_FEWEST_WORDS):
        return
    length = seconds(longest.end - longest.start)
    silent = f"No speech is heard for {length}"
    yield Draft(
        kind="pause",
        text="Which of these is said right after the longest pause between words in the clip?",
        right=(line.text,),
        wrong=_texts(scene.quotable(_FEWEST_WORDS), but=(line,)),
        cues=(
            scene.cue(longest.start, longest.end, Modality.PROSODY, silent),
            scene.said(line),
        ),
        rationale=f"The longest pause in the audio lasts {length}.",
        hints=("sequence", "order", "turn"),
    )


def _voice_changes(scene: Scene) -> Iterator[Draft]:
    turns = scene.episode.signals.turns
    for size in (3, 4, 5):
        for first in range(len(turns) - size + 1):
            window = turns[first : first + size]
            start, end = round(_middle(window[0]), 1), round(_middle(window[-1]), 1)
            changes = [there.start for here, there in pairwise(window) if here.voice != there.voice]
            if not changes or len(changes) >= len(_COUNTS) or _is_doubtful(window):
                continue
            moments = ", ".join(seconds(time) for time in changes)
            yield Draft(
                kind="voices",
                text="How many times does the speaking voice change between "
                f"{seconds(start)} and {seconds(end)}?",
                right=(_COUNTS[len(changes)],),
                wrong=tuple(count for count in _COUNTS[1:] if count != _COUNTS[len(changes)]),
                cues=(scene.cue(start, end, Modality.PROSODY, f"The voice changes at {moments}"),),
                rationale=f"Acoustic turns change voice at {moments}.",
                hints=("speaker", "turn", "participant", "who"),
            )


def _is_doubtful(window: Sequence[VoiceTurn]) -> bool:
    """Tell whether a voice seems to go on after a gap in which people usually take turns."""
    return any(
        here.voice == there.voice and there.start - here.end >= _SHORTEST_PAUSE
        for here, there in pairwise(window)
    )


def _sides(scene: Scene) -> Iterator[Draft]:
    lines = scene.quotable(_FEWEST_WORDS)
    for index, line in enumerate(lines):
        before, after = lines[:index], lines[index + 1 :]
        for word, right, wrong in (("before", before, after), ("after", after, before)):
            same = {normal(other.text) for other in right} & {normal(other.text) for other in wrong}
            right = tuple(other for other in right if normal(other.text) not in same)
            asked = f"Which of these are said {word} {quote(line.text)}"
            yield Draft(
                kind=word,
                text=f"{asked}?",
                timed=f"{asked}, which starts at {seconds(line.start)}?",
                needs_time=scene.repeated(line),
                right=_texts(right, but=(line,)),
                wrong=_texts(
                    [other for other in wrong if normal(other.text) not in same], but=(line,)
                ),
                cues=(scene.said(line), *(scene.said(other) for other in right)),
                rationale=f"These sentences come {word} the quoted one in the transcript.",
                hints=("sequence", "order", "turn"),
            )


def _windows(scene: Scene) -> Iterator[Draft]:
    lines = scene.quotable(_FEWEST_WORDS)
    for first in range(len(lines)):
        for size in (2, 3):
            inside = lines[first : first + size]
            if len(inside) < size:
                continue
            start, end = round(inside[0].start - 0.1, 1), round(inside[-1].end + 0.1, 1)
            outside = [line for line in lines if line.end < start or line.start > end]
            yield Draft(
                kind="between",
                text="Which of these are said between "
                f"{seconds(max(0.0, start))} and {seconds(end)}?",
                right=_texts(inside),
                wrong=_texts(outside, but=inside),
                cues=tuple(scene.said(line) for line in inside),
                rationale="The sentences lie inside the window; the others lie outside.",
                hints=("sequence", "order", "turn"),
            )


def _texts(lines: tuple[Line, ...] | list[Line], but: tuple[Line, ...] = ()) -> tuple[str, ...]:
    banned = {normal(line.text) for line in but}
    return tuple(line.text for line in lines if normal(line.text) not in banned)


def _middle(turn: VoiceTurn) -> float:
    return (turn.start + turn.end) / 2
