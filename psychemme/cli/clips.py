"""`psychemme clips add|list`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from psychemme.cli.app import (
    JsonOption,
    WorkspaceOption,
    app,
    err,
    out,
    plain,
    print_json,
    workspace_root,
)

clips = typer.Typer(help="Add clips and see what became of them.", no_args_is_help=True)
app.add_typer(clips, name="clips")


@clips.command("add")
def add(
    paths: Annotated[
        list[str], typer.Argument(help="Media files, folders of them, or URIs of files.")
    ],
    source: Annotated[str, typer.Option(help="Where the clips come from.")] = "unknown",
    source_group: Annotated[
        str | None, typer.Option(help="Group for coverage.  [default: the source]")
    ] = None,
    source_video: Annotated[
        str | None, typer.Option(help="Id of the original recording.  [default: one per file]")
    ] = None,
    source_start: Annotated[
        float,
        typer.Option(
            min=0, max=1e7, help="Seconds into the original recording where the clip starts."
        ),
    ] = 0.0,
    recording_group: Annotated[
        str | None, typer.Option(help="Id shared by synchronised cameras.")
    ] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the footage.")] = None,
    consent: Annotated[str | None, typer.Option(help="Consent basis of those shown.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the footage was published.")] = None,
    context: Annotated[str, typer.Option(help="Public context every agent may read.")] = "",
    history: Annotated[
        Path | None, typer.Option(help="YAML or JSON history for Memory questions.")
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Add clips by reference; nothing is copied. Folders are searched for media files.

    Adding a clip again states the licence, consent or URL that it lacks.
    """
    from construction.ingest import Provenance, add_clips
    from construction.workspace import open_workspace
    from state.clips import ClipStore

    provenance = Provenance(
        source=source,
        source_group=source_group or source,
        source_video_id=source_video,
        source_start=source_start,
        recording_group=recording_group,
        licence=licence,
        consent=consent,
        url=url,
        context=context,
        history=history,
    )
    with ClipStore(open_workspace(workspace_root(workspace)).database) as store:
        lacking: set[str] = set()
        for added in add_clips(store, paths, provenance):
            lacking.update(added.lacks)
            out.print(f"{added.id}  {added.verdict:<9} {plain(added.path)}", soft_wrap=True)
    if lacking:
        err.print(
            f"No {' or '.join(sorted(lacking))} is stated for some of them: no item on them can be "
            "frozen. Add them again with --licence and --consent to state it.",
            soft_wrap=True,
        )


@clips.command("list")
def list_(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """List every clip with its status and, where it was refused, reason and next action."""
    from construction.workspace import open_workspace
    from state.clips import ClipStore

    with ClipStore(open_workspace(workspace_root(workspace)).database) as store:
        found = store.clips()
    if json:
        shown = {"id", "path", "status", "reason", "duration", "action", "source"}
        shown |= {"licence", "consent", "url"}
        print_json([clip.model_dump(mode="json", include=shown) for clip in found])
        return
    table = Table("id", "file", "status", "seconds", title="Clips")
    for clip in found:
        seconds = "" if clip.duration is None else f"{clip.duration:.1f}"
        table.add_row(clip.id, plain(Path(clip.path).name), clip.status, seconds)
    out.print(table)
    for clip in found:
        if clip.reason:
            why = " ".join(filter(None, (clip.reason, clip.action)))
            out.print(f"{clip.id} {clip.status}: {plain(why)}", soft_wrap=True)
