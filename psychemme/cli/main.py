"""The `psychemme` command: importing a verb's module adds it to the app."""

from psychemme.cli import (  # noqa: F401
    candidates,
    clips,
    compare,
    costs,
    coverage,
    doctor,
    episodes,
    evaluate,
    generate,
    init,
    judge,
    models,
    prepare,
    report,
    score,
)
from psychemme.cli.app import run_app


def main() -> None:
    """Run the command line."""
    run_app()
