"""A planted scratch database, as the role sees it that attacks it, and as its owner does."""

import hashlib
from pathlib import Path

from state.address import Address
from state.attacks import postgres, sqlite
from state.attacks.catalogue import COPY, Attack
from state.attacks.outcome import Outcome
from state.attacks.scene import ATTACKER, Variant, plant
from state.engines import acting, open_engine, open_owner
from state.roles import DbRole


class Planted:
    """A scratch database with the scene in it."""

    def __init__(self, address: Address, role: DbRole, variant: Variant) -> None:
        self._run, self._everything = (
            (sqlite.run, sqlite.everything)
            if isinstance(address, Path)
            else (postgres.run, postgres.everything)
        )
        self._owner = open_owner(address)
        with self._owner.begin() as connection:
            plant(connection, role, variant)
            # What the planner knows of the rows is there to be asked for.
            connection.exec_driver_sql("ANALYZE")
        self.name = address.stem if isinstance(address, Path) else address.database
        self._address, self._role = address, role
        self._open()

    def close(self) -> None:
        """Close every connection."""
        self._close_role()
        self._owner.dispose()

    def change(self, *statements: str) -> None:
        """Run statements as the owner; `reopen` then takes what they did for planted."""
        with self._owner.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def ask(self, question: str) -> list[tuple[object, ...]]:
        """Return what the owner reads."""
        with self._owner.execution_options(write=False).connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(question)]

    def reopen(self) -> None:
        """Open the role's connection anew, by the rules as they are now."""
        self._close_role()
        self._open()

    def run(self, attack: Attack) -> Outcome:
        """Run a statement as the role, and commit what it did."""
        COPY.unlink(missing_ok=True)
        with acting(ATTACKER):
            return self._run(self._connection, attack)

    def is_changed(self) -> bool:
        """Return whether the schema or a row is not as it was planted."""
        return self._digest() != self._planted

    def _open(self) -> None:
        self._engine = open_engine(self._address, self._role)
        self._connection = self._engine.connect()
        self._planted = self._digest()

    def _close_role(self) -> None:
        self._connection.close()
        self._engine.dispose()

    def _digest(self) -> str:
        with self._owner.execution_options(write=False).connect() as connection:
            return hashlib.sha256(repr(self._everything(connection)).encode()).hexdigest()
