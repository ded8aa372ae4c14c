"""`psychemme audit`."""

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

if TYPE_CHECKING:
    from construction.audits.desk import WorkspaceAudit
    from construction.audits.values import AuditResult
    from construction.gates import GatePolicy

_SHOWN = 20


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
    json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Audit the workspace's items, a release or a file: biases, repeats, cues, texts. Private."""
    from construction.audits.page import write_page

    if release and items:
        raise typer.BadParameter("give a release or a file of items", param_hint="--items")
    if release or items:
        if apply or run:
            raise typer.BadParameter("only of a workspace", param_hint="--apply, --run")
        results, policy = _elsewhere(release, items, plan)
        title = str(release or items)
    else:
        found = _in_workspace(workspace, run, plan, apply=apply)
        results, policy, title = found.results, found.policy, "Workspace"
        page = page or workspace_root(workspace) / "report" / "audits.html"
    if page:
        write_page(page, title, results, policy)
    if json:
        _print_json(results, policy)
    else:
        _print(results, policy, page)
        if not (release or items):
            _print_gates(found, applied=apply)


def _elsewhere(
    release: Path | None, items: Path | None, plan: Path | None
) -> "tuple[tuple[AuditResult, ...], GatePolicy]":
    from construction.audits.importing import of_jsonl
    from construction.audits.registry import run_audits
    from construction.audits.sources import of_release
    from construction.gates import GatePolicy
    from construction.plan import load_plan

    policy = load_plan(plan).gates if plan else GatePolicy()
    found = of_release(release) if release else of_jsonl(items or Path())
    return run_audits(found, policy.thresholds), policy


def _in_workspace(
    workspace: Path | None, run: int | None, plan: Path | None, *, apply: bool
) -> "WorkspaceAudit":
    from construction.audits import desk
    from construction.workspace import open_workspace
    from psychemme.config import load_settings
    from psychemme.errors import RunError

    root = workspace_root(workspace)
    opened = open_workspace(root)
    found = desk.audit_workspace(opened, run, load_settings(root, {"plan": plan}))
    if not found.subjects:
        raise RunError("No accepted candidate to audit.", "Run `psychemme generate` first.")
    if apply:
        desk.apply(opened, found)
    return found


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


def _print_gates(found: "WorkspaceAudit", *, applied: bool) -> None:
    from psychemme.release.faults import counted

    blocked, released = len(found.blocked), len(found.released)
    if applied:
        out.print(f"{counted(blocked, 'candidate')} gated, {released} accepted again.")
    elif blocked or released:
        again = f", accept {released} again" if released else ""
        out.print(f"--apply would gate {counted(blocked, 'candidate')}{again}.")
