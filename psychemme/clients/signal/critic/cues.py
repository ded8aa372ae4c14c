"""Test whether cues hold what they claim."""

import re

from rapidfuzz import fuzz

from psychemme.clients.signal.critic.timeline import Timeline
from psychemme.clients.signal.facts import normal
from psychemme.episode import Episode, Interval
from psychemme.items import Cue
from psychemme.vocabulary import Modality

_QUOTED = re.compile(r"[\"“](.+)[\"”]")
_SLACK = 0.5
_SAME = 80.0
_MOSTLY = 0.5


def holds(cue: Cue, episode: Episode, timeline: Timeline) -> bool:
    """Tell whether `cue` lies inside `episode` and is supported by what was measured there."""
    if not 0 <= cue.start < cue.end <= episode.duration:
        return False
    quoted = _QUOTED.search(cue.description)
    if cue.modality is Modality.SPEECH:
        heard = timeline.within(cue.start - _SLACK, cue.end + _SLACK)
        return bool(heard) and (quoted is None or _inside(quoted[1], heard))
    if cue.modality is Modality.HISTORY:
        past = normal(" ".join(entry.text for entry in episode.history))
        return bool(past) and (quoted is None or _inside(quoted[1], past))
    if cue.modality is Modality.PROSODY:
        return _prosody(cue, episode)
    if cue.modality is Modality.VISUAL:
        return _visible(cue, episode)
    return bool(episode.public_context)


def quiet(start: float, end: float, speech: tuple[Interval, ...]) -> float:
    """Return the share of the window in which no speech interval lies."""
    talk = sum(max(0.0, min(end, part.end) - max(start, part.start)) for part in speech)
    return 1.0 - talk / (end - start)


def _inside(quote: str, text: str) -> bool:
    wanted = normal(quote)
    return f" {wanted} " in f" {text} " or fuzz.partial_ratio(wanted, text) >= _SAME


def _prosody(cue: Cue, episode: Episode) -> bool:
    if "no speech" in cue.description.casefold():
        return quiet(cue.start, cue.end, episode.signals.speech) >= _MOSTLY
    return any(turn.start < cue.end and cue.start < turn.end for turn in episode.signals.turns)


def _visible(cue: Cue, episode: Episode) -> bool:
    signals = episode.signals
    faces = any(cue.start <= face.time <= cue.end and face.boxes for face in signals.faces)
    return faces or any(
        cue.start <= moved.time <= cue.end and moved.value > 0 for moved in signals.motion
    )
