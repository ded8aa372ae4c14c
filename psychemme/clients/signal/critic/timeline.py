"""The critic's own view of the transcript: one long text whose characters have times."""

from dataclasses import dataclass

from rapidfuzz import fuzz

from psychemme.clients.signal.facts import normal, words
from psychemme.episode import Episode

_HEARD = 84.0


@dataclass(frozen=True)
class Timeline:
    """`text` is all that is said, normalised; `starts` and `ends` hold seconds per character."""

    text: str
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @classmethod
    def of(cls, episode: Episode) -> "Timeline":
        """Lay the words of `episode` out by start time."""
        every = sorted(
            (word for utterance in episode.transcript for word in words(utterance)),
            key=lambda word: word.start,
        )
        text, starts, ends = "", [], []
        for word in every:
            piece = normal(word.text) + " "
            text += piece
            starts += [word.start] * len(piece)
            ends += [word.end] * len(piece)
        return cls(text, tuple(starts), tuple(ends))

    def places(self, quote: str) -> list[tuple[float, float]]:
        """Return the windows where `quote` is said, else the one closest to it if close enough."""
        wanted = normal(quote)
        found, at = [], f" {self.text}".find(f" {wanted} ")
        while wanted and at >= 0:
            found.append((self.starts[at], self.ends[at + len(wanted) - 1]))
            at = f" {self.text}".find(f" {wanted} ", at + 1)
        return found or self._closest(wanted)

    def _closest(self, wanted: str) -> list[tuple[float, float]]:
        if not wanted or len(self.text) < len(wanted):
            return []
        match = fuzz.partial_ratio_alignment(wanted, self.text, score_cutoff=_HEARD)
        if match is None or match.dest_end <= match.dest_start:
            return []
        return [(self.starts[match.dest_start], self.ends[match.dest_end - 1])]

    def within(self, start: float, end: float) -> str:
        """Return the words that sound between `start` and `end`."""
        return "".join(
            letter
            for letter, begins, stops in zip(self.text, self.starts, self.ends, strict=True)
            if begins < end and start < stops
        ).strip()
