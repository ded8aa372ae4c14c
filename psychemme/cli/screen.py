"""`psychemme screen` and `psychemme screen decide|show`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
from psychemme.cli.costs import budget_note, money
from psychemme.cli.running import progress_bar, stop_on_signals, stopped
from psychemme.cli.tables import new_table, print_table
from psychemme.errors import Stopped
from psychemme.vocabulary import ScreeningVerdict

if TYPE_CHECKING:
    from construction.endpoints import Spending
    from construction.plan import Plan
    from construction.screening.pipeline import Screened
    from construction.screening.rubric import Rated
    from construction.screening.verdicts import Standing
    from construction.workspace import Workspace
    from psychemme.config import Settings

_AGAIN = "Run it again to go on; every reply is kept."

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
    model: Annotated[
        str | None, typer.Option(help="Model that looks at what is left, and rates it by rubric.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Clips asked about at once.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="US dollars that all ratings here may take; it can resume."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost of --model.")
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Answer equal requests from disk.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Measure every clip, compare all, and apply the thresholds of the plan. Safe to repeat."""
    if context.invoked_subcommand is not None:
        return
    from construction.endpoints import Spending
    from construction.plan import load_plan
    from construction.screening.verdicts import read_unusable
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    if model is None and (dry_run or budget is not None or base_url or concurrency):
        raise typer.BadParameter("say --model NAME")
    root = workspace_root(workspace)
    opened = open_workspace(root)
    flags = {
        "plan": plan,
        "asr": asr,
        "workers": workers,
        "base_url": base_url,
        "concurrency": concurrency,
    }
    settings = load_settings(root, flags).settings
    if model is not None:
        from construction.screening.due import refuse_model
        from psychemme.clients.cards import load_cards

        refuse_model(model, load_cards(root))
        if dry_run:
            _estimate(opened, settings, model, budget, json)
            return
    chosen = load_plan(settings.plan)
    found = _screen(opened, settings, chosen)
    if model is not None:
        spending = Spending(budget=budget, cache=cache)
        asyncio.run(_rate(opened, settings, chosen, model, found, spending))
    if json:
        standings = {name: _as_json(each) for name, each in found.standings.items()}
        unusable = read_unusable(opened.database)
        print_json(
            {
                "clips": standings,
                "unusable": unusable,
                "groups": found.groups,
                "notes": found.notes,
            }
        )
        return
    _print(found.standings, read_unusable(opened.database))
    for group in found.groups:
        out.print(f"These show the same: {', '.join(group)}", soft_wrap=True)
    for note in found.notes:
        out.print(f"[yellow]note[/] {plain(note)}", soft_wrap=True)


def _screen(opened: "Workspace", settings: "Settings", plan: "Plan") -> "Screened":
    from construction.screening.pipeline import screen_workspace

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

        return screen_workspace(opened, settings, plan, show)


async def _rate(
    opened: "Workspace",
    settings: "Settings",
    plan: "Plan",
    model: str,
    found: "Screened",
    spending: "Spending",
) -> None:
    from construction.screening.asking import rating
    from construction.screening.pipeline import take_effect

    stop = stop_on_signals()
    with progress_bar("rate") as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, cost: float | None) -> None:
            text = f"cost {money(cost)}"
            bar.update(task, total=total, completed=done, description=text)

        minimum, prepared = plan.screening.rubric_minimum, found.prepared
        async with rating(opened, settings, minimum, model, prepared, stop, spending) as job:
            job.report = show
            try:
                await job.finish()
            except Stopped as why:
                raise stopped(str(why) or "Stopped with work left.", _AGAIN) from None
    found.standings = take_effect(opened, settings, plan, prepared)


def _estimate(
    opened: "Workspace", settings: "Settings", model: str, budget: float | None, as_json: bool
) -> None:
    from construction.screening.estimate import estimate_rating

    found = estimate_rating(opened, settings, model)
    if as_json:
        print_json(vars(found))
        return
    out.print(
        f"calls {found.calls}  tokens in {found.input_tokens}  cost {money(found.expected_cost)}, "
        f"at most {money(found.cost)}"
    )
    if budget is not None:
        out.print(budget_note(budget, found.spent, found.expected_cost, found.cost))
    if found.unscreened:
        out.print(f"{found.unscreened} clips are left out: run `psychemme screen` first.")


@screen.command("show")
def show_(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """Show where every screened clip stands, with all that was measured in it."""
    from construction.screening.verdicts import read_standings, read_unusable
    from construction.workspace import open_workspace

    database = open_workspace(workspace_root(workspace)).database
    standings = read_standings(database)
    if json:
        print_json({name: _as_json(each) for name, each in standings.items()})
        return
    _print(standings, read_unusable(database))


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


def _print(standings: "dict[str, Standing]", unusable: dict[str, str]) -> None:
    measured = ("speech s", "faces", "blur", "light", "still", "credits", "turns", "language")
    table = new_table("id", "verdict", "by", *measured, title="Screening")
    table.columns[0].no_wrap = True
    for name, each in sorted(standings.items()):
        verdict = "refused" if each.is_refused or name in unusable else "kept"
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
    print_table(table)
    for name, each in sorted(standings.items()):
        if each.rated is not None:
            said = plain(f"{each.rated.model} says: {_scores(each.rated)}")
            out.print(f"{name} {said}", soft_wrap=True)
        for reason in each.reasons:
            out.print(f"{name} {plain(str(reason))}", soft_wrap=True)
    for name, why in sorted(unusable.items()):
        out.print(f"{name} {plain(why)}", soft_wrap=True)


def _scores(rated: "Rated") -> str:
    if rated.ratings is None:
        return f"its reply cannot be read ({rated.finish_reason})"
    return ", ".join(f"{name} {each.score}" for name, each in rated.ratings)
