"""`psychemme review`: reviewers, sets, assignment, votes, and the page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
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
from psychemme.cli.running import progress_bar
from psychemme.vocabulary import SetKind

if TYPE_CHECKING:
    from construction.review.desk import ItemStatus
    from state.review_desk import ReviewDesk

review = typer.Typer(help="Have people review candidates.", no_args_is_help=True)
app.add_typer(review, name="review")

SetOption = Annotated[str | None, typer.Option("--set", help="Only this set.  [default: all]")]


@review.command("open")
def open_(
    name: Annotated[str, typer.Option("--set", help="A name for the set.")] = "main",
    calibration: Annotated[
        bool, typer.Option("--calibration", help="A first set, to be discussed after the votes.")
    ] = False,
    reviewers: Annotated[int, typer.Option(min=1, help="Reviewers an item needs.")] = 5,
    count: Annotated[
        int | None, typer.Option(min=1, help="Draw so many items.  [default: all accepted]")
    ] = None,
    run: Annotated[int | None, typer.Option(help="Only of this run.  [default: all]")] = None,
    overlap: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of the items that everybody reviews.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Draws items, reviewers and their orders.")] = 0,
    assign_now: Annotated[
        bool, typer.Option("--assign/--no-assign", help="Assign reviewers at once.")
    ] = True,
    workspace: WorkspaceOption = None,
) -> None:
    """Put accepted candidates under review as one set, and assign them."""
    from construction.review.opening import Opening, open_set
    from construction.workspace import open_workspace
    from psychemme.release.faults import counted

    kind = SetKind.CALIBRATION if calibration else SetKind.REVIEW
    opening = Opening(name, kind, reviewers, count, run, overlap, seed)
    opened = open_workspace(workspace_root(workspace))
    with progress_bar("cut") as bar:
        task = bar.add_task("episodes", total=None, visible=False)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        gated: dict[str, str] = {}
        items = open_set(opened, opening, assigned=assign_now, report=report, left_out=gated.update)
    out.print(f"{counted(items, 'item')} in set {plain(name)}", soft_wrap=True)
    if gated:
        out.print(f"{counted(len(gated), 'candidate')} left out and gated by audits:")
        for key, why in gated.items():
            out.print(f"{plain(key)}  {plain(why)}", soft_wrap=True)


@review.command()
def assign(workspace: WorkspaceOption = None) -> None:
    """Give every open item the reviewers it still needs; whoever skipped or left is replaced."""
    from construction.review.assigning import fill, wanting
    from psychemme.release.faults import counted

    with desk_of(workspace) as desk:
        added = fill(desk)
        short = sum(wanting(desk.board()).values())
    out.print(f"{counted(len(added), 'assignment')} added, {short} still wanted")
    if short:
        out.print(
            "Nobody is left to ask for these: invite a reviewer (`psychemme review invite`), or "
            "renew a link that expired, and assign again.",
            soft_wrap=True,
        )


@review.command()
def close(set_name: SetOption = None, workspace: WorkspaceOption = None) -> None:
    """End the review of items that have all their verdicts; reviewers cannot change them after."""
    from construction.review.closing import close_complete

    with desk_of(workspace) as desk:
        ended = close_complete(desk, set_name)
    found = ", ".join(f"{number} {name}" for name, number in sorted(ended.items())) or "none"
    out.print(f"closed: {found}")


@review.command()
def discuss(
    name: Annotated[str, typer.Argument(metavar="SET", help="A calibration set.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Say that a calibration set has been discussed: later votes on it count for nothing."""
    with desk_of(workspace) as desk:
        desk.mark_discussed(name)
    out.print(f"{plain(name)}: discussed", soft_wrap=True)


