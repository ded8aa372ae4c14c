"""Approved versions as the rows of a release; pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from psychemme.release.rows import Earlier, EpisodeRow, Line, QuestionRow, ReferenceRow
from psychemme.vocabulary import Capability
from state.review_values import ItemVersion
from state.values import ClipRecord, Dossier

Approved = tuple[ItemVersion, Dossier]
Rows = tuple[list[QuestionRow], list[EpisodeRow], list[ReferenceRow]]


def release_rows(approved: Sequence[Approved]) -> Rows:
    """Return the questions, episodes and references of approved versions."""
    names = clip_names(dossier.clip for _, dossier in approved)
    # Two preparations of an episode that differ stay two rows, which a release refuses.
    episodes = dict.fromkeys(_episode(dossier, names[dossier.clip.id]) for _, dossier in approved)
    questions = [_question(item, dossier) for item, dossier in approved]
    references = [_reference(item, dossier) for item, dossier in approved]
    return questions, list(episodes), references


def clip_names(clips: Iterable[ClipRecord]) -> dict[str, str]:
    """Return, by clip id, the shortest end of each clip's path that no other clip's path has.

    That is the file's name, unless two clips are called alike: then as many folders stand before
    it as tell them apart, so that a folder above both finds each. Clips that lay at one path, one
    after the other, have their id before the name.
    """
    paths = {clip.id: PurePosixPath(Path(clip.path).absolute()) for clip in clips}
    held = Counter(end for path in paths.values() for end in _ends(path))
    return {
        name: str(next((end for end in _ends(path) if held[end] == 1), f"{name}/{path.name}"))
        for name, path in paths.items()
    }


def _ends(path: PurePosixPath) -> list[PurePosixPath]:
    parts = path.parts[1:]
    return [PurePosixPath(*parts[start:]) for start in reversed(range(len(parts)))]


def _question(item: ItemVersion, dossier: Dossier) -> QuestionRow:
    episode, revealed = dossier.episode.content, item.revealed
    history = episode.history if revealed.capability is Capability.MEMORY else ()
    return QuestionRow(
        id=dossier.outcome.target.id,
        episode_id=item.episode_id,
        capability=revealed.capability,
        subcategory=revealed.subcategory,
        format=item.format,
        question=item.question,
        options=item.options,
        public_context=episode.public_context,
        history=tuple(Earlier(text=entry.text, before=entry.before) for entry in history),
        decision_time=item.decision_time,
    )


def _reference(item: ItemVersion, dossier: Dossier) -> ReferenceRow:
    revealed = item.revealed
    return ReferenceRow(
        id=dossier.outcome.target.id,
        answer=revealed.answer,
        cues=revealed.cues,
        key_points=revealed.key_points,
    )


def _episode(dossier: Dossier, clip_name: str) -> EpisodeRow:
    clip, episode = dossier.clip, dossier.episode
    return EpisodeRow(
        id=episode.id,
        source=clip.source,
        source_group=clip.source_group,
        source_video_id=clip.source_video_id,
        recording_group=clip.recording_group,
        clip=clip_name,
        sha256=clip.sha256,
        start=episode.start,
        end=episode.end,
        duration=episode.content.duration,
        transcript=tuple(
            Line(start=line.start, end=line.end, text=line.text)
            for line in episode.content.transcript
        ),
        source_start=clip.source_start,
        licence=clip.licence,
        consent=clip.consent,
        url=clip.url,
    )
