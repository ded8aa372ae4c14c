"""`docs/isolation.md`: what was tried against the roles, and the rules that refuse it."""

from functools import cache
from pathlib import Path

import yaml

from state.attacks.catalogue import EngineName
from state.attacks.classification import secrets
from state.attacks.rules import rules
from state.roles import DbRole

ENGINES: dict[EngineName, str] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_INTRODUCTION = """\
# What a role cannot do

A benchmark made by this method is credible if the Answer Agent could not have seen the reference,
and a reviewer not another's vote. So each role is let loose with any SQL it likes.

`state/attacks/classification.yaml` says by hand, for every column, which roles may know it; a
column that is missing there fails. For each role two scratch databases are planted that differ in
what is secret from it and in nothing else: other texts, other numbers, more or fewer rows. Every
statement of the catalogue (`state/attacks/`) runs on both. It leaks where what came back differs
in any way (rows, counts, messages, notices, plans), where a row or a rule is changed that may not
be, or where it did what is never allowed. `psychemme db check --attack` does this beside any
workspace, on databases made afresh, and reads each secret column of the workspace itself. That the
workspace has the rules that were attacked, `psychemme db check` finds by comparing every table,
view, function and trigger with those of a new database.

## Attacks
"""
_RULES = """
## Rules

Each rule was taken away alone, the rest left in place, and the attacks repeated
(`tests/shared_state/test_state_mutations.py`). Granting any one secret column to a role makes the
direct read of it leak, for every column and role.
"""
_LIMITS = """
## What is not claimed

- PostgreSQL tells every login how much there is: sizes of tables, rows ever written, objects and
  their columns, which role is connected and that a reviewer writes. Not what a row holds, nor whose
  it is.
- A role on PostgreSQL can hold an advisory lock, end its own role's connections, notify listeners,
  or change its own password, its own settings and what others may do with objects it makes, of
  which it makes none: that denies service and shows nothing. `db check` names such a setting.
- Where the administrator is no superuser, PostgreSQL lets every login make large objects: a place
  to leave a note. `db check` names each.
- Two agents that conspire can tell each other something, by such settings or the question itself.
- How long a statement takes is not measured.
- SQLite isolates whoever uses the engines of `state/engines/`; code that opens the file by
  itself, or takes the driver's connection apart, is outside.
"""


def isolation_page() -> str:
    """Return the page as Markdown."""
    return _INTRODUCTION + _attacks() + _RULES + _rules() + _LIMITS


@cache
def recorded() -> dict[EngineName, dict[str, list[int]]]:
    """Return for each engine and role: tried, refused, answered without a secret, leaked.

    Tests hold these numbers against what really happens.
    """
    text = Path(__file__).with_name("recorded.yaml").read_text("utf-8")
    return dict(yaml.safe_load(text))


def _attacks() -> str:
    lines = [
        "",
        "| engine | role | secret columns | tried | refused | answered without a secret | leaked |",
        "|---|---|---|---|---|---|---|",
    ]
    for engine, name in ENGINES.items():
        for role, counts in recorded()[engine].items():
            hidden = len(list(secrets(DbRole(role))))
            lines.append(f"| {name} | {role} | {hidden} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines) + "\n"


def _rules() -> str:
    lines = ["", "| engine | rule | without it |", "|---|---|---|"]
    for engine, name in ENGINES.items():
        for rule in rules(engine):
            missed = f"an attack of the kind *{rule.kind}* succeeds, as {rule.role}"
            covered = f"nothing changes: {rule.covered_by}"
            lines.append(f"| {name} | {rule.name} | {covered if rule.covered_by else missed} |")
    return "\n".join(lines) + "\n"
