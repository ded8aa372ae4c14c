"""The composition of a release in numbers, from its public rows alone."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from psychemme.release.rows import EpisodeRow, QuestionRow
from psychemme.release.words import frequent_words, words
from psychemme.vocabulary import Capability, DurationBand, Format

MOST_WORDS = 40


@dataclass(frozen=True)
class Composition:
    """The public rows of a release, counted. Durations in seconds, lengths in words."""

    questions: Sequence[QuestionRow]
    episodes: Sequence[EpisodeRow]

    @cached_property
    def subcategories(self) -> Mapping[Capability, Mapping[str, int]]:
        """Questions of each subcategory, by capability; only what there is."""
        found = {c: Counter[str]() for c in Capability}
        for row in self.questions:
            found[row.capability][row.subcategory] += 1
        return {c: dict(sorted(counted.items())) for c, counted in found.items() if counted}

    @cached_property
    def cells(self) -> Mapping[tuple[str, Capability, Format], int]:
        """Questions of each source, capability and format."""
        source = {row.id: row.source for row in self.episodes}
        return Counter((source[q.episode_id], q.capability, q.format) for q in self.questions)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources, those with most questions first."""
        counted = Counter({row.source: 0 for row in self.episodes})
        for (source, _, _), number in self.cells.items():
            counted[source] += number
        return tuple(sorted(counted, key=lambda source: (-counted[source], source)))

    @cached_property
    def formats(self) -> Mapping[Format, int]:
        """Questions of each format, in the order of formats; only those that occur."""
        counted = Counter(row.format for row in self.questions)
        return {form: counted[form] for form in Format if counted[form]}

    @cached_property
    def bands(self) -> Mapping[DurationBand, tuple[int, int]]:
        """Episodes and questions of each duration band."""
        band = {row.id: DurationBand.of(row.duration) for row in self.episodes}
        episodes, asked = (
            Counter(band.values()),
            Counter(band[q.episode_id] for q in self.questions),
        )
        return {each: (episodes[each], asked[each]) for each in DurationBand}

    @cached_property
    def lengths(self) -> Mapping[Format, tuple[int, ...]]:
        """How many words each question has, by format."""
        return {
            form: tuple(len(words(q.question)) for q in self.questions if q.format is form)
            for form in self.formats
        }

    @cached_property
    def frequent_words(self) -> Sequence[tuple[str, int]]:
        """The most frequent words, and how many questions hold each."""
        return frequent_words((q.question for q in self.questions), MOST_WORDS)

    def as_json(self) -> dict[str, object]:
        """Return what `statistics.json` holds."""
        return {
            "questions": len(self.questions),
            "episodes": len(self.episodes),
            "clips": len({row.sha256 for row in self.episodes}),
            "source_videos": len({row.source_video_id for row in self.episodes}),
            "recording_groups": len({row.recording_group for row in self.episodes}),
            "formats": {str(form): number for form, number in self.formats.items()},
            "capabilities": {str(c): dict(held) for c, held in self.subcategories.items()},
            "cells": [
                {"source": s, "capability": c, "format": f, "questions": number}
                for (s, c, f), number in sorted(self.cells.items())
            ],
            "episode_seconds": _summary([row.duration for row in self.episodes]),
            "bands": {
                str(band): {"episodes": held, "questions": asked}
                for band, (held, asked) in self.bands.items()
            },
            "question_words": {str(f): _summary(found) for f, found in self.lengths.items()},
            "frequent_words": [[word, number] for word, number in self.frequent_words],
        }


def _summary(values: Iterable[float]) -> dict[str, float]:
    found = sorted(values)
    return {
        "least": round(found[0], 3),
        "median": round(statistics.median(found), 3),
        "mean": round(statistics.fmean(found), 3),
        "most": round(found[-1], 3),
        "sum": round(sum(found), 3),
    }
