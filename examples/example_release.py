"""Make an example release from a workspace's accepted candidates.

No person has reviewed them: the manifest says `example`, and scores on it measure nothing.

    python examples/example_release.py WORKSPACE OUT
"""

import sys
import uuid
from pathlib import Path

from psychemme.release.rows import Earlier, EpisodeRow, Line, QuestionRow, ReferenceRow
from psychemme.release.write import write_release
from psychemme.vocabulary import CandidateState
from state.runs import RunStore
from state.values import Dossier

CANARY = str(uuid.uuid5(uuid.NAMESPACE_URL, "psychemme example release"))


def main(workspace: Path, out: Path) -> None:
    """Write the accepted candidates of the newest run as a release at `out`."""
    with RunStore(workspace / "state.db") as runs:
        newest = runs.runs()[-1].ordinal
        found = [runs.dossier(outcome.target.key) for outcome in runs.outcomes(newest)]
    kept = [d for d in found if d.outcome.state is CandidateState.ACCEPTED]
    facts = {
        "name": "example",
        "version": "0.1.0",
        "profile": "psychemme8",
        "example": True,
        "canary": CANARY,
        "versions": {"maker": kept[0].models["question"]},
    }
    write_release(
        out,
        facts,
        [_question(dossier) for dossier in kept],
        list({dossier.episode.id: _episode(dossier) for dossier in kept}.values()),
        [_reference(dossier) for dossier in kept],
    )
    print(f"{len(kept)} items -> {out}")


def _question(dossier: Dossier) -> QuestionRow:
    target, final = dossier.outcome.target, dossier.final
    if final is None or final.question is None:
        raise ValueError(f"{target.id} holds no question")
    return QuestionRow(
        id=target.id,
        episode_id=target.episode_id,
        capability=target.capability,
        subcategory=final.question.subcategory,
        format=target.format,
        question=final.question.question,
        options=final.question.options,
        public_context=dossier.episode.content.public_context,
        history=tuple(
            Earlier(text=entry.text, before=entry.before)
            for entry in dossier.episode.content.history
            if target.capability == "M"
        ),
        decision_time=final.question.decision_time,
    )


def _reference(dossier: Dossier) -> ReferenceRow:
    final = dossier.final
    if final is None or final.reference is None:
        raise ValueError(f"{dossier.outcome.target.id} holds no reference")
    return ReferenceRow(
        id=dossier.outcome.target.id,
        answer=final.reference.answer,
        cues=final.reference.cues,
        key_points=final.reference.key_points,
    )


def _episode(dossier: Dossier) -> EpisodeRow:
    clip, episode = dossier.clip, dossier.episode
    return EpisodeRow(
        id=episode.id,
        source=clip.source,
        source_group=clip.source_group,
        source_video_id=clip.source_video_id,
        recording_group=clip.recording_group,
        clip=Path(clip.path).name,
        sha256=clip.sha256,
        start=episode.start,
        end=episode.end,
        duration=episode.content.duration,
        transcript=tuple(
            Line(start=u.start, end=u.end, text=u.text) for u in episode.content.transcript
        ),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
