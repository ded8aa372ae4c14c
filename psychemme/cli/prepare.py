"""`psychemme prepare`."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from psychemme.cli.app import WorkspaceOption, app, err, out, plain, workspace_root
from psychemme.cli.cluster import ClusterOption, cluster_of

if TYPE_CHECKING:
    from construction.plan import Plan
    from construction.prepare import Measure
    from construction.workspace import Workspace
    from psychemme.config import Settings


@app.command()
def prepare(
    workspace: WorkspaceOption = None,
    plan: Annotated[Path | None, typer.Option(help="Plan file with the episode limits.")] = None,
    asr: Annotated[
        str | None, typer.Option(help="Speech model: auto, bundled, off, or a folder.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Clips prepared at once.")] = None,
    cluster: ClusterOption = None,
) -> None:
    """Probe, transcribe and measure every clip, and choose its episodes. Safe to repeat."""
    from construction.plan import load_plan
    from construction.prepare import prepare_workspace
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    root = workspace_root(workspace)
    opened = open_workspace(root)
    flags = {"plan": plan, "asr": asr, "workers": workers}
    settings = load_settings(root, flags).settings
    chosen = load_plan(settings.plan)
    columns = (
        TextColumn("prepare"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[clip]}"),
    )
    hands = _hands(cluster_of(cluster, opened), opened, settings, chosen)
    with hands as measure, Progress(*columns, console=err) as progress:
        task = progress.add_task("prepare", total=None, clip="")

        def show(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, clip=plain(name))

        summary = prepare_workspace(opened, settings, chosen, show, measure)
    out.print(
        f"{summary.prepared} clips prepared, {summary.refused} refused, "
        f"{summary.unchanged} unchanged; {summary.episodes} episodes."
    )
    for note in summary.notes:
        out.print(f"[yellow]note[/] {plain(note)}", soft_wrap=True)


def _hands(
    cluster: str | None, workspace: "Workspace", settings: "Settings", plan: "Plan"
) -> "AbstractContextManager[Measure | None]":
    if cluster is None:
        return nullcontext()
    from construction.cluster.crew import open_measuring

    return open_measuring(cluster, workspace, settings, plan.episodes)
