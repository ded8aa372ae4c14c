"""Measured signals as a few short lines of text."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from psychemme.episode import FaceSample, Interval, Sample, Signals, VoiceTurn

MOST = 60
"""Entries a line may list; the rest are counted."""

PEAKS = 5
"""Motion peaks that are named."""


def seconds(time: float) -> str:
    """Return a time in seconds with two decimals."""
    return f"{time:.2f}"


def span(window: Interval | VoiceTurn) -> str:
    """Return a window as `start-end` in seconds."""
    return f"{seconds(window.start)}-{seconds(window.end)}"


def describe(signals: Signals) -> str:
    """Return `signals` as one line per kind; kinds that were not measured read `none`."""
    lines = {
        "speech (from the audio)": _listed(map(span, signals.speech)),
        "pauses (from the audio)": _listed(map(span, signals.pauses)),
        "voice turns (hint, not identity)": _listed(
            f"voice {turn.voice} {span(turn)}" for turn in signals.turns
        ),
        "faces in frame, by second": _listed(_faces(signals.faces)),
        "motion peaks": _listed(_peaks(signals.motion)),
        "shot changes": _listed(map(seconds, signals.shots)),
        "blur": _number(signals.blur),
        "brightness": _number(signals.brightness),
    }
    return "\n".join(f"{name}: {text}" for name, text in lines.items())


def _listed(entries: Iterable[str]) -> str:
    found = list(entries)
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return (", ".join(found[:MOST]) or "none") + more


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


def _faces(samples: Sequence[FaceSample]) -> Iterable[str]:
    """Yield runs of seconds with the same greatest number of faces, as `0-3: 2`."""
    counts: dict[int, int] = {}
    for sample in samples:
        second = int(sample.time)
        counts[second] = max(counts.get(second, 0), len(sample.boxes))
    # Seconds of one run have a constant difference to their rank.
    ranked = enumerate(sorted(counts.items()))
    for (_, count), run in groupby(ranked, key=lambda item: (item[1][0] - item[0], item[1][1])):
        inside = [second for _, (second, _) in run]
        yield f"{inside[0]}-{inside[-1] + 1}: {count}"


def _peaks(samples: Sequence[Sample]) -> Iterable[str]:
    """Yield the strongest local maxima in order of time, as `3.20 (0.15)`."""
    values = [0.0, *(sample.value for sample in samples), 0.0]
    around = zip(values, samples, values[2:], strict=False)
    peaks = [here for before, here, after in around if before < here.value >= after]
    strongest = sorted(peaks, key=lambda peak: (-peak.value, peak.time))[:PEAKS]
    for peak in sorted(strongest, key=lambda peak: peak.time):
        yield f"{seconds(peak.time)} ({peak.value:.3g})"
