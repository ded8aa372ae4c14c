"""The Answer Agent's database role cannot reach a reference, whatever SQL it runs."""

import ast
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from psychemme.vocabulary import Format
from state import roles, tables
from state.engines import open_engine
from state.roles import ROLE_TABLE, DbRole
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore
from tests.support.states import independent, make_state, proposal, target

TOKEN = "zq7Canary"
ROOT = Path(__file__).resolve().parents[2]

ATTACKS = (
    "SELECT * FROM reference_answers",
    "SELECT answer_json FROM reference_answers",
    "SELECT count(*) FROM reference_answers",
    "SELECT 1 FROM reference_answers",
    "SELECT description FROM cues",
    "SELECT q.question, c.description FROM questions q JOIN cues c USING (candidate_key, round)",
    "SELECT question FROM questions UNION SELECT rationale FROM reference_answers",
    "SELECT question FROM questions WHERE EXISTS (SELECT 1 FROM cues)",
    "SELECT (SELECT answer_json FROM reference_answers LIMIT 1)",
    "WITH questions AS (SELECT * FROM reference_answers) SELECT * FROM questions",
    "WITH questions(question) AS (SELECT rationale FROM reference_answers) "
    "SELECT question FROM questions",
    "SELECT subcategory FROM questions",
    "SELECT * FROM questions",
    "SELECT capability FROM candidates",
    "SELECT * FROM independent_answers",
    "SELECT answer_json FROM independent_answers",
    "SELECT * FROM critiques",
    "SELECT * FROM question_calls",
    "SELECT text FROM critic_calls",
    "SELECT * FROM question_feedback",
    "SELECT outcome FROM steps",
    "SELECT * FROM outcomes",
    "SELECT * FROM clips",
    "SELECT * FROM ledger",
    "SELECT * FROM sqlite_master",
    "SELECT sql FROM sqlite_schema",
    "PRAGMA table_info(reference_answers)",
    "SELECT * FROM pragma_table_info('reference_answers')",
    "ATTACH DATABASE ':memory:' AS other",
    "CREATE TEMP TABLE t AS SELECT * FROM reference_answers",
    "CREATE TEMP VIEW v AS SELECT * FROM reference_answers",
    "CREATE VIEW v AS SELECT * FROM reference_answers",
    "CREATE TEMP TRIGGER t AFTER INSERT ON steps BEGIN SELECT 1; END",
    "DROP TABLE questions",
    "ALTER TABLE questions RENAME TO q",
    "UPDATE questions SET question = 'x'",
    "UPDATE independent_answers SET answer_json = '1'",
    "DELETE FROM steps",
    "DELETE FROM independent_answers",
    "INSERT INTO questions SELECT * FROM questions",
    "INSERT INTO reference_answers VALUES ('1-c0', 9, '1', '[]', '')",
    "INSERT INTO outcomes VALUES ('1-c0', 'accepted', NULL, 0, 0, 0)",
    "INSERT INTO steps SELECT candidate_key, 9, 'x', rationale FROM reference_answers",
    "INSERT OR REPLACE INTO steps VALUES ('1-c0', 0, 'propose', 'mine')",
    "INSERT INTO steps VALUES ('1-c0', 0, 'propose', 'x') "
    "ON CONFLICT DO UPDATE SET outcome = 'mine'",
    "INSERT INTO steps VALUES ('1-c0', 9, 'x', 'x') RETURNING outcome",
    "SELECT load_extension('x')",
    "SELECT readfile('x')",
    "VACUUM INTO '/tmp/copy.db'",
    "REINDEX",
    "ANALYZE",
    "EXPLAIN SELECT * FROM reference_answers",
    "SAVEPOINT s",
    "SELECT * FROM dbstat",
    "SELECT answer_json FROM (SELECT '1' AS answer_json) g "
    "FULL JOIN reference_answers USING (answer_json)",
    "SELECT description FROM (SELECT 'q' AS description) g FULL JOIN cues USING (description)",
    "SELECT g.modality FROM (SELECT 'speech' AS modality) g JOIN cues USING (modality)",
    "SELECT g.outcome FROM (SELECT 'proposed' AS outcome) g JOIN steps using(outcome)",
    "SELECT sql FROM (SELECT 'q' AS sql) g FULL JOIN sqlite_schema USING (sql)",
    "SELECT count(*) FROM questions NATURAL JOIN reference_answers",
    "SELECT count(*) FROM questions natural/**/JOIN reference_answers",
    "INSERT INTO independent_answers SELECT '1-c0', 5, answer_json, NULL, answer_json, '[]' "
    "FROM (SELECT '1' AS answer_json) g FULL JOIN reference_answers USING (answer_json)",
    "INSERT OR REPLACE INTO steps(rowid, candidate_key, round, step, outcome) "
    "VALUES (1, '1-c0', 7, 'zz', 'mine')",
    "INSERT OR REPLACE INTO independent_answers(_rowid_, candidate_key, round, answer_json, "
    "rationale, order_json) VALUES (1, '1-c0', 7, '1', '', '[]')",
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def filled(database: Path) -> Path:
    one = target(form=Format.OPEN)
    make_state(database, one)
    with QuestionStore(database) as question, AnswerStore(database) as answer:
        await question.save(one.key, 0, proposal(TOKEN, form=Format.OPEN))
        await answer.save(one.key, 0, independent("the ladder"), [])
    return database


@pytest.mark.parametrize("attack", ATTACKS)
async def test_answer_role_is_denied(filled: Path, attack: str) -> None:
    engine = open_engine(filled, DbRole.ANSWER)
    try:
        with pytest.raises(DatabaseError) as denial, engine.begin() as connection:
            connection.execute(text(attack)).all()
        assert TOKEN not in str(denial.value.orig)
    finally:
        engine.dispose()
    with RunStore(filled) as runs:
        assert TOKEN in runs.dossier("1-c0").rounds[0].reference.rationale
        assert runs.dossier("1-c0").rounds[0].steps["propose"] == "proposed"


@pytest.mark.parametrize("table", ["independent_answers", "critiques", "critic_calls", "steps"])
@pytest.mark.parametrize("join", ["USING (candidate_key, round)", "NATURAL"])
async def test_no_role_joins_by_columns_the_engine_is_not_asked_about(
    filled: Path, table: str, join: str
) -> None:
    using = f"FULL JOIN {table} {join}" if join != "NATURAL" else f"NATURAL JOIN {table}"
    for role in (DbRole.QUESTION, DbRole.ANSWER, DbRole.CRITIC):
        engine = open_engine(filled, role)
        with pytest.raises(DatabaseError), engine.begin() as connection:
            connection.execute(text(f"SELECT 1 FROM questions {using}")).all()
        engine.dispose()


@pytest.mark.parametrize("method", ["execute", "executemany", "executescript", "cursor"])
async def test_every_way_to_run_a_statement_is_guarded(filled: Path, method: str) -> None:
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


@pytest.mark.parametrize("role", [DbRole.QUESTION, DbRole.ANSWER, DbRole.CRITIC])
async def test_a_word_glued_to_a_parameter_is_still_that_word(filled: Path, role: DbRole) -> None:
    table = {DbRole.QUESTION: "independent_answers", DbRole.CRITIC: "question_calls"}
    join = (
        "SELECT rationale FROM (SELECT 1 AS rationale WHERE 0) a JOIN (SELECT 1 AS zz) b "
        f"ON ?1NATURAL FULL JOIN {table.get(role, 'reference_answers')}"
    )
    engine = open_engine(filled, role)
    with engine.begin() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            raw.execute(join, (1,))
    engine.dispose()


async def test_question_role_cannot_read_independent_answers(filled: Path) -> None:
    engine = open_engine(filled, DbRole.QUESTION)
    for attack in ("SELECT * FROM independent_answers", "SELECT critique_json FROM critiques"):
        with pytest.raises(DatabaseError), engine.begin() as connection:
            connection.execute(text(attack))
    engine.dispose()


async def test_each_store_reads_what_its_agent_may_see(filled: Path) -> None:
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


async def test_a_second_writer_changes_nothing(filled: Path) -> None:
    with AnswerStore(filled) as answer, CriticStore(filled) as critic:
        await answer.save("1-c0", 0, independent("another"), [])
        assert (await critic.brief("1-c0", 0)).independent.answer == "the ladder"


async def test_control_engine_with_a_leaking_grant(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ROLE_TABLE[DbRole.ANSWER]
    leaky = roles.Grants(honest.read | dict([roles.columns(tables.ReferenceRow)]), honest.insert)
    monkeypatch.setitem(ROLE_TABLE, DbRole.ANSWER, leaky)
    engine = open_engine(filled, DbRole.ANSWER)
    with engine.begin() as connection:
        found = connection.execute(text("SELECT rationale FROM reference_answers")).scalar_one()
    engine.dispose()
    assert TOKEN in found


def test_only_the_engines_module_opens_a_database() -> None:
    openers = {"connect", "create_engine"}
    for package in ("construction", "evaluation", "prompts", "psychemme", "psychology_kb", "state"):
        for file in (ROOT / package).rglob("*.py"):
            names = {
                node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.Attribute | ast.Name)
            }
            if file.name not in ("engines.py", "migrate.py"):
                assert not openers & names, file
