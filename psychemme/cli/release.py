"""`psychemme release diff`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table

from psychemme.cli.app import JsonOption, app, out, plain, print_json

if TYPE_CHECKING:
    from psychemme.release.diff import ReleaseDiff

release = typer.Typer(help="Compare versions of a release.", no_args_is_help=True)
app.add_typer(release, name="release")


@release.command("diff")
def diff(
    old: Annotated[Path, typer.Argument(help="A release folder.")],
    new: Annotated[Path, typer.Argument(help="The folder of a later version.")],
    json: JsonOption = False,
) -> None:
    """Say what a version adds, removes and changes. References are named, never shown."""
    from psychemme.release.diff import diff_rows, require_same_name, rows_of
    from psychemme.release.read import read_release
    from psychemme.release.versions import least_next, parse_version, version_text

    before, after = read_release(old), read_release(new)
    require_same_name(before, after)
    found = diff_rows(rows_of(before), rows_of(after))
    versions = {"old": before.manifest.version, "new": after.manifest.version}
    least = version_text(least_next(parse_version(versions["old"]), found.bump))
    if json:
        print_json(versions | {"least_version": least} | found.model_dump(mode="json"))
        return
    changes = _changes(found)
    out.print(changes if changes.row_count else "No question, reference or episode differs.")
    out.print(_composition(found))
    if found.references is None:
        out.print("A private part is absent: references were not compared.")
    given, needed = plain(versions["new"]), f"{least} or higher is due"
    out.print(f"Version {plain(versions['old'])} to {given}; {needed}.")


def _changes(found: "ReleaseDiff") -> Table:
    table = Table("what", "id", Column("fields", overflow="fold"), title="Changes")
    lists = {
        "question added": found.added,
        "question removed": found.removed,
        "episode added": found.episodes_added,
        "episode removed": found.episodes_removed,
    }
    for what, ids in lists.items():
        for name in ids:
            table.add_row(what, plain(name), "")
    fields = {
        "question changed": found.changed,
        "reference changed": found.references or {},
        "episode changed": found.episodes_changed,
    }
    for what, changed in fields.items():
        for name, names in changed.items():
            table.add_row(what, plain(name), ", ".join(names))
    return table


def _composition(found: "ReleaseDiff") -> Table:
    table = Table("capability", "format", "before", "after", title="Questions")
    for cell, (before, after) in found.composition.items():
        table.add_row(*cell.split(), str(before), str(after))
    return table
