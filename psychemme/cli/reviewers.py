"""`psychemme review invite|renew|revoke|reviewers`: who reviews."""

from typing import Annotated

import typer
from rich.table import Table

from psychemme.cli.app import JsonOption, WorkspaceOption, err, out, plain, print_json
from psychemme.cli.review import desk_of, review

ReviewerArgument = Annotated[str, typer.Argument(metavar="REVIEWER", help="The reviewer's id.")]
DaysOption = Annotated[float, typer.Option(help="How many days the link works.")]
AddressOption = Annotated[str, typer.Option(help="Where the page is reached.", metavar="URL")]
_HERE = "http://127.0.0.1:8765"


@review.command()
def invite(
    reviewer: ReviewerArgument,
    name: Annotated[str, typer.Option(help="The reviewer's name.")],
    background: Annotated[str, typer.Option(help="Training, for the record.")] = "",
    days: DaysOption = 30,
    address: AddressOption = _HERE,
    workspace: WorkspaceOption = None,
) -> None:
    """Invite a reviewer and print the link, once; only a hash of it is kept."""
    from construction.review import invites
    from psychemme.pages.tokens import link

    with desk_of(workspace) as desk:
        token = invites.invite(desk, reviewer, name, background=background, days=days)
    _print_link(reviewer, days, link(address, token))


@review.command()
def renew(
    reviewer: ReviewerArgument,
    days: DaysOption = 30,
    address: AddressOption = _HERE,
    workspace: WorkspaceOption = None,
) -> None:
    """Print a new link for a reviewer; the old one ends, and so does whoever signed in with it."""
    from construction.review import invites
    from psychemme.pages.tokens import link

    with desk_of(workspace) as desk:
        token = invites.renew(desk, reviewer, days)
    _print_link(reviewer, days, link(address, token))


@review.command()
def revoke(reviewer: ReviewerArgument, workspace: WorkspaceOption = None) -> None:
    """End a reviewer's link and sessions; the votes stay."""
    with desk_of(workspace) as desk:
        desk.revoke(reviewer)
    out.print(f"{plain(reviewer)}: revoked", soft_wrap=True)


@review.command()
def reviewers(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """List the reviewers. For curators: private."""
    with desk_of(workspace) as desk:
        found = desk.reviewers()
    rows = [
        {
            "id": one.id,
            "name": one.name,
            "background": one.background,
            "demonstration": one.is_demonstration,
            "revoked": one.revoked_at is not None,
        }
        for one in found
    ]
    if json:
        print_json(rows)
        return
    table = Table("id", "name", "background", "notes", title="Reviewers")
    for one in found:
        marks = ("demonstration", one.is_demonstration), ("revoked", one.revoked_at is not None)
        noted = ", ".join(word for word, holds in marks if holds)
        table.add_row(plain(one.id), plain(one.name), plain(one.background), noted)
    out.print(table)


def _print_link(reviewer: str, days: float, link: str) -> None:
    err.print(f"{plain(reviewer)}, for {days:g} days:", soft_wrap=True, highlight=False)
    # Alone on its line, so that it can be copied or piped.
    out.print(plain(link), soft_wrap=True, highlight=False)
