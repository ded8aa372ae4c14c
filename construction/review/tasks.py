"""Items under review as Label Studio projects: their tasks and their footage."""

import shutil
from pathlib import Path

from construction.exports.label_studio import (
    LOCAL_FILES,
    ReviewTask,
    shown_reference,
    write_tasks,
)
from construction.exports.source import whole_folder
from construction.review.opening import footage_path
from construction.workspace import Workspace
from psychemme.errors import ReviewError
from psychemme.release.rows import Line
from psychology_kb.cards import ReviewForm
from state.review_desk import ReviewDesk
from state.review_values import ItemVersion
from state.runs import RunStore
from state.values import Dossier


def write_review_tasks(
    workspace: Workspace, out: Path, form: ReviewForm, *, with_references: bool = False
) -> int:
    """Write every item whose review is open to the new folder `out`; return how many.

    Each task names the version it shows, so that votes on it can be imported. Step two is written
    only `with_references`. Raises UserError where the folder is in use, ReviewError where no review
    is open.
    """
    with ReviewDesk(workspace.database) as desk, RunStore(workspace.database) as runs:
        items = [version.item for version in desk.versions() if version.closing is None]
        if not items:
            raise ReviewError("No item's review is open.", "Open a set first.")
        tasks = [
            _task(item, runs.dossier(item.candidate_key), with_references=with_references)
            for item in items
        ]
    with whole_folder(out) as folder:
        write_tasks(tasks, form, folder)
        (folder / "videos").mkdir()
        for place in sorted({(item.episode_id, item.preparation) for item in items}):
            footage = footage_path(workspace, *place)
            if footage.is_file():
                shutil.copyfile(footage, folder / "videos" / footage.name)
    return len(tasks)


def _task(item: ItemVersion, dossier: Dossier, *, with_references: bool) -> ReviewTask:
    lines = dossier.episode.content.transcript
    return ReviewTask(
        candidate_id=item.candidate_key,
        version=item.version,
        question=item.question,
        options=item.options,
        format=item.format,
        video=f"{LOCAL_FILES}{item.episode_id}-{item.preparation}.mp4",
        transcript=tuple(Line(start=one.start, end=one.end, text=one.text) for one in lines),
        reference=shown_reference(item.revealed) if with_references else "",
    )
