"""A role writes steps and ledger entries of its own, and no one else's."""

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel

from psychemme.vocabulary import AgentRole, Step
from state import tables
from state.address import Address
from state.engines import open_engine
from state.roles import DbRole
from tests.support.states import make_state, target

KEY = "1-c0"
OWNED = {
    DbRole.QUESTION: {Step.PROPOSE},
    DbRole.ANSWER: {Step.ANSWER},
    DbRole.CRITIC: {Step.CRITIQUE},
    DbRole.CURATOR: {Step.CHECK, Step.ROUTE},
}
AGENTS = (DbRole.QUESTION, DbRole.ANSWER, DbRole.CRITIC)


def step(name: str) -> SQLModel:
    return tables.StepRow(candidate_key=KEY, round=0, step=name, outcome="")


def entry(role: str) -> SQLModel:
    return tables.LedgerEntry(
        candidate_key=KEY, round=0, role=role, attempt=0, model="m", prompt_id="p",
        prompt_hash="h", parameters_json="{}", input_tokens=1, output_tokens=1, latency=0.0,
        called_at=0,
    )  # fmt: skip


def write(address: Address, role: DbRole, row: SQLModel) -> None:
    engine = open_engine(address, role)
    try:
        with engine.begin() as connection:
            connection.execute(insert(type(row)).values(row.model_dump()))
    finally:
        engine.dispose()


@pytest.mark.parametrize("role", OWNED)
def test_a_role_writes_its_own_steps_only(address: Address, role: DbRole) -> None:
    make_state(address, target())
    for name in (*Step, "another"):
        if name in OWNED[role] or (name == "another" and role is DbRole.CURATOR):
            write(address, role, step(name))
        else:
            with pytest.raises(IntegrityError, match="not your own"):
                write(address, role, step(name))


@pytest.mark.parametrize("role", AGENTS)
def test_a_role_writes_its_own_ledger_entries_only(address: Address, role: DbRole) -> None:
    make_state(address, target())
    for name in (*AgentRole, "curator"):
        if name == role:
            write(address, role, entry(name))
        else:
            with pytest.raises(IntegrityError, match="not your own"):
                write(address, role, entry(name))


def test_every_row_of_a_statement_is_looked_at(address: Address) -> None:
    make_state(address, target())
    engine = open_engine(address, DbRole.ANSWER)
    both = "INSERT INTO steps VALUES ('1-c0', 0, 'answer', ''), ('1-c0', 0, 'critique', '')"
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(text(both))
    engine.dispose()
