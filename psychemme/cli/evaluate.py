"""`psychemme evaluate`."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from psychemme.cli.app import app, out, plain
from psychemme.cli.running import progress_bar, shown_on, stop_on_signals, stopped
from psychemme.cli.score import print_spread
from psychemme.errors import ReleaseError, Stopped


@app.command()
def evaluate(
    release: Annotated[Path, typer.Argument(help="The release folder.")],
    model: Annotated[
        list[str],
        typer.Option(
            help="Model to evaluate; may be given again. Without a model of language: random, "
            "majority-position, most-frequent, longest-option, signal."
        ),
    ],
    condition: Annotated[
        str, typer.Option(help="full, question-only, asr-only, visual-only or single-image.")
    ] = "full",
    history: Annotated[
        str, typer.Option(help="History of Memory items: matched, none or mismatched:SEED.")
    ] = "matched",
    frames: Annotated[
        int | None,
        typer.Option(min=0, max=64, help="Frames an episode.  [default: 1 a second, at most 64]"),
    ] = None,
    keyframes: Annotated[
        str,
        typer.Option(
            help="Which --frames: uniform, or bolt, the most like the question by the setting "
            "`embedding_model`."
        ),
    ] = "uniform",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N items.")] = None,
    permute: Annotated[
        int, typer.Option(min=1, help="Ask choice items in so many option orders.")
    ] = 1,
    media: Annotated[
        Path | None,
        typer.Option(help="Folder with the clips.  [default: the release's folder, then this one]"),
    ] = None,
    runs: Annotated[Path, typer.Option("--out", help="Where run folders go.")] = Path("runs"),
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight at once.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of random and --permute.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Stop at so many US dollars.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest run.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start another run; nothing is deleted.")
    ] = False,
) -> None:
    """Ask models about every item of a release; one run folder for each model."""
    if resume and fresh:
        raise typer.BadParameter("--resume and --fresh exclude each other")
    mode = "resume" if resume else "fresh" if fresh else None
    flags = {"base_url": base_url, "concurrency": concurrency, "seed": seed}
    shape = (condition, history, frames, keyframes, limit, permute)
    asyncio.run(_evaluate(release, model, shape, media, runs, flags, mode, budget))


async def _evaluate(
    root: Path,
    models: list[str],
    shape: tuple[str, str, int | None, str, int | None, int],
    media: Path | None,
    runs: Path,
    flags: dict[str, Any],
    mode: str | None,
    budget: float | None,
) -> None:
    from evaluation.inputs import make_policy
    from evaluation.runs import Plan, evaluations
    from psychemme.clients.cards import load_cards
    from psychemme.config import load_settings
    from psychemme.release.read import read_release

    condition, history, frames, keyframes, limit, orders = shape
    stop = stop_on_signals()
    effective, cards = load_settings(Path(), flags), load_cards(Path())
    embedder = effective.settings.embedding_model
    policy = make_policy(condition, history, frames, keyframes, embedder)
    folders = (media,) if media else (root, Path())
    plan = Plan(read_release(root), folders, runs, policy, limit, orders)
    unanswered = 0
    names = list(dict.fromkeys(models))
    async with evaluations(plan, names, effective, cards, stop, mode, budget) as found:
        with progress_bar("evaluate") as bar:
            for evaluation in found:
                evaluation.report = shown_on(bar, evaluation.name)
                try:
                    done = await evaluation.finish()
                except Stopped as stop_:
                    problem = str(stop_) or "Stopped with work left."
                    raise stopped(problem, "Run it again with --resume to go on.") from None
                unanswered += done.planned - done.settled
    for evaluation in found:
        _print(evaluation)
    if unanswered:
        raise stopped(
            f"{unanswered} items have no response.", "Run it again with --resume to ask for them."
        )
    for evaluation in found:
        if orders > 1 and not evaluation.manifest.policy.order:
            _print_spread(evaluation)


def _print_spread(evaluation: Any) -> None:  # noqa: ANN401
    from evaluation.order_spread import spread_of_folder

    try:
        if spread := spread_of_folder(evaluation.folder, evaluation.release.root):
            print_spread(spread)
    except ReleaseError as missing:
        out.print(f"No spread over option orders: {plain(missing.problem)}", soft_wrap=True)


def _print(evaluation: Any) -> None:  # noqa: ANN401
    done = evaluation.progress
    failures = ", ".join(f"{plain(r)} {n}" for r, n in sorted(done.failures.items())) or "none"
    out.print(
        f"{plain(str(evaluation.folder))}: planned {done.planned}  responses {done.settled}  "
        f"failures: {failures}",
        soft_wrap=True,
    )
    if (chance := evaluation.manifest.chance) is not None:
        out.print(f"chance earns {100 * chance:.1f}% of these items on average", soft_wrap=True)
