"""A synthetic release of text alone: many items, no clip, known references."""

import shutil
from pathlib import Path

from psychemme.items import Cue, KeyPoint, Option
from psychemme.release.rows import (
    Earlier,
    EpisodeRow,
    Line,
    QuestionRow,
    ReferenceRow,
    ReleaseFacts,
)
from psychemme.release.write import write_release
from psychemme.vocabulary import Capability, Format

FACTS = {
    "name": "synthetic",
    "version": "1.0.0",
    "profile": "none",
    "example": True,
    "canary": "synthetic-canary",
}
FORMS = (Format.SINGLE, Format.MULTIPLE, Format.OPEN)


def episode(number: int, clip: str = "none.mp4", sha256: str = "0" * 64) -> EpisodeRow:
    """Return an episode of 20 s with two lines; two episodes share a recording group."""
    return EpisodeRow(
        id=f"e{number:04}",
        source="test",
        source_group="test",
        source_video_id=f"v{number}",
        recording_group=f"g{number // 2}",
        clip=clip,
        sha256=sha256,
        start=0.0,
        end=20.0,
        duration=20.0,
        licence="CC0-1.0",
        consent="synthetic",
        transcript=(
            Line(start=1, end=3, text=f"Could you hold ladder {number}?"),
            Line(start=4, end=6, text="Sure, give me a second."),
        ),
    )


def question(number: int, capability: Capability, form: Format) -> QuestionRow:
    """Return item `number`, three items an episode; Memory items have a history."""
    texts = ("hold the ladder", "fetch a drink of water", "open it", "leave")
    options = [Option(id="ABCD"[i], text=text) for i, text in enumerate(texts)]
    return QuestionRow(
        id=f"q{number:04}",
        episode_id=f"e{number // 3:04}",
        capability=capability,
        subcategory="any",
        format=form,
        question=f"What is asked for in scene {number}?",
        options=options if form.is_choice else (),
        public_context="Two people at a house.",
        history=(Earlier(text="I like to be asked. " * (1 + number % 5), before=60.0),)
        if capability is Capability.MEMORY
        else (),
    )


def reference(row: QuestionRow) -> ReferenceRow:
    """Return the reference of an item: A, or A and B, or a text."""
    answers = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: "hold the ladder"}
    return ReferenceRow(
        id=row.id,
        answer=answers[row.format],
        cues=(Cue(start=1, end=3, modality="speech", description="PRIVATE-CUE asks for it"),),
        key_points=() if row.format.is_choice else (KeyPoint(text="PRIVATE-POINT ladder"),),
    )


def make_rows(
    count: int = 24, capabilities: tuple[Capability, ...] = tuple(Capability), **clip: str
) -> tuple[list[QuestionRow], list[EpisodeRow], list[ReferenceRow]]:
    """Return `count` items over `capabilities` in turn, their episodes and references."""
    questions = [
        question(n, capabilities[n % len(capabilities)], FORMS[n % 7 % 3]) for n in range(count)
    ]
    episodes = [episode(n, **clip) for n in range((count + 2) // 3)]
    return questions, episodes, [reference(q) for q in questions]


def make_release(
    root: Path,
    count: int = 24,
    capabilities: tuple[Capability, ...] = tuple(Capability),
    **facts: object,
) -> Path:
    """Write a release of these rows in place of an earlier one, and return its folder."""
    for part in ("public", "private"):
        shutil.rmtree(root / part, ignore_errors=True)
    (root / "SHA256SUMS").unlink(missing_ok=True)
    clip = {key: facts.pop(key) for key in ("clip", "sha256") if key in facts}
    said = ReleaseFacts.model_validate(FACTS | facts)
    write_release(root, said, *make_rows(count, capabilities, **clip))
    return root
