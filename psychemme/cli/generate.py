"""`psychemme generate`."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from psychemme.cli.app import WorkspaceOption, app, out, plain, workspace_root
from psychemme.cli.cluster import ClusterOption, cluster_of
from psychemme.cli.costs import budget_note, money
from psychemme.cli.run_progress import run_progress
from psychemme.cli.running import stop_on_signals


@app.command()
def generate(
    workspace: WorkspaceOption = None,
    model: Annotated[str | None, typer.Option(help="Model of all three roles.")] = None,
    question_model: Annotated[str | None, typer.Option(help="Question Agent's model.")] = None,
    answer_model: Annotated[str | None, typer.Option(help="Answer Agent's model.")] = None,
    critic_model: Annotated[str | None, typer.Option(help="Critic Agent's model.")] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Candidates to start.")
    ] = None,
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
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="US dollars the run may spend; it then stops and can resume."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")
    ] = False,
    cache: Annotated[
        bool,
        typer.Option("--cache/--no-cache", help="Answer equal requests of earlier runs from disk."),
    ] = True,
    cluster: ClusterOption = None,
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
    root = workspace_root(workspace)
    if dry_run:
        _estimate(root, flags, count, resume, budget)
        return
    asyncio.run(_generate(root, flags, count, resume, fresh, budget, cache, cluster))


def _estimate(
    root: Path, flags: dict[str, Any], count: int | None, resume: bool, budget: float | None
) -> None:
    from construction.costs import spent_of_newest
    from construction.estimate import estimate
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    opened = open_workspace(root)
    found = estimate(opened, load_settings(root, flags), count, resume)
    table = Table("role", "model", "calls", "tokens in", "tokens out", "cost", title="Estimate")
    for one in found.roles:
        counts = (one.calls, one.input_tokens, one.output_tokens)
        table.add_row(one.role, plain(one.model), *map(str, counts), money(one.cost))
    out.print(table)
    out.print(f"candidates {found.candidates}  cost {money(found.cost)}")
    out.print(found.basis)
    if budget is not None:
        spent = spent_of_newest(opened.database) if resume else 0.0
        out.print(budget_note(budget, spent, found.cost, found.cost), soft_wrap=True)


async def _generate(
    root: Path,
    flags: dict[str, Any],
    count: int | None,
    resume: bool,
    fresh: bool,
    budget: float | None,
    cache: bool,
    cluster: str | None,
) -> None:
    from construction.endpoints import Spending
    from construction.generate import describe
    from construction.runs import generation
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    spending = Spending(budget=budget, cache=cache)
    stop = stop_on_signals()
    effective = load_settings(root, flags)
    opened = open_workspace(root)
    run = generation(
        opened, effective, count, resume, fresh, stop, spending, cluster=cluster_of(cluster, opened)
    )
    async with run as job:
        out.print(f"Run {job.run.ordinal}, seed {job.run.seed}, models: {_models(job.run.models)}")
        costs = partial(job.store.costs, job.run.ordinal)
        try:
            with run_progress(job.run.count, costs) as job.report:
                await job.finish()
        finally:
            out.print(_counts(job.tally))
        if missing := [cell for cell in job.cells if cell.state != "met"]:
            out.print(f"Not met: {', '.join(map(describe, missing))}.", soft_wrap=True)


def _counts(tally: Any) -> str:  # noqa: ANN401
    return (
        f"started {tally.started}  accepted {tally.accepted}  discarded {tally.discarded}  "
        f"failed {tally.failed}  pending {tally.pending}"
    )


def _models(models: Any) -> str:  # noqa: ANN401
    same = len(set(models.values())) == 1
    listed = ", ".join(f"{role} {model}" for role, model in sorted(models.items()))
    return plain(listed) + (" (identical)" if same else "")
