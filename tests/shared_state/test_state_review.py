"""A reviewer's database roles show a reviewer's own rows, and a reference after the answer."""

import sqlite3
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from psychemme.canonical import now
from psychemme.errors import AnswerFirst, ItemClosed, NotAssigned, VotedMeanwhile
from psychemme.vocabulary import (
    CandidateState,
    Closing,
    Format,
    SetKind,
    SkipReason,
    VoteKind,
)
from state.address import Address
from state.engines import acting, open_engine, open_owner
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import SessionRecord, SetRecord
from state.roles import DbRole
from state.runs import RunStore
from tests.support.reviews import CANARY, approval, item_version, make_review, own_answer

FIRST = ("1-c0", 1)
ROLES = (DbRole.REVIEWER_BLIND, DbRole.REVIEWER_INFORMED)


@pytest.fixture
def database(address: Address) -> Address:
    make_review(address)
    with ReviewStore(address) as store:
        store.commit_answer("ada", FIRST, own_answer("A", "r1"))
        store.cast("ada", FIRST, approval("r2", comment=CANARY))
    return address


@pytest.mark.parametrize("role", ROLES)
def test_views_show_a_reviewer_nothing_of_the_others(database: Address, role: DbRole) -> None:
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
def test_nobody_votes_as_anybody(database: Address, role: DbRole) -> None:
    engine = open_engine(database, role)
    insert = (
        "INSERT INTO votes VALUES ('1-c0', 1, 'ben', 1, 'skip', NULL, NULL, NULL, '{}', '', "
        "NULL, 0, 1, 'x', 0)"
    )
    with pytest.raises(DatabaseError, match="not your own"), engine.begin() as connection:
        connection.execute(text(insert))
    engine.dispose()


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
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
    database: Address, view: str, column: str, right: str
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


def test_the_blind_role_never_sees_a_reference(database: Address) -> None:
    for view in ("revealed_references", "revealed_cues"):
        engine = open_engine(database, DbRole.REVIEWER_BLIND)
        with acting("ada"), pytest.raises(DatabaseError), engine.begin() as connection:
            connection.execute(text(f"SELECT * FROM {view}")).all()
        engine.dispose()


def test_a_reference_is_revealed_by_the_engine_after_the_answer(database: Address) -> None:
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


def test_an_answer_stands_once_committed(database: Address) -> None:
    with ReviewStore(database) as store:
        again = store.commit_answer("ada", FIRST, own_answer("C", "other"))
        assert (again.answer, again.request_id) == ("A", "r1")


def test_a_vote_sent_twice_is_one_and_the_last_one_stands(database: Address) -> None:
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


