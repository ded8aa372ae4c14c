"""`psychemme episodes list`."""

import typer
from rich.table import Table

from psychemme.cli.app import (
    JsonOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)

episodes = typer.Typer(help="See the episodes that clips were cut into.", no_args_is_help=True)
app.add_typer(episodes, name="episodes")


@episodes.command("list")
def list_(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """List the episodes of every clip's newest preparation."""
    from construction.workspace import open_workspace
    from psychemme.vocabulary import DurationBand
    from state.clips import ClipStore

    with ClipStore(open_workspace(workspace_root(workspace)).database) as store:
        found = store.episodes()
    rows = [
        {
            "id": episode.id,
            "clip_id": episode.clip_id,
            "start": episode.start,
            "end": episode.end,
            "duration": episode.content.duration,
            "duration_band": DurationBand.of(episode.content.duration),
            "utterances": len(episode.content.transcript),
            "history": len(episode.content.history),
            "frames": len(episode.frames),
        }
        for episode in found
    ]
    if json:
        print_json(rows)
        return
    table = Table("id", "band", "said", "past", "frames", "opening words", title="Episodes")
    table.columns[0].no_wrap = True
    for row, episode in zip(rows, found, strict=True):
        words = episode.content.transcript[0].text[:32] if episode.content.transcript else ""
        table.add_row(
            str(row["id"]),
            str(row["duration_band"]),
            str(row["utterances"]),
            str(row["history"]),
            str(row["frames"]),
            plain(words),
        )
    out.print(table)
