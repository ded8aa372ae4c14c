"""A rule that is gone, switched off or replaced is named, on either engine."""

import sqlite3
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from psychemme.errors import ConfigError
from state import definitions, provision
from state.address import Address
from state.engines.postgres import connect_admin
from tests.support.postgres import fresh_database

_SQLITE = {
    "DROP TRIGGER steps_own": "missing: trigger steps_own on steps",
    "DROP TRIGGER steps_append_only": "missing: trigger steps_append_only on steps",
    "DROP TRIGGER votes_rules": "missing: trigger votes_rules on votes",
    "DROP TRIGGER blind_answers_rules; CREATE TRIGGER blind_answers_rules "
    "BEFORE INSERT ON blind_answers BEGIN SELECT 1; END": (
        "altered: trigger blind_answers_rules on blind_answers"
    ),
    "DROP VIEW own_drafts; CREATE VIEW own_drafts AS SELECT * FROM review_drafts": (
        "altered: view own_drafts"
    ),
    "CREATE TRIGGER t AFTER INSERT ON cues BEGIN SELECT 1; END": (
        "beside the schema: trigger t on cues"
    ),
    "CREATE TABLE extra (x)": "beside the schema: table extra",
}
_POSTGRES = {
    "ALTER TABLE votes DISABLE TRIGGER votes_03_own": (
        "altered: trigger votes_03_own on public.votes"
    ),
    "DROP TRIGGER steps_own ON steps": "missing: trigger steps_own on public.steps",
    "CREATE OR REPLACE FUNCTION acting_role() RETURNS text LANGUAGE sql STABLE "
    "AS 'SELECT NULL::text'": "altered: function public.acting_role()",
    "CREATE OR REPLACE FUNCTION current_reviewer() RETURNS text LANGUAGE sql STABLE "
    "SECURITY DEFINER AS $$SELECT 'ben'$$": "altered: function public.current_reviewer()",
    "CREATE OR REPLACE VIEW private.own_answers AS SELECT candidate_key, version, answer_json, "
    "is_unblinded, seconds, watched, request_id, committed_at FROM blind_answers": (
        "altered: view private.own_answers"
    ),
    "ALTER VIEW own_episodes SET (security_barrier = false)": "altered: view public.own_episodes",
    "ALTER TABLE ledger DROP CONSTRAINT ledger_pkey": (
        "missing: constraint ledger_pkey on public.ledger"
    ),
    "ALTER TABLE cues ALTER COLUMN modality SET DEFAULT 'speech'": (
        "altered: column modality on public.cues"
    ),
    "ALTER TABLE reference_answers ENABLE ROW LEVEL SECURITY": (
        "altered: table public.reference_answers"
    ),
    "CREATE POLICY p ON votes USING (true)": "beside the schema: policy p on public.votes",
    "CREATE RULE r AS ON INSERT TO steps DO ALSO NOTIFY x": (
        "beside the schema: rule r on public.steps"
    ),
    "CREATE SCHEMA other; CREATE VIEW other.v AS SELECT * FROM reference_answers; "
    "GRANT SELECT ON other.v TO PUBLIC": "beside the schema: view other.v",
    "CREATE FUNCTION pg_catalog.leak() RETURNS SETOF public.cues LANGUAGE sql SECURITY DEFINER "
    "AS 'SELECT * FROM public.cues'": "beside the schema: function pg_catalog.leak()",
    "CREATE OR REPLACE FUNCTION pg_catalog.sha256(bytea) RETURNS bytea LANGUAGE sql IMMUTABLE "
    "STRICT AS 'SELECT $1'": "altered: function pg_catalog.sha256(bytea)",
    "GRANT EXECUTE ON FUNCTION pg_read_file(text) TO psychemme_answer": (
        "altered: function pg_catalog.pg_read_file(text)"
    ),
    "GRANT SELECT (rolpassword) ON pg_authid TO psychemme_answer": (
        "altered: column rolpassword on pg_catalog.pg_authid"
    ),
    "ALTER DEFAULT PRIVILEGES FOR ROLE psychemme_owner GRANT SELECT ON TABLES "
    "TO psychemme_answer": "beside the schema: default acl for role psychemme_owner on tables",
    "SELECT lo_create(77)": "beside the schema: large object 77 of postgres",
    "UPDATE private.reviewer_key SET key = 'x'": "private.reviewer_key holds 0 keys, not one",
    "ALTER ROLE psychemme_answer SET work_mem = '64kB'": (
        "psychemme_answer has a setting of its own: work_mem=64kB"
    ),
    "ALTER ROLE ALL SET session_replication_role = 'replica'": (
        "every role has a setting of its own: session_replication_role=replica"
    ),
    "CREATE ROLE evil LOGIN SUPERUSER": "evil is a superuser who can log in",
    "GRANT SELECT (round) ON steps TO psychemme_answer WITH GRANT OPTION": (
        "granted beside the role table: psychemme_answer: SELECT WITH GRANT OPTION (round) "
        "on TABLE public.steps"
    ),
}
# What is named beside, of the same statements.
_BESIDE = {
    "missing: index public.ledger_pkey",
    "beside the schema: schema other",
    "not granted: psychemme_answer: SELECT (round) on TABLE public.steps",
}
_UNDO = (
    "ALTER ROLE ALL RESET session_replication_role",
    "ALTER ROLE psychemme_answer RESET ALL",
    "DROP ROLE IF EXISTS evil",
)


def test_a_sound_database_is_like_a_new_one(address: Address) -> None:
    assert provision.faults(address) == []


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_each_lost_rule_of_a_file_is_named(address: Path) -> None:
    with closing(sqlite3.connect(address)) as file:
        file.executescript("; ".join((*_SQLITE, "ANALYZE")))
    assert sorted(provision.faults(address)) == sorted(_SQLITE.values())


def test_each_lost_rule_of_a_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = fresh_database()
    unspoilt = fresh_database()
    monkeypatch.setattr(definitions, "scratch", lambda _: nullcontext(unspoilt))
    with connect_admin(address, address.database) as admin:
        try:
            for statement in _POSTGRES:
                admin.execute(statement.encode())
            found = provision.faults(address)
        finally:
            for statement in _UNDO:
                admin.execute(statement.encode())
    assert sorted(found) == sorted({*_POSTGRES.values(), *_BESIDE})


def test_names_of_any_length_are_told_apart() -> None:
    address = fresh_database()
    long = "x" * 60
    with connect_admin(address, address.database) as admin:
        for kind in ("int", "text"):
            admin.execute(
                f"CREATE FUNCTION {long}({kind}) RETURNS int LANGUAGE sql AS 'SELECT 1'".encode()
            )
    found = [one for one in definitions.faults(address) if long in one]
    assert found == [
        f"beside the schema: function public.{long}({kind})" for kind in ("integer", "text")
    ]


def test_an_administrator_who_cannot_create_a_database_is_told_how() -> None:
    address = fresh_database()
    plain = replace(address, admin="plain", passwords={"admin": SecretStr("x")})
    with connect_admin(address, "postgres") as admin:
        admin.execute(b"CREATE ROLE plain LOGIN PASSWORD 'x'")
        admin.execute(b"GRANT psychemme_owner TO plain")
        try:
            with pytest.raises(ConfigError, match='ALTER ROLE "plain" CREATEDB'):
                definitions.faults(plain)
        finally:
            admin.execute(b"DROP ROLE plain")