def test_a_skip_needs_no_answer_and_a_verdict_does(database: Address) -> None:
    skip = approval("r", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
    with ReviewStore(database) as store:
        with pytest.raises(AnswerFirst):
            store.cast("ben", FIRST, approval("r0"))
        assert store.cast("ben", FIRST, skip).skip_reason is SkipReason.DISTRESS


def test_drafts_are_kept_and_replaced(database: Address) -> None:
    with ReviewStore(database) as store:
        for text_ in ("{}", '{"comment": "half a thought"}'):
            store.save_draft("ben", FIRST, text_)
        assert store.work("ben", FIRST).draft_json == '{"comment": "half a thought"}'
        assert store.work("ada", FIRST).draft_json is None


def test_a_stranger_and_a_stranger_item_are_told_alike(database: Address) -> None:
    with ReviewStore(database) as store:
        for name, place in (("eve", FIRST), ("ada", ("1-c9", 1))):
            with pytest.raises(NotAssigned):
                store.work(name, place)
            with pytest.raises(NotAssigned):
                store.commit_answer(name, place, own_answer("A", "r"))
        assert store.queue("eve") == ()


def test_a_closed_item_takes_no_more(database: Address) -> None:
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
    insert = "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ben', '1', false, 0, 1, 'x', 0)"
    with acting("ben"), pytest.raises(DatabaseError, match="closed"), engine.begin() as connection:
        connection.execute(text(insert))
    engine.dispose()
    with RunStore(database) as runs:
        assert runs.outcome("1-c0").state is CandidateState.APPROVED
        assert runs.outcome("1-c1").state is CandidateState.IN_REVIEW


def test_an_edit_makes_a_version_and_closes_the_one_before(database: Address) -> None:
    with ReviewDesk(database) as desk:
        desk.add_version(item_version("1-c0", Format.SINGLE, 2), "curator", "clearer wording")
        old, new = desk.version(FIRST), desk.version(("1-c0", 2))
    assert old.closing is Closing.REPLACED
    assert new.closing is None
    assert new.edit is not None
    assert new.edit.reason == "clearer wording"
    assert new.item == item_version("1-c0", Format.SINGLE, 2)


VOTE = (
    "INSERT INTO votes VALUES ('1-c0', 1, 'ben', {revision}, '{kind}', {verdicts}, '{reasons}', "
    "'{comment}', {skip}, {seconds}, {watched}, '{request}', 1)"
)
SAYS_NOTHING = {"revision": 1, "kind": "skip", "verdicts": "NULL, NULL, NULL", "reasons": "{}",
                "comment": "", "skip": "NULL", "seconds": 0, "watched": 1,
                "request": "x"}  # fmt: skip
ANSWER = "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ben', '{}', {}, {}, {}, 'q', -5)"
HALVES = (r"\ud800", r"a\uDC00", r"\\\ud800", r"\"\ud83d", r"\u0000")
"""In JSON: texts that no database holds; the third has a backslash before half a character."""
MISSHAPEN = (
    *(
        VOTE.format(**SAYS_NOTHING | change)
        for change in (
            {"reasons": "5"},
            {"reasons": "[]"},
            {"reasons": '{"question_validity": "text"}'},
            {"reasons": '{"question_validity": [["text"]]}'},
            {"reasons": '{"question_validity": [5]}'},
            {"reasons": '{"mood": ["text"]}'},
            {"reasons": r'{"question_validity": ["\ud800"]}'},
            {"reasons": r'{"question_validity": ["a", "\u0000"]}'},
            {"reasons": '{"question_validity": [""]}'},
            {"reasons": '{"question_validity": ["a b"]}'},
            {"reasons": f'{{"question_validity": ["{"a" * 16_000}"]}}'},
            {"comment": "é" * 8_001},
            {"request": "x" * 65},
            {"skip": "'other'"},
            {"verdicts": "'approve', NULL, NULL"},
            {"kind": "verdict"},
            {
                "kind": "verdict",
                "verdicts": "'approve', 'approve', 'approve'",
                "skip": "'distress'",
            },
            {"watched": 99},
            {"watched": -1},
            {"seconds": -1},
            {"revision": 0},
            {"revision": 2_000_000_000},
        )
    ),
    *(ANSWER.format(given, "false", 0, 1) for given in ('{"a": 1}', "[]", "[1]", "5", "null")),
    *(ANSWER.format(f'"{text}"', "false", 0, 1) for text in HALVES),
    ANSWER.format(r'["A", "\ud800"]', "false", 0, 1),
    ANSWER.format("[" + '"A", ' * 9_000 + '"A"]', "false", 0, 1),
    ANSWER.format('"A"', "false", -1, 1),
    ANSWER.format('"A"', "false", 0, 99),
)


def as_ben(database: Address, *statements: str) -> None:
    """Run statements as a reviewer who needs no page."""
    engine = open_engine(database, DbRole.REVIEWER_BLIND)
    try:
        for statement in statements:
            with acting("ben"), engine.begin() as connection:
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


def test_a_row_that_nobody_could_read_is_refused(database: Address) -> None:
    for statement in MISSHAPEN:
        with pytest.raises(DatabaseError, match=r"no known shape|no answer"):
            as_ben(database, statement)
    as_ben(
        database,
        VOTE.format(**SAYS_NOTHING | {"reasons": '{"question_validity": ["a", "b"]}'}),
        ANSWER.format('["A", "B"]', "false", 0, 1),
    )
    as_ben(
        database,
        VOTE.format(**SAYS_NOTHING | {"revision": 2, "comment": "é" * 4_000, "request": "y" * 64}),
    )
    with ReviewDesk(database) as desk:
        assert desk.version(FIRST).faults == ()


def test_what_looks_like_half_a_character_is_text(database: Address) -> None:
    typed = '\\ud800 \\\\udc00 \\u0000 \x1f\n"é\U0001f600'
    with ReviewStore(database) as store:
        store.commit_answer("ben", ("1-c1", 1), own_answer(typed, "r"))
        found = store.work("ben", ("1-c1", 1)).answer
    assert found is not None
    assert found.answer == typed


def test_the_engine_says_when_and_how_blind_a_reviewer_answered(database: Address) -> None:
    before = now()
    as_ben(database, VOTE.format(**SAYS_NOTHING), ANSWER.format('"A"', "true", 0, 1))
    with ReviewDesk(database) as desk:
        version = desk.version(FIRST)
    assert not version.answers["ben"].is_unblinded
    for said in (version.answers["ben"], version.votes["ben"][0]):
        assert before - 1_000_000 < said.committed_at < now() + 1_000_000


def test_whose_row_it_is_decides_before_all_else(database: Address) -> None:
    said = set()
    for name in ("ada", "cleo", "nobody"):
        for request in ("r2", "other"):
            vote = f"INSERT INTO votes VALUES ('1-c0', 1, '{name}', 1, 'skip', NULL, NULL, NULL, "
            with pytest.raises(DatabaseError) as refused:
                as_ben(database, f"{vote}'5', '', NULL, 0, 99, '{request}', 1)")
            said.add(str(refused.value.orig).splitlines()[0])
    assert said == {"votes: not your own"}


def test_one_row_that_nobody_can_read_stops_nobody(database: Address) -> None:
    """Such as one from before the engine refused it: the owner writes it here."""
    half = r'{"question_validity": ["\ud800"]}'
    columns = "'1-c0', 1, 'ben'"
    engine = open_owner(database)
    with engine.begin() as connection:
        for statement in (
            f"INSERT INTO blind_answers VALUES ({columns}, '\"hello\"', false, 0, 1, 'q', 1)",
            f"INSERT INTO votes VALUES ({columns}, 1, 'skip', NULL, NULL, NULL, '5', '', NULL, "
            "0, 1, 'x', 1)",
            f"INSERT INTO votes VALUES ('1-c0', 1, 'cleo', 1, 'skip', NULL, NULL, NULL, '{half}', "
            "'', NULL, 0, 1, 'x', 1)",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()
    with ReviewDesk(database) as desk:
        first, _ = desk.board().versions
    assert (set(first.answers), set(first.standing())) == ({"ada"}, {"ada"})
    vote, halved, answer = first.faults
    assert halved == "vote 1 of cleo: a text holds half a character (a lone surrogate)"
    assert vote.startswith("vote 1 of ben: ")
    assert answer == "answer of ben: it does not fit a single question"
    with ReviewStore(database) as store:
        assert store.work("ben", FIRST).vote is None
        skip = approval("s", kind=VoteKind.SKIP, verdicts={}, skip_reason=SkipReason.DISTRESS)
        assert store.cast("ben", FIRST, skip, after=1).revision == 2


def test_bytes_that_are_no_text_stop_nobody(tmp_path: Path) -> None:
    database = tmp_path / "state.db"  # PostgreSQL refuses them by itself
    make_review(database)
    vote = VOTE.format(**SAYS_NOTHING | {"comment": "no text"})
    as_ben(database, vote.replace("'no text'", "CAST(x'61ff' AS TEXT)"))
    with ReviewDesk(database) as desk:
        assert desk.version(FIRST).votes["ben"][0].comment == "a\N{REPLACEMENT CHARACTER}"


def test_a_vote_replaces_only_what_its_reviewer_saw(database: Address) -> None:
    with ReviewStore(database) as store:
        for seen in (0, 2):
            with pytest.raises(VotedMeanwhile):
                store.cast("ada", FIRST, approval("late"), after=seen)
        assert store.cast("ada", FIRST, approval("r2"), after=0).revision == 1  # sent again
        assert store.cast("ada", FIRST, approval("late"), after=1).revision == 2
        assert store.work("ada", FIRST).revision == 2


def test_a_session_opens_only_while_its_link_is_the_reviewers(database: Address) -> None:
    def begin(desk: ReviewDesk, link: str | None) -> bool:
        moment = now()
        record = SessionRecord(
            token_sha256=f"s{link}", reviewer_id="ada", started_at=moment, expires_at=moment + 1
        )
        return desk.start_session(record, link)

    with ReviewDesk(database) as desk:
        (ada,) = (one for one in desk.reviewers() if one.id == "ada")
        assert begin(desk, ada.token_sha256)
        desk.renew("ada", "another", ada.expires_at)
        assert not begin(desk, ada.token_sha256)
        assert not begin(desk, None)
        assert begin(desk, "another")
        desk.revoke("ada")
        assert not begin(desk, "another")


def test_only_a_newest_version_is_marked_frozen(database: Address) -> None:
    with ReviewDesk(database) as desk, RunStore(database) as runs:
        desk.add_version(item_version("1-c0", Format.SINGLE, 2), "curator", "clearer wording")
        desk.mark_frozen([FIRST, ("1-c1", 1)])
        assert runs.outcome("1-c0").state is CandidateState.IN_REVIEW
        assert runs.outcome("1-c1").state is CandidateState.FROZEN


@pytest.mark.parametrize("number", [0, -1])
def test_a_set_asks_for_a_reviewer_at_least(number: int) -> None:
    with pytest.raises(ValidationError):
        SetRecord(name="s", kind=SetKind.REVIEW, reviewers_per_item=number, opened_at=0)
