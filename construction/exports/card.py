"""The text of a dataset card. What comes from the release is escaped."""

import html
from collections import Counter
from collections.abc import Iterable, Sequence

from construction.exports.source import Source
from psychemme.release.faults import counted
from psychemme.vocabulary import Format

_USE = """\
## Responsible use

- It is a benchmark: do not train on it, and do not publish its text where crawlers find it. Its
  lines carry a canary, so that copies in training data can be found.
- The people in the clips are real. Use the clips only within the licence and consent of their
  source, listed above; this dataset grants no right to them.
- Items ask about situated judgments of observable behaviour. They diagnose nobody, measure nobody's
  personality, and a score on them does not qualify a model to counsel people.
- Norms about helping, refusing and interrupting differ by culture and relationship.
"""
_EXAMPLE = """\
> **A demonstration.** This release was made to show the format. Its items were not approved by
> people with a background in psychology, and scores on it measure nothing.

"""


def card(source: Source) -> str:
    """Return the card's Markdown without its front matter."""
    manifest = source.release.manifest
    return "\n".join(
        [
            f"# {text(source.title)}\n",
            f"{_EXAMPLE if manifest.example else ''}{_summary(source)}",
            f"## Composition\n\n{_composition(source)}",
            f"## Licence and consent\n\n{_provenance(source)}",
            _USE,
            f"## How it was made\n\n{_making(source)}",
            f"## Citation\n\n{text(manifest.citation) or 'None is given.'}\n",
            f"Canary: {text(source.canary)}\n",
        ]
    )


def readme(source: Source, notes: Sequence[str], commands: str) -> str:
    """Return the README of an export that a tool runs: what is left out, how to run it."""
    example = _EXAMPLE if source.release.manifest.example else ""
    left_out = "".join(f"- {note}\n" for note in notes)
    return (
        f"# {text(source.title)}\n\n{example}{len(source.release.questions)} questions about "
        f"{len(source.release.episodes)} episodes.\n\n{left_out}\n```sh\n{commands}\n```\n\n"
        f"A choice answer is right when it is the exact option or the complete set. Read "
        f"`psychemme evaluate` for other conditions.\n\n{_USE}\nCanary: {text(source.canary)}\n"
    )


def text(value: str) -> str:
    """Return untrusted text as one line of Markdown that is neither markup nor a new cell."""
    line = html.escape(" ".join(value.split()), quote=False)
    return "".join(f"\\{c}" if c in "\\`*_[]|#~!" else c for c in line)


def _summary(source: Source) -> str:
    release = source.release
    parts = [
        f"{len(release.questions)} questions about {len(release.episodes)} episodes of social "
        "interaction in videos. Each asks for one psychological judgment that can be grounded in "
        "what is seen and heard.",
        "Configurations: `questions` (what is asked), `episodes` (the window of the clip, its "
        "transcript and provenance; joined by `episode_id`)"
        + (
            ", `references` (answers, cues, key points; joined by `id`)." if _keyed(source) else "."
        ),
        "The references are in this dataset: keep it private."
        if _keyed(source)
        else "The references are not in this dataset; scoring needs the release's private part.",
        "The windows are in `videos/`."
        if source.has_videos
        else "The clips are not in this dataset: `clip`, `sha256`, `start` and `end` say what to "
        "cut (seconds from the clip's start).",
    ]
    return "\n\n".join(parts) + "\n"


def _keyed(source: Source) -> bool:
    return source.references is not None


def _composition(source: Source) -> str:
    release = source.release
    counted = Counter((row.capability, row.format) for row in release.questions.values())
    rows = [
        [str(capability), *(str(counted[capability, form]) for form in Format)]
        for capability in release.manifest.capabilities
    ]
    lengths = sorted(row.duration for row in release.episodes.values())
    spread = f"Episodes last {lengths[0]:.1f} to {lengths[-1]:.1f} s." if lengths else ""
    return f"{_table(['capability', *(form.value for form in Format)], rows)}\n\n{spread}\n"


def _provenance(source: Source) -> str:
    manifest = source.release.manifest
    own = text(manifest.licence) or "none is stated"
    episodes = source.release.episodes.values()
    found = Counter((e.source, e.licence or "", e.consent or "", e.url or "") for e in episodes)
    rows = [[*map(text, key), str(number)] for key, number in sorted(found.items())]
    table = _table(["source", "licence", "consent basis", "address", "episodes"], rows)
    return (
        f"Questions and annotations: {own}. The clips have the terms of their sources:\n\n{table}\n"
    )


def _making(source: Source) -> str:
    manifest = source.release.manifest
    review = manifest.review
    voted = (
        f"{counted(review.items_reviewed, 'item')} went to review, each to "
        + counted(review.reviewers_per_item, "reviewer")
        + (", by demonstration votes that come from no person." if review.demonstration else ".")
        if review
        else "The release does not say how its items were reviewed."
    )
    lines = [
        f"- Profile: {text(manifest.profile)}; format version {text(manifest.format_version)}",
        *(f"- {text(role)}: {text(model)}" for role, model in sorted(manifest.models.items())),
        *(f"- Gate {text(gate)}: {state}" for gate, state in sorted(manifest.gates.items())),
        f"- {voted}",
    ]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
