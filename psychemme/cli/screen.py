"""`psychemme screen` and `psychemme screen decide|show`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
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
from psychemme.vocabulary import ScreeningVerdict

if TYPE_CHECKING:
    from construction.screening.verdicts import Standing

screen = typer.Typer(
    help="Refuse clips that are unfit or show what another shows. Run it after `prepare`.",
    invoke_without_command=True,
)
app.add_typer(screen, name="screen")


@screen.callback()
def run(
    context: typer.Context,
    workspace: WorkspaceOption = None,
    plan: Annotated[Path | None, typer.Option(help="Plan file with the thresholds.")] = None,
    asr: Annotated[
        str | None, typer.Option(help="Speech model that tells languages, as for `prepare`.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Clips measured at once.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure every clip, compare all, and apply the thresholds of the plan. Safe to repeat."""
    if context.invoked_subcommand is not None:
        return
    from construction.plan import load_plan
    from construction.screening.pipeline import screen_workspace
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    root = workspace_root(workspace)
    opened = open_workspace(root)
    flags = {"plan": plan, "asr": asr, "workers": workers}
    settings = load_settings(root, flags).settings
    columns = (
        TextColumn("screen"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[clip]}"),
    )
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("screen", total=None, clip="")

        def show(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, clip=plain(name))

        found = screen_workspace(opened, settings, load_plan(settings.plan), show)
    if json:
        standings = {name: _as_json(each) for name, each in found.standings.items()}
        print_json({"clips": standings, "groups": found.groups, "notes": found.notes})
        return
    _print(found.standings)
    for group in found.groups:
        out.print(f"These show the same: {', '.join(group)}", soft_wrap=True)
    for note in found.notes:
        out.print(f"[yellow]note[/] {plain(note)}", soft_wrap=True)


@screen.command("show")
def show_(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """Show where every screened clip stands, with all that was measured in it."""
    from construction.screening.verdicts import read_standings
    from construction.workspace import open_workspace

    standings = read_standings(open_workspace(workspace_root(workspace)).database)
    if json:
        print_json({name: _as_json(each) for name, each in standings.items()})
        return
    _print(standings)


@screen.command("decide")
def decide(
    clip: Annotated[str, typer.Argument(metavar="CLIP", help="A clip's id, or the start of one.")],
    verdict: Annotated[ScreeningVerdict, typer.Argument(help="What is decided of it.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    by: Annotated[str, typer.Option(help="Who decides.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Decide on a clip: this goes before what machines say, but never before lacking terms."""
    from construction.screening.pipeline import decide as decide_on
    from construction.workspace import open_workspace

    database = open_workspace(workspace_root(workspace)).database
    standing = decide_on(database, clip, verdict, by, reason)
    out.print(
        f"{'refused' if standing.is_refused else 'kept'} (by {standing.decided_by or 'nobody'})"
    )
    if standing.is_refused and standing.refusal:
        out.print(plain(" ".join(standing.refusal)), soft_wrap=True)
    out.print("Run `psychemme screen` to let it take effect.")


def _as_json(standing: "Standing") -> dict[str, object]:
    return standing.model_dump(mode="json")


def _print(standings: "dict[str, Standing]") -> None:
    measured = ("speech s", "faces", "blur", "light", "still", "credits", "turns", "language")
    table = Table("id", "verdict", "by", *measured, title="Screening")
    for name, each in sorted(standings.items()):
        verdict = "refused" if each.is_refused else "kept"
        found = each.measures
        shown: tuple[object, ...] = (
            ()
            if found is None
            else (
                found.speech_seconds,
                found.face_share,
                found.blur,
                found.brightness,
                found.still_share,
                found.credits_share,
                found.turns,
                found.language,
            )
        )
        cells = ("" if value is None else plain(str(value)) for value in shown)
        table.add_row(name, verdict, plain(each.decided_by or ""), *cells)
    out.print(table)
    for name, each in sorted(standings.items()):
        for reason in each.reasons:
            out.print(f"{name} {plain(str(reason))}", soft_wrap=True)
