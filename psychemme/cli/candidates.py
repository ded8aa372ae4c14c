"""`psychemme candidates list|show`."""

from typing import Annotated

import typer
from rich.table import Table

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
from psychemme.vocabulary import CandidateState

candidates = typer.Typer(help="Read candidate items.", no_args_is_help=True)
app.add_typer(candidates, name="candidates")


@candidates.command("list")
def list_(
    workspace: WorkspaceOption = None,
    run: RunOption = None,
    state: Annotated[
        CandidateState | None, typer.Option(help="Only candidates in this state.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List every candidate with its question, reference and cues. For curators: private."""
    from construction.overview import read_candidates
    from construction.workspace import open_workspace

    found = read_candidates(open_workspace(workspace_root(workspace)).database, run, state)
    if json:
        print_json(found)
        return
    table = Table("id", "cap.", "format", "state", "question", title="Candidates")
    table.columns[0].no_wrap = True
    for row in found:
        table.add_row(
            row["id"],
            row["capability"],
            row["format"],
            plain(" ".join(filter(None, (row["state"], row["reason"])))),
            plain(row["question"] or ""),
        )
    out.print(table)


@candidates.command("show")
def show(
    candidate_id: Annotated[str, typer.Argument(metavar="ID", help="An id, or the start of one.")],
    workspace: WorkspaceOption = None,
    run: RunOption = None,
    json: JsonOption = False,
) -> None:
    """Show one candidate from target to outcome, every round of it. For curators: private."""
    from construction.overview import read_dossier
    from construction.workspace import open_workspace
    from state.gates import GateStore

    opened = open_workspace(workspace_root(workspace))
    dossier = read_dossier(opened.database, candidate_id, run)
    with GateStore(opened.database) as store:
        gates = store.found().get(dossier.outcome.target.key, ())
    shown = dossier.model_dump(mode="json", exclude={"episode": {"content", "frames"}})
    if json:
        print_json(shown | {"gates": [one.model_dump(mode="json") for one in gates]})
        return
    target, outcome = dossier.outcome.target, dossier.outcome
    out.print(f"[bold]{target.id}[/]  {target.capability} {target.format}  {outcome.state}")
    for record in dossier.rounds:
        out.rule(f"round {record.round}")
        if record.question and record.reference:
            out.print(plain(record.question.question), soft_wrap=True)
            for option in record.question.options:
                out.print(f"  {option.id}. {plain(option.text)}", soft_wrap=True)
            out.print(f"reference   {plain(str(record.reference.answer))}", soft_wrap=True)
            for cue in record.reference.cues:
                window = f"{cue.start:.2f}-{cue.end:.2f} s {cue.modality}"
                out.print(f"cue         {window}: {plain(cue.description)}", soft_wrap=True)
        if record.independent:
            given = record.independent.answer or record.independent.flag
            out.print(f"independent {plain(str(given))}", soft_wrap=True)
        for step, what in record.steps.items():
            out.print(f"{step:<11} {plain(what)}", soft_wrap=True)
    if gates:
        out.rule("gates")
    for gate in gates:
        out.print(
            f"{gate.gate:<20} {gate.outcome:<7} {plain(gate.detail)}".rstrip(), soft_wrap=True
        )
