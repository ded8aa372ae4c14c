"""`psychemme generate`."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from psychemme.cli.app import WorkspaceOption, app, err, out, workspace_root


@app.command()
def generate(
    workspace: WorkspaceOption = None,
    model: Annotated[str | None, typer.Option(help="Model of all three roles.")] = None,
    question_model: Annotated[str | None, typer.Option(help="Question Agent's model.")] = None,
    answer_model: Annotated[str | None, typer.Option(help="Answer Agent's model.")] = None,
    critic_model: Annotated[str | None, typer.Option(help="Critic Agent's model.")] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Candidates to start.")] = None,
    until_covered: Annotated[
        bool, typer.Option("--until-covered", help="Go on until every cell is met or infeasible.")
    ] = False,
    plan: Annotated[Path | None, typer.Option(help="Plan file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Candidates in hand at once.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest run.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start another run; nothing is deleted.")
    ] = False,
) -> None:
    """Generate candidates: propose, answer independently, criticise, refine at most twice."""
    if resume and fresh:
        raise typer.BadParameter("--resume and --fresh exclude each other")
    if count is not None and until_covered:
        raise typer.BadParameter("--count and --until-covered exclude each other")
    if not resume and count is None and not until_covered:
        raise typer.BadParameter("say --count N or --until-covered")
    flags: dict[str, Any] = {
        "model": model,
        "question_model": question_model,
        "answer_model": answer_model,
        "critic_model": critic_model,
        "base_url": base_url,
        "plan": plan,
        "seed": seed,
        "concurrency": concurrency,
    }
    asyncio.run(_generate(workspace_root(workspace), flags, count, resume, fresh))


async def _generate(
    root: Path, flags: dict[str, Any], count: int | None, resume: bool, fresh: bool
) -> None:
    from construction.runs import generation
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _drain, stop)
    effective = load_settings(root, flags)
    opened = open_workspace(root)
    async with generation(opened, effective, count, resume, fresh, stop) as job:
        out.print(f"Run {job.run.ordinal}, seed {job.run.seed}, models: {_models(job.run.models)}")
        with _progress() as progress:
            task = progress.add_task("", total=job.run.count)
            began, before = time.monotonic(), 0

            def show(tally: Any) -> None:  # noqa: ANN401
                nonlocal before
                tokens, cost = job.store.costs(job.run.ordinal)
                done = tally.started - tally.pending
                before = before or done
                rate = 60 * (done - before) / max(time.monotonic() - began, 1e-3)
                money = "unknown" if cost is None else f"${cost:.2f}"
                progress.update(
                    task,
                    completed=done,
                    description=f"accepted {tally.accepted} discarded {tally.discarded} "
                    f"failed {tally.failed}  {rate:.0f}/min  {tokens} tokens  cost {money}",
                )

            job.report = show
            tally = await job.finish()
    out.print(
        f"started {tally.started}  accepted {tally.accepted}  discarded {tally.discarded}  "
        f"failed {tally.failed}  pending {tally.pending}"
    )


def _drain(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
    err.print("Stopping: calls in flight finish, no new one starts. Again to stop at once.")
    stop.set()


def _models(models: Any) -> str:  # noqa: ANN401
    same = len(set(models.values())) == 1
    listed = ", ".join(f"{role} {model}" for role, model in sorted(models.items()))
    return listed + (" (identical)" if same else "")


def _progress() -> Progress:
    return Progress(
        TextColumn("generate"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
    )
