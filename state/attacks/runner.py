"""Run every attack of a role against two databases that differ in its secrets only."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from state.address import Address
from state.attacks.catalogue import Attack, EngineName, attacks
from state.attacks.database import Planted
from state.attacks.outcome import Outcome
from state.attacks.scene import Variant
from state.roles import DbRole

Blank = Callable[[], Address]
"""Returns a fresh, migrated, empty Shared State."""
_LAST = Attack("all of them", "one of the statements that were refused")


@dataclass(frozen=True)
class Leak:
    """A statement that a role gained something by, and what."""

    role: DbRole
    kind: str
    sql: str
    gain: str


@dataclass(frozen=True)
class Tally:
    """What became of a role's attacks."""

    role: DbRole
    tried: int
    refused: int
    leaks: tuple[Leak, ...]

    @property
    def answered(self) -> int:
        """Statements that were answered without a secret."""
        return self.tried - self.refused - len(self.leaks)


def run_all(engine: EngineName, blank: Blank, role: DbRole) -> Tally:
    """Run every attack of `role`, the databases planted anew once one is changed."""
    every = attacks(engine, role)
    refused, leaks = 0, []
    rest = list(every)
    while rest:
        with pair(blank, role) as two:
            for attack, was_refused, gain in results(two, rest.copy()):
                rest = rest[1:]
                refused += was_refused and not gain
                if gain:
                    leaks.append(Leak(role, attack.kind, attack.sql, gain))
                    break
    return Tally(role, len(every), refused, tuple(leaks))


def results(
    two: Sequence[Planted], statements: Iterable[Attack]
) -> Iterator[tuple[Attack, bool, str]]:
    """Yield each attack, whether it was refused, and what was gained by it ('' for nothing)."""
    for attack in statements:
        outcomes = [one.run(attack) for one in two]
        refused = all(outcome.is_refused for outcome in outcomes)
        changed = not refused and any(one.is_changed() for one in two)
        yield attack, refused, _gain(attack, outcomes, changed)
    if any(one.is_changed() for one in two):
        yield _LAST, True, "it changed rows"


@contextmanager
def pair(blank: Blank, role: DbRole) -> Iterator[list[Planted]]:
    """Give two databases that differ in the secrets of `role` only."""
    variants: tuple[Variant, Variant] = ("a", "b")
    two = [Planted(blank(), role, variant) for variant in variants]
    try:
        yield two
    finally:
        for one in two:
            one.close()


def _gain(attack: Attack, outcomes: list[Outcome], changed: bool) -> str:
    first, second = outcomes
    if first != second:
        return "its answer depends on a secret"
    if changed:
        return "it changed rows"
    return "it was allowed" if attack.never and not first.is_refused else ""
