"""What only PostgreSQL needs: logins, signatures, locks, grants, and errors that help."""

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from psychemme.errors import ConfigError, UserError, WorkspaceError
from state import definitions, grants, migrate, provision
from state.address import PostgresAddress
from state.engines import acting, open_engine, open_owner
from state.engines.postgres import connect_admin, lock_number, signature
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import Board, Changes
from state.roles import ROLE_TABLE, DbRole
from state.stores import RoleStore
from tests.support.postgres import PASSWORDS, fresh_database, server
from tests.support.reviews import approval, make_review, own_answer, reviewer
from tests.support.states import make_state, target

FIRST = ("1-c0", 1)
SECRET = "hunter2-and-more"
ACTOR = text("SELECT current_reviewer()")


@pytest.fixture
def database() -> PostgresAddress:
    return fresh_database()


@pytest.fixture(autouse=True)
def _compare_with_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are compared with a copy of a migrated database; migrating one anew takes longer."""
    monkeypatch.setattr(definitions, "scratch", lambda _: nullcontext(fresh_database()))


@pytest.fixture
def reviewed(database: PostgresAddress) -> PostgresAddress:
    make_review(database)
    with ReviewStore(database) as store:
        store.commit_answer("ada", FIRST, own_answer("A", "r1"))
        store.cast("ada", FIRST, approval("r2"))
    return database


def test_a_sound_database_has_no_fault_and_grants_are_idempotent(
    database: PostgresAddress,
) -> None:
    provision.create(database)
    migrate.upgrade(database)
    assert provision.faults(database) == []


_RIGHTS = {
    "GRANT SELECT ON cues TO psychemme_answer": "psychemme_answer: SELECT on TABLE",
    "GRANT SELECT (rationale) ON reference_answers TO psychemme_answer": "(rationale)",
    "GRANT SELECT ON votes TO PUBLIC": "PUBLIC: SELECT on TABLE public.votes",
    "GRANT EXECUTE ON FUNCTION current_reviewer() TO PUBLIC": "PUBLIC: EXECUTE",
    "GRANT CREATE ON SCHEMA public TO psychemme_critic": "CREATE on SCHEMA public",
    "GRANT TEMPORARY ON DATABASE {} TO PUBLIC": "PUBLIC: TEMPORARY on DATABASE",
    "GRANT SELECT (round) ON steps TO psychemme_critic WITH GRANT OPTION": "WITH GRANT OPTION",
    "REVOKE SELECT (round) ON steps FROM psychemme_question": "not granted: psychemme_q",
}


def test_each_fault_of_the_rights_is_named_and_mended(database: PostgresAddress) -> None:
    with connect_admin(database, database.database) as admin:
        for statement in _RIGHTS:
            admin.execute(statement.format(database.database).encode())
    faults = "\n".join(provision.faults(database))
    assert [said for said in _RIGHTS.values() if said not in faults] == []
    migrate.upgrade(database)
    assert provision.faults(database) == []


def test_each_fault_of_a_table_is_named(database: PostgresAddress) -> None:
    with connect_admin(database, database.database) as admin:
        admin.execute(b"ALTER TABLE votes OWNER TO postgres, ADD COLUMN extra text")
    faults = provision.faults(database)
    assert "not owned by psychemme_owner: votes" in faults
    assert "beside the schema: column extra on public.votes" in faults


@pytest.mark.parametrize(
    ("change", "undo", "said"),
    [
        ("ALTER ROLE psychemme_answer BYPASSRLS", "NOBYPASSRLS", "attribute rolbypassrls"),
        ("ALTER ROLE psychemme_owner LOGIN", "NOLOGIN", "psychemme_owner can log in"),
    ],
)
def test_each_fault_of_a_login_is_named(
    database: PostgresAddress, change: str, undo: str, said: str
) -> None:
    role = " ".join(change.split()[:3])
    with connect_admin(database, "postgres") as admin:
        admin.execute(change.encode())
        try:
            assert said in "\n".join(provision.faults(database))
        finally:
            admin.execute(f"{role} {undo}".encode())


def test_a_membership_is_a_fault(database: PostgresAddress) -> None:
    with connect_admin(database, "postgres") as admin:
        admin.execute(b"CREATE ROLE stranger")
        admin.execute(b"GRANT psychemme_critic TO psychemme_answer, stranger")
        try:
            faults = provision.faults(database)
        finally:
            admin.execute(b"REVOKE psychemme_critic FROM psychemme_answer")
            admin.execute(b"DROP ROLE stranger")
    assert set(faults) == {
        "psychemme_answer is a member of psychemme_critic",
        "stranger is a member of psychemme_critic",
    }


def test_what_a_role_reads_is_what_the_role_table_says(database: PostgresAddress) -> None:
    rights = grants.wanted(database.database)
    read = {r.column for r in rights if r.object == "TABLE public.questions" and "answer" in r.role}
    assert read == ROLE_TABLE[DbRole.ANSWER].read["questions"]


def test_another_collation_is_refused(database: PostgresAddress) -> None:
    other = replace(database, database=f"{database.database}_utf8")
    with connect_admin(database, "postgres") as admin:
        admin.execute(
            f"CREATE DATABASE {other.database} TEMPLATE template0 LOCALE_PROVIDER builtin "
            "BUILTIN_LOCALE 'C.UTF-8' LC_COLLATE 'C' LC_CTYPE 'C'".encode()
        )
    for look in (migrate.upgrade, migrate.check):
        with pytest.raises(WorkspaceError, match="collation"):
            look(other)


@pytest.fixture
def informed(reviewed: PostgresAddress) -> Iterator[RoleStore]:
    class Informed(RoleStore):
        db_role = DbRole.REVIEWER_INFORMED

    with Informed(reviewed) as store:
        yield store


def test_only_a_signature_makes_a_reviewer(informed: RoleStore) -> None:
    claim = text("SELECT set_config('psychemme.reviewer', :claim, false)")

    def claimed(claim_of_ben: str) -> object:
        def work(session: object) -> object:
            session.execute(claim, {"claim": claim_of_ben})  # type: ignore[attr-defined]
            return session.execute(ACTOR).scalar_one()  # type: ignore[attr-defined]

        with acting("ada"):
            return informed.query(work)

    with acting("ada"):
        assert informed.query(lambda s: s.execute(ACTOR).scalar_one()) == "ada"
        said = informed.query(
            lambda s: s.execute(text("SELECT current_setting('psychemme.reviewer')")).scalar_one()
        )
    backend = informed.query(lambda s: s.execute(text("SELECT pg_backend_pid()")).scalar_one())
    for forged in (
        "ben",
        "",
        f"{said[:64]}ben",
        f"{signature(b'', backend, 'ben')}ben",
        f"{signature(b'guess', backend, 'ben')}ben",
        "x" * 10_000,
    ):
        assert claimed(forged) == ""
    # What one reviewer left in the connection is gone for the next.
    assert informed.query(lambda s: s.execute(ACTOR).scalar_one()) == ""


def test_a_signature_is_good_in_its_own_connection_only(reviewed: PostgresAddress) -> None:
    setting = text("SELECT current_setting('psychemme.reviewer')")
    claim = text("SELECT set_config('psychemme.reviewer', :claim, true)")
    engine = open_engine(reviewed, DbRole.REVIEWER_BLIND)
    with engine.connect() as one, engine.connect() as other:
        with acting("ada"):
            said = one.execute(setting).scalar_one()
        with acting("ben"):
            other.execute(claim, {"claim": said})
            assert other.execute(ACTOR).scalar_one() == ""
    engine.dispose()


def test_a_lock_does_not_say_whose_it_is(reviewed: PostgresAddress) -> None:
    held = "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"
    engine = open_engine(reviewed, DbRole.REVIEWER_BLIND)
    with connect_admin(reviewed, reviewed.database) as admin:
        ((key,),) = admin.execute("SELECT key FROM private.reviewer_key")
        ((guess,),) = admin.execute("SELECT hashtext('ben')::bigint & 4294967295")
        with acting("ben"), engine.begin():
            numbers = {number for (number,) in admin.execute(held.encode())}
    engine.dispose()
    assert lock_number(bytes(key), "ben") % 2**32 in numbers
    assert guess not in numbers


def test_prepared_statements_do_not_outlive_a_reviewer(reviewed: PostgresAddress) -> None:
    engine = open_engine(reviewed, DbRole.REVIEWER_BLIND)
    with acting("ben"), engine.connect() as connection:
        connection.execute(text("PREPARE _pg3_0 AS SELECT 'planted'"))
        connection.commit()
    with acting("ada"), engine.connect() as connection:
        found = connection.execute(text("SELECT count(*) FROM pg_prepared_statements"))
        assert found.scalar_one() == 0
    engine.dispose()


@pytest.mark.parametrize("role", [DbRole.QUESTION, DbRole.CURATOR])
def test_nobody_is_asked_of_other_roles(database: PostgresAddress, role: DbRole) -> None:
    engine = open_engine(database, role)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="permission denied"):
        connection.execute(ACTOR)
    engine.dispose()
    owner = open_owner(database)
    with owner.connect() as connection:
        assert connection.execute(ACTOR).scalar_one() is None
    owner.dispose()


@pytest.mark.parametrize(
    ("view", "column", "right"),
    [("revealed_references", "answer_json", '"A"'), ("own_answers", "answer_json", '"A"')],
)
def test_a_failing_condition_tells_nothing_of_hidden_rows(
    reviewed: PostgresAddress, view: str, column: str, right: str
) -> None:
    query = text(f"SELECT 1 FROM {view} WHERE 1 / (CASE {column} WHEN :it THEN 0 ELSE 1 END) = 1")
    engine = open_engine(reviewed, DbRole.REVIEWER_INFORMED)
    with acting("ben"), engine.connect() as connection:
        assert connection.execute(query, {"it": right}).all() == []
    with (
        acting("ada"),
        engine.connect() as connection,
        pytest.raises(DataError, match="division"),
    ):
        connection.execute(query, {"it": right})
    engine.dispose()


def test_a_refusal_of_a_trigger_is_an_integrity_error(reviewed: PostgresAddress) -> None:
    engine = open_engine(reviewed, DbRole.REVIEWER_BLIND)
    insert = "INSERT INTO blind_answers VALUES ('1-c0', 1, 'ada', '1', false, 0, 1, 'x', 0)"
    with (
        acting("ben"),
        pytest.raises(IntegrityError, match="not your own"),
        engine.begin() as connection,
    ):
        connection.execute(text(insert))
    engine.dispose()


def test_a_change_of_the_board_waits_for_votes_and_votes_for_it(
    reviewed: PostgresAddress,
) -> None:
    """Nobody votes between what a plan read and what it stores."""
    began, voted = threading.Event(), threading.Event()

    def vote() -> None:
        began.wait(5)
        with ReviewStore(reviewed) as store:
            store.commit_answer("ben", FIRST, own_answer("B", "r"))
        voted.set()

    def plan(board: Board) -> Changes:
        began.set()
        assert not voted.wait(0.5)
        return Changes(reviewers=(reviewer("fay"),))

    voter = threading.Thread(target=vote)
    voter.start()
    with ReviewDesk(reviewed) as desk:
        desk.change(plan)
        assert voted.wait(20)
        voter.join()
        assert set(desk.version(FIRST).answers) == {"ada", "ben"}


def test_a_reader_sees_one_moment(database: PostgresAddress) -> None:
    make_state(database, target())
    count = text("SELECT count(*) FROM runs")
    engine = open_engine(database, DbRole.CURATOR)
    with engine.execution_options(write=False).connect() as reader:
        assert reader.execute(count).scalar_one() == 1
        with engine.begin() as writer:
            writer.execute(text("INSERT INTO runs VALUES (2, 1, 1, 1, '{}', '{}', '{}', 0)"))
        assert reader.execute(count).scalar_one() == 1
        with pytest.raises(DBAPIError, match="read-only"):
            reader.execute(text("DELETE FROM review_sessions"))
    engine.dispose()


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"port": 1}, WorkspaceError, r"cannot be reached: .*\w\. Check"),
        ({"host": "no-such-host.invalid"}, WorkspaceError, "cannot be reached"),
        ({"database": "nowhere"}, WorkspaceError, "does not exist.*psychemme db init"),
        ({"passwords": {}}, ConfigError, "curator.*PSYCHEMME_DATABASE_PASSWORD_CURATOR"),
        (
            {"passwords": {"curator": SecretStr(SECRET)}},
            ConfigError,
            "refuses the password of psychemme_curator.*Correct PSYCHEMME_DATABASE_PASSWORD_CURATOR"
            ".*or set it on the server again",
        ),
    ],
)
def test_what_keeps_a_role_out_is_named_without_a_password(
    changes: dict[str, object], kind: type[UserError], said: str
) -> None:
    address = replace(server().address, **changes)
    with pytest.raises(kind, match=said) as refusal:
        open_engine(address, DbRole.CURATOR).connect()
    assert SECRET not in str(refusal.value) + repr(address)


def test_the_administrators_password_is_corrected_here() -> None:
    address = replace(server().address, passwords={"admin": SecretStr(SECRET)})
    with pytest.raises(
        ConfigError,
        match=r"Correct PSYCHEMME_DATABASE_PASSWORD_ADMIN, or `admin` in the file that "
        r"PSYCHEMME_DATABASE_SECRETS names\.$",
    ):
        provision.create(address)


def test_another_collation_is_named() -> None:
    address = replace(server().address, database="sorts_otherwise")
    with connect_admin(address, "postgres") as admin:
        admin.execute(
            b"CREATE DATABASE sorts_otherwise OWNER psychemme_owner TEMPLATE template0 "
            b"LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LC_COLLATE 'C'"
        )
    for use in (migrate.check, migrate.upgrade, provision.create):
        with pytest.raises(WorkspaceError, match="the provider builtin, not libc: text sorts"):
            use(address)


def test_a_database_of_somebody_else_is_named_with_the_line_that_hands_it_over() -> None:
    address = replace(server().address, database="of_somebody_else")
    with connect_admin(address, "postgres") as admin:
        admin.execute(b"CREATE DATABASE of_somebody_else TEMPLATE template0 LOCALE 'C'")
        with pytest.raises(WorkspaceError, match="belongs to postgres, not") as refusal:
            provision.create(address)
        admin.execute(refusal.value.action.split("`")[1].encode())
    provision.create(address)
    migrate.upgrade(address)
    assert provision.faults(address) == []


def test_a_reviewers_server_needs_no_agents_password(reviewed: PostgresAddress) -> None:
    few = ("reviewer_blind", "reviewer_informed", "curator")
    address = replace(reviewed, passwords={name: PASSWORDS[name] for name in few})
    with ReviewStore(address) as store:
        assert store.work("ada", FIRST).vote is not None
    migrate.check(address)
    with pytest.raises(ConfigError, match="PSYCHEMME_DATABASE_PASSWORD_ADMIN"):
        migrate.upgrade(address)


def test_connections_carry_the_name_of_their_role(database: PostgresAddress) -> None:
    engine = open_engine(database, DbRole.ANSWER)
    with engine.connect() as connection:
        name = connection.execute(text("SELECT current_setting('application_name')"))
        assert name.scalar_one() == "psychemme:answer"
    engine.dispose()
