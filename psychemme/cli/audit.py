"""`psychemme audit`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psychemme.cli.app import (
    JsonOption,
    RunOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)
from psychemme.cli.audit_models import Models, ask_models, print_estimate

if TYPE_CHECKING:
    from construction.audits.desk import WorkspaceAudit
    from construction.audits.sources import Subject
    from construction.audits.values import AuditItem, AuditResult
    from construction.gates import GatePolicy
    from construction.workspace import Workspace

_SHOWN = 20
_REPLIES = "audit-replies"


@app.command()
def audit(
    release: Annotated[
        Path | None, typer.Option(help="Audit this release, with its private part.")
    ] = None,
    items: Annotated[Path | None, typer.Option(help="Audit this JSON Lines file of items.")] = None,
    run: RunOption = None,
    plan: Annotated[
        Path | None, typer.Option(help="Plan whose gates count.  [default: each run's own]")
    ] = None,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Store the results, and gate what the plan blocks."),
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="HTML page.  [default: WORKSPACE/report/audits.html]")
    ] = None,
    entailment: Annotated[
        str | None,
        typer.Option(help="Model that is asked which options of an item entail each other."),
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option(help="Embedding model that finds paraphrases among questions.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in hand at once.")] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="US dollars that the model may spend; can resume.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the model's calls, tokens and cost.")
    ] = False,
    json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Audit the workspace's items, a release or a file: biases, repeats, cues, texts. Private."""
    from construction.audits import desk
    from construction.audits.page import write_page
    from construction.audits.registry import run_audits
    from construction.gates import GatePolicy
    from construction.leakage.policies import policies
    from construction.plan import load_plan
    from construction.workspace import open_workspace
    from psychemme.config import load_settings

    if release and items:
        raise typer.BadParameter("give a release or a file of items", param_hint="--items")
    if (release or items) and (apply or run):
        raise typer.BadParameter("only of a workspace", param_hint="--apply, --run")
    if dry_run and not (entailment or embeddings):
        raise typer.BadParameter("say --entailment MODEL or --embeddings MODEL")
    if budget is not None and not entailment:
        raise typer.BadParameter("say --entailment MODEL", param_hint="--budget")
    root = workspace_root(workspace)
    effective = load_settings(
        root, {"plan": plan, "base_url": base_url, "concurrency": concurrency}
    )
    opened = None if release or items else open_workspace(root)
    subjects = _subjects(opened, run) if opened else []
    audited = [one.item for one in subjects] if opened else _elsewhere(release, items)
    place = (release or items or Path()).resolve().parent / _REPLIES
    models = Models(root, effective.settings, opened or place, entailment, embeddings)
    if dry_run:
        print_estimate(models, subjects, audited, budget, json)
        return
    entails, vectors = asyncio.run(ask_models(models, subjects, audited, budget))
    if opened:
        found = desk.audit_subjects(subjects, policies(opened, effective), entails, vectors)
        results, policy = found.results, found.policy
        page = page or root / "report" / "audits.html"
        applied = desk.apply(opened, found) if apply else None
    else:
        policy = load_plan(plan).gates if plan else GatePolicy()
        results = run_audits(audited, policy.thresholds, entails, vectors)
    if page:
        write_page(page, str(release or items or "Workspace"), results, policy)
    if json:
        _print_json(results, policy)
        return
    _print(results, policy, page)
    if opened:
        _print_gates(found, applied)


def _subjects(opened: "Workspace", run: int | None) -> "list[Subject]":
    from construction.audits.sources import of_workspace
    from psychemme.errors import RunError

    if found := of_workspace(opened.database, run):
        return found
    raise RunError("No accepted candidate to audit.", "Run `psychemme generate` first.")


def _elsewhere(release: Path | None, items: Path | None) -> "list[AuditItem]":
    from construction.audits.importing import of_jsonl
    from construction.audits.sources import of_release

    return of_release(release) if release else of_jsonl(items or Path())


def _print_json(results: "Sequence[AuditResult]", policy: "GatePolicy") -> None:
    rows = [
        result.model_dump(mode="json") | {"gate": policy.action(result.audit)} for result in results
    ]
    print_json({"audits": rows})


def _print(results: "Sequence[AuditResult]", policy: "GatePolicy", page: Path | None) -> None:
    from construction.audits.page import figures
    from psychemme.cli.tables import new_table, print_table

    table = new_table(
        "audit", "found", "of", "% [95%]", "expected", "p", "gate", "", title="Audits"
    )
    for result in results:
        shown = figures(result)
        mark = "!" if result.is_flagged else ""
        table.add_row(
            result.audit,
            *map(plain, (shown.count, shown.of, shown.rate, shown.expected, shown.p)),
            policy.action(result.audit),
            plain(" ".join(filter(None, (mark, result.note, result.why)))),
        )
    print_table(table)
    for result in results:
        if result.kind == "item":
            for one in result.findings[:_SHOWN]:
                line = f"{result.audit}: {plain(one.item_id)}: {plain(one.detail)}"
                out.print(line, soft_wrap=True)
            if (more := len(result.findings) - _SHOWN) > 0:
                out.print(f"{result.audit}: {more:,} more (--json lists all)")
    if page:
        out.print(f"Audits page: {plain(str(page))}", soft_wrap=True)


def _print_gates(found: "WorkspaceAudit", applied: tuple[int, int] | None) -> None:
    from psychemme.release.faults import counted

    gated, released = applied or (len(found.blocked), len(found.released))
    held = ""
    if found.held:
        held = f"; {counted(len(found.held), 'item')} under review kept out of a release"
    if applied:
        said = f"{counted(gated, 'candidate')} gated, {released} accepted again{held}."
        out.print(said, soft_wrap=True)
    elif gated or released or held:
        again = f", accept {released} again" if released else ""
        said = f"--apply would gate {counted(gated, 'candidate')}{again}{held}."
        out.print(said, soft_wrap=True)
