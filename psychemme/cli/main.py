"""The `psychemme` command: importing a verb's module adds it to the app."""

from psychemme.cli import (  # noqa: F401
    agreement,
    analyse,
    audit,
    candidates,
    cases,
    clips,
    cluster,
    compare,
    costs,
    coverage,
    db,
    db_move,
    doctor,
    episodes,
    errors,
    evaluate,
    export,
    freeze,
    generate,
    import_items,
    init,
    judge,
    judges,
    leakage,
    models,
    people,
    plan_power,
    prepare,
    release,
    report,
    review,
    review_serve,
    reviewers,
    score,
    screen,
    verify,
)
from psychemme.cli.app import app, run_app

# A verb registers itself when it is first imported, by whomever; help lists them by name.
app.registered_commands.sort(key=lambda verb: getattr(verb.callback, "__module__", ""))
app.registered_groups.sort(key=lambda group: str(group.name))


def main() -> None:
    """Run the command line."""
    run_app()
