"""The rules that isolation is made of: what an attack gains without each, or what covers it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from state.attacks.catalogue import EngineName
from state.roles import DbRole


@dataclass(frozen=True)
class Rule:
    """A rule, the role that is tried without it, and the kind of attack that then succeeds.

    `covered_by` names what still stops every attack of the role where the rule is missing.
    """

    engine: EngineName
    name: str
    role: DbRole
    kind: str = ""
    covered_by: str = ""

    def __str__(self) -> str:
        return self.name


@cache
def rules(engine: EngineName) -> tuple[Rule, ...]:
    """Return the rules of an engine, in the order of `rules.yaml`."""
    given = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text("utf-8"))
    return tuple(
        Rule(
            engine, row["rule"], DbRole(row["role"]), row.get("without", ""), row.get("covered", "")
        )
        for row in given[engine]
    )
