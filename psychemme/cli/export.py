"""`psychemme export`."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from psychemme.cli.app import app, out, plain
from psychemme.cli.running import progress_bar


@app.command()
def export(
    release: Annotated[Path, typer.Argument(help="The release folder.")],
    to: Annotated[
        str,
        typer.Option(help="hf, croissant, lmms-eval, vlmevalkit, inspect or label-studio."),
    ],
    folder: Annotated[Path, typer.Option("--out", help="An empty or new folder.")],
    with_references: Annotated[
        bool,
        typer.Option("--with-references", help="Include answers, cues and key points: private."),
    ] = False,
    media: Annotated[
        Path | None,
        typer.Option(help="Folder with the clips: cut each episode's window into the export."),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(help="When it was published (YYYY-MM-DD), where the release does not say."),
    ] = None,
) -> None:
    """Write a release in the format of another tool; references only where asked for."""
    import construction.exports as exports

    with progress_bar("cut") if media else nullcontext() as bar:
        notes = exports.export(
            release,
            to,
            folder,
            with_references=with_references,
            media=media,
            date=date,
            report=_shown_on(bar) if bar else None,
        )
    out.print(f"{plain(str(folder))}: {plain(to)}", soft_wrap=True)
    for note in notes:
        out.print(f"- {plain(note)}", soft_wrap=True)


def _shown_on(bar: Progress) -> Callable[[int, int], None]:
    task = bar.add_task("videos", total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)
