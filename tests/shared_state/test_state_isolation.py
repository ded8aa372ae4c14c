"""Each agent's store shows what the agent may see; `test_state_attacks.py` tries the rest."""

import sqlite3

import pytest
from sqlalchemy import text

from psychemme.vocabulary import Format
from state import roles, tables
from state.address import Address
from state.engines import open_engine
from state.roles import ROLE_TABLE, DbRole
from state.stores import AnswerStore, CriticStore, QuestionStore
from tests.support.states import independent, make_state, proposal, target

TOKEN = "zq7Canary"
ON_SQLITE = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


@pytest.fixture
async def filled(address: Address) -> Address:
    one = target(form=Format.OPEN)
    make_state(address, one)
    with QuestionStore(address) as question, AnswerStore(address) as answer:
        await question.save(one.key, 0, proposal(TOKEN, form=Format.OPEN))
        await answer.save(one.key, 0, independent("the ladder"), [])
    return address


@ON_SQLITE
@pytest.mark.parametrize("method", ["execute", "executemany", "executescript", "cursor"])
async def test_every_way_to_run_a_statement_is_guarded(filled: Address, method: str) -> None:
    join = (
        "INSERT INTO steps SELECT '1-c0', 77, coalesce(rationale, 'n'), 'x' FROM "
        "(SELECT 'q' AS rationale) g FULL JOIN reference_answers USING (rationale)"
    )
    engine = open_engine(filled, DbRole.ANSWER)
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        run = raw.cursor().execute if method == "cursor" else getattr(raw, method)
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            run(join, [()]) if method == "executemany" else run(join)
    engine.dispose()


async def test_each_store_reads_what_its_agent_may_see(filled: Address) -> None:
    with (
        QuestionStore(filled) as question,
        AnswerStore(filled) as answer,
        CriticStore(filled) as critic,
    ):
        asked = await question.brief("1-c0", 1)
        seen = await answer.brief("1-c0", 0)
        judged = await critic.brief("1-c0", 0)
    assert asked.earlier[0] == proposal(TOKEN, form=Format.OPEN)
    assert TOKEN not in seen.model_dump_json()
    assert seen.question == judged.question.question
    assert judged.reference == proposal(TOKEN, form=Format.OPEN).reference
    assert judged.independent.answer == "the ladder"


async def test_a_second_writer_changes_nothing(filled: Address) -> None:
    with AnswerStore(filled) as answer, CriticStore(filled) as critic:
        await answer.save("1-c0", 0, independent("another"), [])
        assert (await critic.brief("1-c0", 0)).independent.answer == "the ladder"


@ON_SQLITE
async def test_control_engine_with_a_leaking_grant(
    filled: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ROLE_TABLE[DbRole.ANSWER]
    leaky = roles.Grants(honest.read | dict([roles.columns(tables.ReferenceRow)]), honest.insert)
    monkeypatch.setitem(ROLE_TABLE, DbRole.ANSWER, leaky)
    engine = open_engine(filled, DbRole.ANSWER)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT rationale FROM reference_answers")).scalar_one()
    engine.dispose()
    assert TOKEN in found


async def test_text_that_a_database_refuses_is_stored_alike(address: Address) -> None:
    one = target(form=Format.OPEN)
    make_state(address, one)
    with QuestionStore(address) as store:
        await store.save(one.key, 0, proposal("a\0b\N{SNOWMAN}", form=Format.OPEN))
        (earlier,) = (await store.brief(one.key, 1)).earlier
    assert earlier.reference is not None
    # NUL is an escape in JSON, and stays; in text of its own it cannot.
    assert earlier.reference.answer == "hold the ladder a\0b\N{SNOWMAN}"
    assert earlier.reference.rationale == "because of the request a\ufffdb\N{SNOWMAN}"


@pytest.mark.parametrize("role", [DbRole.QUESTION, DbRole.CURATOR])
def test_a_lone_surrogate_is_stored_alike(address: Address, role: DbRole) -> None:
    engine = open_engine(address, role)
    with engine.begin() as connection:
        kept = connection.execute(text("SELECT coalesce(:said, '')"), {"said": "a\ud800b"})
        assert kept.scalar_one() == "a\ufffdb"
    engine.dispose()
