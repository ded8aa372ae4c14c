"""A Shared State with one clip, one episode and one candidate, for tests."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

from psychemme.episode import Episode, HistoryEntry, Interval, Signals, Utterance
from psychemme.items import Cue, IndependentAnswer, KeyPoint, Option, Proposal, Question, Reference
from psychemme.vocabulary import Capability, ClipStatus, Format
from state import migrate
from state.address import Address
from state.clips import ClipStore
from state.runs import RunStore
from state.values import CandidateTarget, ClipRecord, EpisodeRecord, RunRecord

EPISODE = Episode(
    duration=20.0,
    public_context="Two people at a table.",
    transcript=(
        Utterance(start=1.0, end=3.0, text="Could you hold the ladder for me?"),
        Utterance(start=4.0, end=6.0, text="Sure, give me a second."),
        Utterance(start=8.0, end=10.0, text="No thank you, I will do it myself."),
        Utterance(start=12.0, end=14.0, text="All right, tell me if you change your mind."),
    ),
    signals=Signals(
        speech=(Interval(start=1, end=3), Interval(start=4, end=6), Interval(start=8, end=14)),
        pauses=(Interval(start=6, end=8),),
    ),
    history=(HistoryEntry(before=20.0, text="I like to be asked before people help me."),),
)

CLIP = ClipRecord(
    id="0123456789abcdef",
    sha256="0123456789abcdef" * 4,
    path="/nowhere/clip.mp4",
    size=1,
    modified_at=1,
    status=ClipStatus.PREPARED,
    source="test",
    source_group="test",
    source_video_id="video",
    recording_group="video",
    verified=True,
    source_start=0.0,
    added_at=1,
)

EPISODE_ID = f"{CLIP.id}-0-20000"


def target(
    candidate_id: str = "c0",
    capability: Capability = Capability.GROUNDING,
    form: Format = Format.SINGLE,
    pick: int = 0,
) -> CandidateTarget:
    """Return a candidate's target in run 1."""
    return CandidateTarget(
        key=f"1-{candidate_id}",
        id=candidate_id,
        run=1,
        batch=0,
        pick=pick,
        episode_id=EPISODE_ID,
        preparation=1,
        capability=capability,
        format=form,
        cell_json="{}",
    )


@cache
def empty_file() -> Path:
    """Return a SQLite file of the newest revision, to be copied."""
    path = Path(tempfile.mkdtemp(prefix="psychemme-test-")) / "empty.db"
    migrate.upgrade(path)
    return path


def make_state(address: Address, *targets: CandidateTarget) -> None:
    """Fill a database with the clip, the episode, run 1 and its candidates.

    A SQLite file is created; a PostgreSQL database is there, and empty.
    """
    if isinstance(address, Path):
        shutil.copy(empty_file(), address)
    with ClipStore(address) as clips:
        clips.put_clip(CLIP)
        episode = EpisodeRecord(
            id=EPISODE_ID, clip_id=CLIP.id, preparation=1, start=0.0, end=20.0, content=EPISODE
        )
        clips.save_preparation(CLIP, 1, "hash", "sidecar", {}, [episode])
    with RunStore(address) as runs:
        models = dict.fromkeys(("question", "answer", "critic"), "scripted")
        runs.start_run(
            RunRecord(
                ordinal=1,
                seed=7,
                count=len(targets),
                preparation=1,
                models=models,
                pins={},
                plan_json=json.dumps({}),
                created_at=0,
            )
        )
        runs.start_batch(targets)


def proposal(token: str = "", right: str = "A", form: Format = Format.SINGLE) -> Proposal:
    """Return a sound proposal; `token` is planted in every private text of it."""
    options = tuple(
        Option(id=letter, text=text)
        for letter, text in zip("ABC", ("hold the ladder", "fetch a drink", "open it"), strict=True)
    )
    answer = {
        Format.SINGLE: right,
        Format.MULTIPLE: ["A", "B"],
        Format.OPEN: f"hold the ladder {token}",
    }
    return Proposal(
        question=Question(
            subcategory="speaker_addressee",
            question="What is asked for between 1 and 3 s?",
            options=options if form.is_choice else (),
        ),
        reference=Reference(
            answer=answer[form],
            cues=(Cue(start=1, end=3, modality="speech", description=f"the request {token}"),),
            key_points=(KeyPoint(text=f"ladder {token}"),) if form is Format.OPEN else (),
            rationale=f"because of the request {token}",
        ),
    )


def independent(answer: str | list[str] = "A") -> IndependentAnswer:
    """Return an independent answer."""
    return IndependentAnswer(answer=answer, rationale="heard it")
