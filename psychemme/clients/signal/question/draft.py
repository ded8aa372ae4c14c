"""What a family of questions offers before options are chosen, and what it works on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from psychemme.clients.signal.facts import Line, lines, normal, tokens
from psychemme.clients.signal.question.utterances import fragments, voice_of
from psychemme.episode import Episode
from psychemme.items import Cue
from psychemme.vocabulary import Format, Modality

if TYPE_CHECKING:
    from psychology_kb.cards import Norm


_LONGEST_QUOTE = 25
_SHORTEST_CUE = 0.05


@dataclass(frozen=True)
class Draft:
    """One fact that can be asked about.

    `text` is the question; `timed` says the same with a time that settles which utterance is
    meant. `right` holds the right options (or the open answer, split into key points), `wrong`
    the pool of distractors.
    """

    kind: str
    text: str
    right: tuple[str, ...]
    cues: tuple[Cue, ...]
    rationale: str
    wrong: tuple[str, ...] = ()
    timed: str | None = None
    needs_time: bool = False
    decision_time: float | None = None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """What the proposer works on; `chance` is the same for every question of a kind."""

    episode: Episode
    lines: tuple[Line, ...]
    norms: "tuple[Norm, ...]"
    capability: str
    format: Format
    chance: Random
    broken: frozenset[Line] = field(default_factory=frozenset)

    @classmethod
    def of(
        cls, episode: Episode, norms: "Sequence[Norm]", capability: str, form: Format
    ) -> "Scene":
        """Read the lines of `episode` once."""
        spoken = lines(episode)
        chance = Random(f"{capability} {form} {episode.duration}")  # noqa: S311
        broken = fragments(spoken, episode)
        return cls(episode, spoken, tuple(norms), str(capability), form, chance, broken)

    def quotable(self, fewest: int = 2) -> tuple[Line, ...]:
        """Return the whole utterances that read well in a question: `fewest` to 25 words."""
        return tuple(
            line
            for line in self.lines
            if line not in self.broken and fewest <= len(tokens(line.text)) <= _LONGEST_QUOTE
        )

    def voice(self, line: Line) -> int | None:
        """Return the voice that most of `line` is spoken in, None where none is told apart."""
        return voice_of(line, self.episode)

    def repeated(self, line: Line) -> bool:
        """Tell whether another line has the same words."""
        return sum(normal(other.text) == normal(line.text) for other in self.lines) > 1

    def cue(self, start: float, end: float, modality: Modality, description: str) -> Cue:
        """Return a cue whose window lies inside the episode."""
        start = min(max(0.0, start), max(0.0, self.episode.duration - _SHORTEST_CUE))
        end = min(max(end, start + _SHORTEST_CUE), self.episode.duration)
        return Cue(
            start=round(start, 3), end=round(end, 3), modality=modality, description=description
        )

    def said(self, line: Line) -> Cue:
        """Return the speech cue of `line`."""
        return self.cue(line.start, line.end, Modality.SPEECH, f"Someone says {quote(line.text)}")


def quote(text: str) -> str:
    """Return `text` in double quotes, without a final stop and with quotes inside made single."""
    inner = text.strip().rstrip(".,;: ")
    for mark in '"“”':
        inner = inner.replace(mark, "'")
    return f'"{inner}"'


def seconds(time: float) -> str:
    """Return a time as it reads in questions and options."""
    return f"{time:.1f} s"
