"""`psychemme judge`."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychemme.cli.app import JsonOption, app, err, out, plain, print_json
from psychemme.cli.judge_audit import print_audit
from psychemme.cli.running import AGAIN, label_runs, stop_on_signals, stopped
from psychemme.cli.runs_given import RunsArgument

if TYPE_CHECKING:
    from evaluation.judging import Judging


@dataclass(frozen=True)
class _Asked:
    folders: list[Path]
    judges: list[str]
    repeats: int
    release: Path | None
    flags: dict[str, Any]
    budget: float | None
    is_quiet: bool


@app.command()
def judge(
    run: RunsArgument,
    model: Annotated[list[str], typer.Option(help="Judge; may be given again.")],
    repeats: Annotated[int, typer.Option(min=1, help="How often each response is judged.")] = 1,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Test the judge: label judged responses again with the reference hidden, with "
            "another item's cues and with rationale fields permuted; report how labels shift.",
        ),
    ] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Responses to audit.  [default: 100]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the audit.  [default: 42]")] = None,
    release: Annotated[
        Path | None, typer.Option(help="The release.  [default: where the run found it]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight at once.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Stop at so many US dollars.")] = None,
    json: JsonOption = False,
) -> None:
    """Have a judge label the responses of runs; what is labelled already is left alone."""
    if not audit and (json or sample is not None or seed is not None):
        raise typer.BadParameter("--sample, --seed and --json belong to --audit")
    if audit and repeats > 1:
        raise typer.BadParameter("--audit is about the first repeat: leave out --repeats")
    flags = {"base_url": base_url, "concurrency": concurrency}
    asked = _Asked(run, model, repeats, release, flags, budget, json)
    if audit:
        left = asyncio.run(_audit(asked, sample, seed))
    else:
        left = asyncio.run(_each(asked, lambda job: job.finish()))
    if left:
        raise stopped(f"{left} responses are not judged.", AGAIN)


async def _audit(asked: _Asked, sample: int | None, seed: int | None) -> int:
    from evaluation.judge_audit import SAMPLE, SEED, NothingToAudit, audit_judge

    found: list[dict[str, Any]] = []
    skipped: list[NothingToAudit] = []

    async def work(job: "Judging") -> None:
        size, start = sample or SAMPLE, SEED if seed is None else seed
        try:
            audit = await audit_judge(job, size, start)
        except NothingToAudit as fault:
            skipped.append(fault)
            return
        found.append({"run": str(job.folder)} | audit.model_dump(mode="json"))
        if not asked.is_quiet:
            print_audit(job.folder, audit)

    left = await _each(asked, work)
    if skipped and not found:
        raise skipped[0]
    for fault in skipped:
        err.print(f"not audited: {plain(str(fault))}", highlight=False, soft_wrap=True)
    if asked.is_quiet:
        print_json({"audits": found})
    return left


async def _each(asked: _Asked, work: "Callable[[Judging], Awaitable[object]]") -> int:
    """Do `work` with every judge on every run, say how each ended, and return what is left."""
    from evaluation.judging import judging
    from psychemme.clients.cards import load_cards
    from psychemme.config import load_settings

    stop = stop_on_signals()
    effective, cards = load_settings(Path(), asked.flags), load_cards(Path())
    terms = (effective, cards, stop, asked.release, asked.budget)

    def opened(folder: Path, name: str) -> "AbstractAsyncContextManager[Judging]":
        return judging(folder, name, asked.repeats, *terms)

    tell = (lambda *_: None) if asked.is_quiet else _tell
    return await label_runs("judge", asked.folders, asked.judges, opened, work, tell)


def _tell(folder: Path, name: str, job: "Judging") -> None:
    done = job.progress
    failures = ", ".join(f"{r} {n}" for r, n in sorted(done.failures.items())) or "none"
    out.print(
        f"{plain(str(folder))} by {plain(name)}: planned {done.planned}  "
        f"judged {done.settled}  failures: {plain(failures)}",
        soft_wrap=True,
    )
