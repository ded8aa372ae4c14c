"""Exports of a release to the formats of other tools: one module each, looked up here.

Input is a release folder and nothing else. References stay behind unless they are asked for.
"""

from collections.abc import Callable
from pathlib import Path

from construction.exports import croissant, hf, inspect_task, label_studio, lmms_eval, vlmevalkit
from construction.exports.source import Source, open_source, whole_folder
from construction.exports.videos import find_clips, write_videos
from psychemme.errors import UserError

__all__ = ["FORMATS", "export"]

Writer = Callable[[Source, Path], list[str]]


FORMATS: dict[str, Writer] = {
    "hf": hf.write,
    "croissant": croissant.write,
    "lmms-eval": lmms_eval.write,
    "vlmevalkit": vlmevalkit.write,
    "inspect": inspect_task.write,
    "label-studio": label_studio.write,
}
"""The formats by their names on the command line; each fills a folder and returns notes."""


def export(
    release: Path,
    to: str,
    out: Path,
    *,
    with_references: bool = False,
    media: Path | None = None,
    date: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write the release at `release` to the folder `out` in the format `to`; return notes on it.

    `media` is the folder with the clips: each episode's window is then cut into the export, and
    `report` is told how many are done of how many. `date` (YYYY-MM-DD) is that of publication,
    where the release has none.
    The folder appears whole or not at all. Raises UserError for an unknown format and a folder that
    is in use, ReleaseError and MediaError.
    """
    if to not in FORMATS:
        raise UserError(f"There is no export {to!r}.", f"Use one of: {', '.join(FORMATS)}.")
    source = open_source(release, with_references=with_references, date=date, media=media)
    clips = find_clips(source.release, media) if media else {}
    with whole_folder(out) as part:
        notes = FORMATS[to](source, part)
        write_videos(source.release, clips, part / "videos", report)
    return notes
