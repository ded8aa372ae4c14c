"""Attack a Shared State of the same kind as a given one, and knock at the given one itself."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from state.address import Address
from state.attacks import postgres, sqlite
from state.attacks.catalogue import EngineName
from state.attacks.classification import secrets
from state.attacks.runner import Blank, Leak, Tally, run_all
from state.engines import open_engine
from state.roles import DbRole


@dataclass(frozen=True)
class AttackReport:
    """What the attacks on scratch databases gave, and the probes of the real one."""

    engine: EngineName
    tallies: tuple[Tally, ...]
    probes: int
    unlocked: tuple[Leak, ...]

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """Every statement that a role gained something by."""
        return (*(leak for tally in self.tallies for leak in tally.leaks), *self.unlocked)

    def lines(self) -> list[str]:
        """Return the report as lines of text, one a role and one a leak."""
        return [
            *(
                f"{self.engine} {tally.role}: {tally.tried} tried, {tally.refused} refused, "
                f"{tally.answered} answered without a secret, {len(tally.leaks)} leaked"
                for tally in self.tallies
            ),
            f"this database: {self.probes} secret columns read, {len(self.unlocked)} not refused",
            *(f"LEAK {leak.role}, {leak.kind}: {leak.sql} ({leak.gain})" for leak in self.leaks),
        ]


def attack(address: Address, roles: Sequence[DbRole] = tuple(DbRole)) -> AttackReport:
    """Attack scratch databases beside `address` as each of `roles`, and probe `address` itself.

    Nothing is written to `address`. On PostgreSQL the passwords of the roles and of the
    administrator are needed: ConfigError names a missing one.
    """
    engine: EngineName = "sqlite" if isinstance(address, Path) else "postgres"
    with _blanks(address) as blank:
        tallies = tuple(run_all(engine, blank, role) for role in roles)
    probed = [(role, *probe(address, role)) for role in roles]
    return AttackReport(
        engine,
        tallies,
        sum(tried for _, tried, _ in probed),
        tuple(leak for _, _, leaks in probed for leak in leaks),
    )


def probe(address: Address, role: DbRole) -> tuple[int, list[Leak]]:
    """Read every secret column of a real database as `role`, acting for nobody.

    Returns how many statements were tried, and those that were not refused.
    """
    opened = []
    engine = open_engine(address, role)
    statements = [
        f'SELECT "{column}" FROM {table} LIMIT 1'  # noqa: S608
        for table, column in secrets(role)
    ]
    with engine.execution_options(write=False).connect() as connection:
        for statement in statements:
            try:
                with connection.begin():
                    connection.exec_driver_sql(statement)
            except DBAPIError:
                continue
            opened.append(Leak(role, "probe of the database", statement, "it was allowed"))
    engine.dispose()
    return len(statements), opened


def _blanks(address: Address) -> AbstractContextManager[Blank]:
    return sqlite.blanks() if isinstance(address, Path) else postgres.blanks(address)