@review.command()
def status(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """Show how far the review of every item is. For curators: private."""
    with desk_of(workspace) as desk:
        found = _statuses(desk)
    counts = ("wanted", "assigned", "answered", "voted", "approving", "skipped", "lacking")
    rows = [
        {
            "candidate": status.place[0],
            "version": status.place[1],
            "set": status.version.set_name,
            "stage": str(status.stage),
            **{name: getattr(status, name) for name in counts},
        }
        for status in found
    ]
    if json:
        print_json(rows)
        return
    table = Table("candidate", "set", "stage", "voted", "notes", title="Review")
    table.columns[0].no_wrap = True
    for status in found:
        key, version = status.place
        notes = {"approve": status.approving, "skipped": status.skipped, "lacking": status.lacking}
        table.add_row(
            plain(f"{key} v{version}"),
            plain(status.version.set_name),
            str(status.stage),
            f"{status.voted}/{status.wanted}",
            ", ".join(f"{number} {name}" for name, number in notes.items() if number),
        )
    out.print(table)
    for status in found:
        for fault in status.version.faults:
            err.print(plain(f"{status.place[0]} v{status.place[1]}: {fault}"), soft_wrap=True)


@review.command("export")
def export_(
    file: Annotated[
        Path, typer.Argument(help="The JSONL file to write; for label-studio, a new folder.")
    ],
    to: Annotated[
        str, typer.Option(help="votes, or label-studio: the open items as its tasks.")
    ] = "votes",
    with_references: Annotated[
        bool, typer.Option("--with-references", help="Label Studio's second step as well.")
    ] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write every reviewer's last vote, or the items for review elsewhere. Private."""
    if to == "label-studio":
        _write_tasks(file, workspace, with_references=with_references)
        return
    if to != "votes":
        raise typer.BadParameter("use votes or label-studio", param_hint="--to")
    if with_references:
        raise typer.BadParameter("it is for --to label-studio", param_hint="--with-references")
    from construction.review.votes import vote_rows
    from psychemme.canonical import canonical_json
    from psychemme.errors import ReviewError
    from psychemme.release.faults import counted

    if file.suffix == ".json":
        raise ReviewError(f"{plain(file.name)} would hold one object a line.", "Name it .jsonl.")
    with desk_of(workspace) as desk:
        lines = [canonical_json(row.model_dump(mode="json")) + "\n" for row in vote_rows(desk)]
    file.write_text("".join(lines), encoding="utf-8")
    out.print(f"{counted(len(lines), 'vote')} -> {plain(str(file))}", soft_wrap=True)


@review.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(help="JSONL files of votes, or Label Studio exports (.json).")
    ],
    demonstration: Annotated[
        bool,
        typer.Option("--demonstration", help="No person cast these; they freeze into an example."),
    ] = False,
    known_as: Annotated[
        list[str] | None,
        typer.Option(
            "--known-as", help="Whose votes are whose; may be given again.", metavar="NAME=REVIEWER"
        ),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Store votes that were cast elsewhere; all of them, or none with every fault named."""
    from construction.profiles import DEFAULT
    from construction.review.importing import import_votes, read_vote_files
    from psychemme.release.faults import counted
    from psychology_kb.load import load_review

    pairs = [one.rpartition("=") for one in known_as or ()]
    if not all(name and reviewer for name, _, reviewer in pairs):
        raise typer.BadParameter("write NAME=REVIEWER", param_hint="--known-as")
    rows = read_vote_files(files, {name: reviewer for name, _, reviewer in pairs})
    with desk_of(workspace) as desk:
        added = import_votes(desk, rows, load_review(DEFAULT), demonstration=demonstration)
    there = len(rows) - added
    out.print(
        f"{counted(added, 'vote')} stored, {there} {'was' if there == 1 else 'were'} there already"
    )


def _write_tasks(folder: Path, workspace: Path | None, *, with_references: bool) -> None:
    from construction.profiles import DEFAULT
    from construction.review.tasks import write_review_tasks
    from construction.workspace import open_workspace
    from psychemme.release.faults import counted
    from psychology_kb.load import load_review

    opened = open_workspace(workspace_root(workspace))
    form = load_review(DEFAULT)
    items = write_review_tasks(opened, folder, form, with_references=with_references)
    out.print(f"{counted(items, 'item')} -> {plain(str(folder))}", soft_wrap=True)
    if with_references:
        out.print("verdict.json holds the references: open it to those who have answered.")
    else:
        out.print("Step one alone: the verdicts need the references (--with-references).")


def desk_of(workspace: Path | None) -> "ReviewDesk":
    """Return the desk of a workspace, to be closed by the caller."""
    from construction.workspace import open_workspace
    from state.review_desk import ReviewDesk

    return ReviewDesk(open_workspace(workspace_root(workspace)).database)


def _statuses(desk: "ReviewDesk") -> "list[ItemStatus]":
    from construction.review.assigning import wanting
    from construction.review.desk import item_statuses
    from construction.review.unanimity import revoked

    board = desk.board()
    return item_statuses(board.versions, board.sets, wanting(board), revoked(board))
