"""`psychemme verify`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from psychemme.cli.app import USER_ERROR, JsonOption, app, out, plain, print_json


@app.command()
def verify(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    media: Annotated[
        Path | None, typer.Option(help="Compare the clips below this folder as well.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check every file and row of a release, and list every fault."""
    from psychemme.release.faults import counted
    from psychemme.release.verify import verify_release

    found = verify_release(release, media, _duration)
    if json:
        faults = [fault.model_dump(mode="json") for fault in found.faults]
        print_json({"faults": faults, "counts": dict(found.counts), "notes": list(found.notes)})
    else:
        if found.faults:
            columns = ("file", "where", "rule", "fault")
            table = Table(*(Column(name, overflow="fold") for name in columns), title="Faults")
            for fault in found.faults:
                table.add_row(*map(plain, (fault.file, fault.where, fault.rule, fault.problem)))
            out.print(table)
        for note in found.notes:
            out.print(plain(note))
        held = ", ".join(counted(found.counts[what], what[:-1]) for what in _COUNTED)
        faults_in = counted(len(found.faults), "fault") if found.faults else "no faults"
        out.print(f"{held}: {faults_in}.")
    if found.faults:
        raise typer.Exit(USER_ERROR)


_COUNTED = ("files", "questions", "episodes")


def _duration(clip: Path) -> float:
    # Imports PyAV.
    from psychemme.media.probe import probe

    return probe(clip).duration
