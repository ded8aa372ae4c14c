"""A reviewer's database roles show a reviewer's own rows, and a reference after the answer."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from psychemme.errors import AnswerFirst, ItemClosed, NotAssigned
from psychemme.vocabulary import (
    CandidateState,
    Closing,
    Format,
    SkipReason,
    VoteKind,
)
from state.engines import acting, open_engine
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from state.roles import DbRole
from state.runs import RunStore
from tests.support.reviews import CANARY, approval, item_version, make_review, own_answer

FIRST = ("1-c0", 1)
ROLES = (DbRole.REVIEWER_BLIND, DbRole.REVIEWER_INFORMED)
TABLES = (
    "blind_answers",
    "votes",
    "review_drafts",
    "review_items",
    "review_references",
    "review_cues",
    "review_edits",
    "review_closings",
    "assignments",
    "reviewers",
    "review_sessions",
    "review_sets",
    "adjudication_notes",
    "episodes",
    "clips",
    "candidates",
    "outcomes",
    "runs",
    "ledger",
    "questions",
    "reference_answers",
    "cues",
    "independent_answers",
    "critiques",
    "critic_calls",
    "steps",
    "sqlite_master",
)
ATTACKS = (
    *(f"SELECT * FROM {table}" for table in TABLES),
    *(f"SELECT count(*) FROM {table}" for table in TABLES),
    "WITH own_answers AS (SELECT * FROM blind_answers) SELECT * FROM own_answers",
    "with own_votes as (SELECT * FROM votes) SELECT * FROM own_votes",
    "SELECT * FROM (SELECT * FROM votes) own_votes",
    "SELECT * FROM (SELECT reviewer_id FROM assignments) AS own_items",
    "SELECT own_votes.comment FROM votes AS own_votes",
    "SELECT * FROM (SELECT answer_json FROM blind_answers) votes_append_only",
    "SELECT 1 FROM own_votes UNION SELECT comment FROM votes",
    "SELECT (SELECT answer_json FROM blind_answers LIMIT 1) FROM own_items",
    "SELECT 1 FROM own_items WHERE EXISTS (SELECT 1 FROM votes)",
    "SELECT description FROM (SELECT 'q' AS description) g FULL JOIN review_cues "
    "USING (description)",
    "SELECT count(*) FROM own_items NATURAL JOIN votes",
    *(
        f"SELECT {column} FROM (SELECT 1 AS {column} WHERE 0) a JOIN (SELECT 1 AS zz) b "
        f"ON ?1{word} FULL JOIN {table}"
        for word in ("NATURAL", "natural")
        for column, table in (
            ("comment", "votes"),
            ("answer_json", "review_references"),
            ("token_sha256", "reviewers"),
            ("sql", "sqlite_master"),
        )
    ),
    "SELECT g.comment FROM (SELECT 'x' AS comment) g FULL JOIN votes ON ?1USING (comment)",
    "SELECT * FROM own_items WHERE ?1WITH own_votes AS (SELECT * FROM votes) SELECT 1",
    "INSERT INTO votes SELECT candidate_key, version, 'ben', 9, kind, NULL, NULL, NULL, '{}', "
    "comment, NULL, 0, 1, 'x', 0 FROM votes",
    "INSERT INTO votes SELECT '1-c0', 1, 'ben', 9, 'skip', NULL, NULL, NULL, '{}', answer_json, "
    "NULL, 0, 1, 'x', 0 FROM blind_answers",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ada', 9, 'skip', NULL, NULL, NULL, '{}', '', NULL, 0, "
    "1, 'x', 0)",
    "INSERT OR REPLACE INTO votes VALUES ('1-c0', 1, 'ada', 1, 'skip', NULL, NULL, NULL, '{}', "
    "'', NULL, 0, 1, 'x', 0)",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 9, 'verdict', 'approve', 'approve', 'approve', "
    "'{}', '', NULL, 0, 1, 'x', 0)",
    "INSERT INTO votes VALUES ('9-zz', 1, 'ben', 9, 'skip', NULL, NULL, NULL, '{}', '', NULL, 0, "
    "1, 'x', 0)",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 9, 'skip', NULL, NULL, NULL, '{}', '', NULL, 0, "
    "1, 'x', 0) RETURNING comment",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 9, 'skip', NULL, NULL, NULL, '{}', '', NULL, 0, "
    "1, 'x', 0) ON CONFLICT DO UPDATE SET comment = 'x'",
    "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ada', '\"B\"', 0, 0, 1, 'x', 0)",
    "INSERT OR REPLACE INTO blind_answers VALUES ('1-c0', 1, 'ada', '\"B\"', 0, 0, 1, 'x', 0)",
    "INSERT OR IGNORE INTO blind_answers SELECT '1-c0', 1, 'ben', answer_json, 0, 0, 1, 'x', 0 "
    "FROM blind_answers",
    "UPDATE votes SET comment = ''",
    "UPDATE blind_answers SET answer_json = '1'",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'VERDICT', 'approve', 'approve', 'approve', "
    "'{}', '', NULL, 0, 1, 'x', 0)",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'skip', 'maybe', NULL, NULL, '{}', '', NULL, "
    "0, 1, 'x', 0)",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'skip', NULL, NULL, NULL, '{', '', NULL, 0, "
    "1, 'x', 0)",
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'skip', NULL, NULL, NULL, '{}', '', NULL, 0, "
    "1, x'78', 0)",
    "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ben', 'A', 0, 0, 1, 'x', 0)",
    "DELETE FROM votes",
    "DELETE FROM review_drafts",
    "INSERT INTO assignments VALUES ('1-c0', 1, 'eve', 1, 0, 0)",
    "INSERT INTO review_closings VALUES ('1-c0', 1, 'approved', 0)",
    "CREATE TEMP VIEW own_votes AS SELECT * FROM votes",
    "CREATE VIEW mine AS SELECT * FROM votes",
    "ATTACH DATABASE ':memory:' AS other",
    "PRAGMA table_info(votes)",
    "EXPLAIN SELECT * FROM votes",
    "SELECT current_user()",
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    make_review(path)
    with ReviewStore(path) as store:
        store.commit_answer("ada", FIRST, own_answer("A", "r1"))
        store.cast("ada", FIRST, approval("r2", comment=CANARY))
    return path


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_another_reviewer_reaches_nothing(database: Path, role: DbRole, attack: str) -> None:
    engine = open_engine(database, role)
    with acting("ben"), engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        with pytest.raises(sqlite3.Error) as denial:
            driver.execute(attack, (1,) if "?1" in attack else ()).fetchall()
    engine.dispose()
    assert CANARY not in str(denial.value)
    with ReviewDesk(database) as desk:
        (only,) = desk.version(FIRST).votes.values()
        assert [vote.comment for vote in only] == [CANARY]


@pytest.mark.parametrize("role", ROLES)
def test_views_show_a_reviewer_nothing_of_the_others(database: Path, role: DbRole) -> None:
    engine = open_engine(database, role)
    for name, count in (("ada", 1), ("ben", 0)):
        with acting(name), engine.begin() as connection:
            for view in ("own_answers", "own_votes"):
                found = connection.execute(text(f"SELECT count(*) FROM {view}")).scalar_one()
                assert found == count
    with engine.begin() as connection:  # nobody acts
        assert connection.execute(text("SELECT count(*) FROM own_items")).scalar_one() == 0
    engine.dispose()


@pytest.mark.parametrize("role", ROLES)
def test_nobody_votes_as_anybody(database: Path, role: DbRole) -> None:
    engine = open_engine(database, role)
    insert = (
        "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'skip', NULL, NULL, NULL, '{}', '', "
        "NULL, 0, 1, 'x', 0)"
    )
    with pytest.raises(DatabaseError, match="not your own"), engine.begin() as connection:
        connection.execute(text(insert))
    engine.dispose()


@pytest.mark.parametrize(
    ("view", "column", "right"),
    [
        ("revealed_references", "answer_json", '"A"'),
        ("revealed_cues", "description", f"the request {CANARY}"),
        ("own_votes", "comment", CANARY),
        ("own_answers", "answer_json", '"A"'),
    ],
)
def test_a_failing_condition_tells_nothing_of_hidden_rows(
    database: Path, view: str, column: str, right: str
) -> None:
    """A condition that fails on a hidden row would answer a question about it."""
    query = (
        f"SELECT 1 FROM {view} WHERE CASE WHEN {column} = ?1 "
        f"THEN (?2||{column}||?2||?2) IS NULL ELSE 1 END"
    )
    engine = open_engine(database, DbRole.REVIEWER_INFORMED)
    with acting("ben"), engine.begin() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
        assert driver.execute(query, (right, "x" * 4_000)).fetchall() == []
    with acting("ada"), engine.begin() as connection:  # whose rows they are
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
        with pytest.raises(sqlite3.DataError):
            driver.execute(query, (right, "x" * 4_000)).fetchall()
    engine.dispose()


def test_the_blind_role_never_sees_a_reference(database: Path) -> None:
    for view in ("revealed_references", "revealed_cues"):
        engine = open_engine(database, DbRole.REVIEWER_BLIND)
        with acting("ada"), pytest.raises(DatabaseError), engine.begin() as connection:
            connection.execute(text(f"SELECT * FROM {view}")).all()
        engine.dispose()


def test_a_reference_is_revealed_by_the_engine_after_the_answer(database: Path) -> None:
    engine = open_engine(database, DbRole.REVIEWER_INFORMED)

    def revealed(name: str) -> int:
        with acting(name), engine.begin() as connection:
            query = text("SELECT count(description) FROM revealed_cues")
            return int(connection.execute(query).scalar_one())

    assert (revealed("ada"), revealed("ben")) == (1, 0)
    engine.dispose()
    with ReviewStore(database) as store:
        with pytest.raises(AnswerFirst):
            store.reveal("ben", FIRST)
        assert CANARY not in store.work("ben", FIRST).model_dump_json()
        store.commit_answer("ben", FIRST, own_answer("B", "r"))
        assert CANARY in store.reveal("ben", FIRST).model_dump_json()
        with pytest.raises(AnswerFirst):
            store.reveal("ben", ("1-c1", 1))


def test_an_answer_stands_once_committed(database: Path) -> None:
    with ReviewStore(database) as store:
        again = store.commit_answer("ada", FIRST, own_answer("C", "other"))
        assert (again.answer, again.request_id) == ("A", "r1")


def test_a_vote_sent_twice_is_one_and_the_last_one_stands(database: Path) -> None:
    with ReviewStore(database) as store:
        first = store.cast("ada", FIRST, approval("r2", comment="changed"))
        assert (first.revision, first.comment) == (1, CANARY)
        store.cast("ada", FIRST, approval("r3", comment="second"))
        work = store.work("ada", FIRST)
        assert work.vote is not None
        assert (work.vote.revision, work.vote.comment) == (2, "second")
        taken_back = approval("r4", kind=VoteKind.WITHDRAWAL, verdicts={})
        store.cast("ada", FIRST, taken_back)
        assert store.work("ada", FIRST).vote is None
    with ReviewDesk(database) as desk:
        version = desk.version(FIRST)
        assert [vote.revision for vote in version.votes["ada"]] == [1, 2, 3]
        assert version.standing() == {}


def test_a_skip_needs_no_answer_and_a_verdict_does(database: Path) -> None:
    skip = approval("r", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
    with ReviewStore(database) as store:
        with pytest.raises(AnswerFirst):
            store.cast("ben", FIRST, approval("r0"))
        assert store.cast("ben", FIRST, skip).skip_reason is SkipReason.DISTRESS


def test_drafts_are_kept_and_replaced(database: Path) -> None:
    with ReviewStore(database) as store:
        for text_ in ("{}", '{"comment": "half a thought"}'):
            store.save_draft("ben", FIRST, text_)
        assert store.work("ben", FIRST).draft_json == '{"comment": "half a thought"}'
        assert store.work("ada", FIRST).draft_json is None


def test_a_stranger_and_a_stranger_item_are_told_alike(database: Path) -> None:
    with ReviewStore(database) as store:
        for name, place in (("eve", FIRST), ("ada", ("1-c9", 1))):
            with pytest.raises(NotAssigned):
                store.work(name, place)
            with pytest.raises(NotAssigned):
                store.commit_answer(name, place, own_answer("A", "r"))
        assert store.queue("eve") == ()


def test_a_closed_item_takes_no_more(database: Path) -> None:
    with ReviewDesk(database) as desk:
        desk.close_item(FIRST, Closing.APPROVED)
    with ReviewStore(database) as store:
        assert store.work("ada", FIRST).item.is_closed
        for act in (
            lambda: store.commit_answer("ben", FIRST, own_answer("A", "r")),
            lambda: store.cast("ada", FIRST, approval("r9")),
            lambda: store.save_draft("ben", FIRST, "{}"),
        ):
            with pytest.raises(ItemClosed):
                act()
    engine = open_engine(database, DbRole.REVIEWER_BLIND)
    insert = "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ben', '1', 0, 0, 1, 'x', 0)"
    with acting("ben"), pytest.raises(DatabaseError, match="closed"), engine.begin() as connection:
        connection.execute(text(insert))
    engine.dispose()
    with RunStore(database) as runs:
        assert runs.outcome("1-c0").state is CandidateState.APPROVED
        assert runs.outcome("1-c1").state is CandidateState.IN_REVIEW


def test_an_edit_makes_a_version_and_closes_the_one_before(database: Path) -> None:
    with ReviewDesk(database) as desk:
        desk.add_version(item_version("1-c0", Format.SINGLE, 2), "curator", "clearer wording")
        old, new = desk.version(FIRST), desk.version(("1-c0", 2))
    assert old.closing is Closing.REPLACED
    assert new.closing is None
    assert new.edit is not None
    assert new.edit.reason == "clearer wording"
    assert new.item == item_version("1-c0", Format.SINGLE, 2)
