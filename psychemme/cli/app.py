"""What every verb shares: the app, the workspace option, JSON output, and how errors end.

Exit codes: 0 done, 1 an error the user can fix, 2 usage, 3 stopped with work left.
"""

import json
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from psychemme.errors import PsychemmeError, Stopped, UserError

USER_ERROR, STOPPED = 1, 3

app = typer.Typer(
    name="psychemme",
    help="Build psychology-informed video QA benchmarks from raw clips.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out = Console(emoji=False)
err = Console(stderr=True, emoji=False)

_outer: ContextVar[Path | None] = ContextVar("workspace", default=None)

WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", "-w", help="The workspace folder.  [default: this folder]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
RunOption = Annotated[int | None, typer.Option("--run", help="Only this run.  [default: all]")]


@app.callback()
def _root(workspace: WorkspaceOption = None) -> None:
    _outer.set(workspace)


def workspace_root(given: Path | None) -> Path:
    """Return the workspace folder: the verb's own option, the app's, or the current folder."""
    return (given or _outer.get() or Path()).resolve()


def print_json(value: object) -> None:
    """Print `value` as JSON on standard output, without colour or wrapping."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def plain(text: str) -> str:
    """Return untrusted text safe for a terminal: no markup, no control characters."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def run_app() -> None:
    """Run the command line; errors the user can fix print no traceback."""
    try:
        app(prog_name="psychemme")
    except UserError as error:
        _fail(error.problem, error.action, USER_ERROR)
    except Stopped as reason:
        _fail(
            str(reason) or "Stopped with work left.",
            "Run `psychemme generate --resume` to go on.",
            STOPPED,
        )
    except PsychemmeError as error:
        _fail(str(error), "", USER_ERROR)
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        problem = f"The system refused: {error.strerror or error}{where}."
        _fail(problem, "Check that the disk has room and may be written.", USER_ERROR)
    except Exception as error:
        if not _is_of_database(error):
            raise
        from psychemme.cli.database_faults import described

        _fail(*described(error), USER_ERROR)


def _is_of_database(error: Exception) -> bool:
    # Whoever raised one of these loaded its module.
    kinds = {"sqlalchemy.exc": "DBAPIError", "sqlite3": "Error", "psycopg": "Error"}
    loaded = ((sys.modules.get(module), name) for module, name in kinds.items())
    return any(module and isinstance(error, getattr(module, name)) for module, name in loaded)


def _fail(problem: str, action: str, code: int) -> None:
    err.print(f"[bold red]error[/] {plain(problem)}", highlight=False, soft_wrap=True)
    if action:
        err.print(plain(action), highlight=False, soft_wrap=True)
    raise SystemExit(code)
