"""Clips that were screened, and what a model said of them, for tests."""

from pathlib import Path

from construction.screening.pipeline import GATE
from construction.screening.rubric import Rated, Rating, Ratings
from construction.screening.rules import SAME_AS, Measures, Reason, RubricMinimum, ScreeningRules
from construction.screening.verdicts import word_of_model, word_of_rules
from construction.workspace import Workspace
from psychemme.media.blobs import BlobStore
from psychemme.media.episode_media import episode_media
from psychemme.media.settings import MediaSettings
from psychemme.vocabulary import ClipStatus
from state.clips import ClipStore
from state.leakage import LeakageStore
from state.screening import ScreeningStore
from tests.construction.report_cases import HOSTILE
from tests.support.clips import write_clip
from tests.support.states import CLIP

COPY, OTHER, BROKEN = "1" * 16, "2" * 16, "3" * 16
RULES = ScreeningRules(min_blur=50.0)
MEASURES = Measures(seconds=3.0, blur=20.0, said=HOSTILE)


def rated(reason: str = "", model: str = "eye", **scores: int) -> Rated:
    """Return a reply with 2 in each dimension but those of `scores`."""
    ratings = {
        name: Rating(reason=reason, score=scores.get(name, 2)) for name in Ratings.model_fields
    }
    return Rated(
        model=model,
        request_key="k",
        prompt_id="screening",
        prompt_hash="h",
        parameters_json="{}",
        text="",
        finish_reason="stop",
        ratings=Ratings(**ratings),
    )


def fill_clips(workspace: Workspace, folder: Path) -> None:
    """Add a copy of the first clip, one that a model refuses, and one that cannot be used."""
    clip = write_clip(folder / "clip.mp4", seconds=3)
    few, blobs = MediaSettings(most_frames=12), BlobStore(workspace.blobs)
    episode_media(clip, 0.0, 3.0, few, blobs, CLIP.sha256)
    duration = {"duration": 3.0}
    with ClipStore(workspace.database) as clips:
        for name, changes in (
            (CLIP.id, duration | {"path": f"/nowhere/{HOSTILE.replace('/', '|')}"}),
            (COPY, duration),
            (OTHER, duration),
            (BROKEN, {"status": ClipStatus.REFUSED, "reason": "'x.mp4' has no video."}),
        ):
            sha256 = CLIP.sha256 if name == CLIP.id else name * 4
            clips.put_clip(CLIP.model_copy(update={"id": name, "sha256": sha256} | changes))
    copy = Reason(rule="duplicates", measure="2 of 63", threshold="12", detail=SAME_AS + CLIP.id)
    blur = Reason(rule="min_blur", measure="20", threshold="50")
    reply = rated(HOSTILE, "eye<b>", safety=0)
    with (
        ScreeningStore(workspace.database) as store,
        LeakageStore(workspace.database) as runs,
    ):
        runs.begin(GATE, {"rules": RULES.model_dump_json()})
        store.record(CLIP.id, word_of_rules((blur,), MEASURES))
        store.record(COPY, word_of_rules((copy,), MEASURES))
        store.record(OTHER, word_of_rules((), Measures(seconds=3.0, blur=90.0)))
        store.record(OTHER, word_of_model(reply, RubricMinimum()))
