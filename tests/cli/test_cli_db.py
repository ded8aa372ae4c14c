"""`psychemme db`: from an empty server to a workspace on it, and what it says when it cannot."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from psychemme.cli.main import app
from psychemme.config import load_settings
from psychemme.errors import ConfigError, WorkspaceError
from state import grants, migrate, provision
from state.address import PostgresAddress, address_of
from state.engines.postgres import connect_admin
from tests.support.commands import run
from tests.support.postgres import PASSWORDS, environment, fresh_database, server

SECRET = "hunter2-and-more"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("PSYCHEMME_"):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def named() -> PostgresAddress:
    """The address of a database that is not there yet."""
    return replace(server().address, database=f"cli_{os.urandom(4).hex()}")


def verb(workspace: Path, *words: str, **variables: str) -> str:
    """Run a verb in this process; return what it prints, or raise what it raises."""
    done = CliRunner(env=variables).invoke(app, ["-w", str(workspace), *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return f"{done.output}exit {done.exit_code}"


def test_a_database_is_made_checked_and_used(root: Path, named: PostgresAddress) -> None:
    admin = environment(named, "admin")
    secrets = root / "secrets.toml"
    init = ("db", "init", "--write-secrets", str(secrets))
    roles = {"PSYCHEMME_DATABASE": str(named), "PSYCHEMME_DATABASE_SECRETS": str(secrets)}
    try:
        assert "exit 0" in verb(root, *init, **admin)
        assert secrets.stat().st_mode & 0o777 == 0o600
        with pytest.raises(ConfigError, match="exists"):
            verb(root, *init, **admin)
        assert "exit 0" in verb(root / "workspace", "init", **roles)
        assert not (root / "workspace" / "state.db").exists()
        assert verb(root / "workspace", "clips", "list", "--json", **roles) == "[]\nexit 0"
        assert "no faults.\nexit 0" in verb(root, "db", "check", **roles | admin)
        with connect_admin(named, named.database) as driver:
            driver.execute(b"GRANT SELECT ON cues TO psychemme_answer")
        found = verb(root, "db", "check", **roles | admin)
        assert "psychemme_answer: SELECT on TABLE public.cues" in found
        assert "1 fault.\nexit 1" in found
        assert "exit 0" in verb(root, "db", "upgrade", **roles | admin)
        assert "exit 0" in verb(root, "db", "check", **roles | admin)
    finally:
        # Other tests' databases are on this server: its passwords are theirs.
        provision.create(named)


def test_a_missing_database_names_the_next_step(root: Path, named: PostgresAddress) -> None:
    with pytest.raises(
        WorkspaceError, match=r"does not exist on its.*psychemme db init"
    ) as refusal:
        verb(root / "w", "init", **environment(named))
    assert not (root / "w").exists()
    for password in PASSWORDS.values():
        assert password.get_secret_value() not in str(refusal.value)


def test_a_newer_database_is_refused_by_every_verb(root: Path) -> None:
    address = fresh_database()
    verb(root / "w", "init")
    newer = "UPDATE alembic_version SET version_num = '0099'"
    with connect_admin(address, address.database) as driver:
        driver.execute(newer.encode())
    with closing(sqlite3.connect(root / "w" / "state.db")) as file, file:
        file.execute(newer)
    everywhere = ("init", "db upgrade", "db check", "clips list")
    for variables, verbs in (({}, everywhere), (environment(address), (*everywhere, "db init"))):
        for words in verbs:
            with pytest.raises(WorkspaceError, match="newer psychemme"):
                verb(root / "w", *words.split(), **variables)


def test_a_failed_db_init_leaves_no_file(
    root: Path, named: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = root / "made.toml"
    words = ("db", "init", "--write-secrets")
    admin = environment(named, "admin")
    wrong = admin | {"PSYCHEMME_DATABASE_PASSWORD_ADMIN": SECRET}
    with pytest.raises(ConfigError, match=r"password of postgres.*PASSWORD_ADMIN"):
        verb(root, *words, str(secrets), **wrong)
    with pytest.raises(ConfigError, match="nowhere is no folder"):
        verb(root, *words, str(root / "nowhere" / "made.toml"), **admin)

    def fail(*_: object) -> None:
        raise WorkspaceError("No.", "Never.")

    monkeypatch.setattr(provision, "create", lambda _: None)
    monkeypatch.setattr(migrate, "upgrade", fail)
    with pytest.raises(WorkspaceError, match="Never"):
        verb(root, *words, str(secrets), **admin)
    assert not list(root.iterdir())


def test_check_tries_each_password(root: Path) -> None:
    known = environment(fresh_database())
    known["PSYCHEMME_DATABASE_PASSWORD_ANSWER"] = SECRET
    found = verb(root, "db", "check", **known)
    assert "refuses the password of psychemme_answer" in found
    assert "1 fault.\nexit 1" in found


def test_roles_to_create_need_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "login", lambda role: f"psychemme_other_{role}")
    with pytest.raises(ConfigError, match=r"question, answer.*--write-secrets"):
        provision.create(replace(server().address, passwords={"admin": PASSWORDS["admin"]}))


def test_a_fault_of_the_server_is_not_one_of_a_file(tmp_path: Path) -> None:
    address = fresh_database()
    run(tmp_path / "w", "init", **environment(address))
    with connect_admin(address, address.database) as driver:
        driver.execute(b"REVOKE SELECT ON clips FROM psychemme_curator")
        driver.execute(b"REVOKE SELECT (id) ON clips FROM psychemme_curator")
    said = run(tmp_path / "w", "clips", "list", expect=1, **environment(address)).stderr
    assert "permission denied" in said
    assert "state.db" not in said
    assert "Traceback" not in said


def test_a_workspace_on_a_file_has_a_check_and_no_init(root: Path) -> None:
    verb(root, "init")
    assert "no faults.\nexit 0" in verb(root, "db", "check")
    with closing(sqlite3.connect(root / "state.db")) as file:
        file.execute("DROP TRIGGER steps_own")
    found = verb(root, "db", "check")
    assert found.startswith("missing: trigger steps_own on steps\n")
    assert "1 fault.\nexit 1" in found
    with pytest.raises(WorkspaceError, match="Set `database`"):
        verb(root, "db", "init")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host/name",
        f"postgresql://{SECRET}@host/name",
        f"postgresql://host/name?password={SECRET}",
        f"mysql://host/{SECRET}",
        f"postgresql://host:5432/na'me{SECRET}",
        f"postgresql://host/{SECRET}\n",
    ],
)
def test_an_address_with_a_password_or_of_another_shape_is_refused_and_hidden(
    root: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PSYCHEMME_DATABASE", url)
    with pytest.raises(ConfigError, match="without a user or a password") as refusal:
        load_settings(root)
    assert SECRET not in str(refusal.value)


def test_the_file_names_the_database_and_the_environment_wins(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert address_of(root, load_settings(root).settings) == root / "state.db"
    (root / "psychemme.toml").write_text('database = "postgresql://[::1]/one"\n')
    secrets = root / "secrets.toml"
    secrets.write_text(f'answer = "{SECRET}"\ncritic = "two"\n')
    secrets.chmod(0o600)
    monkeypatch.setenv("PSYCHEMME_DATABASE_SECRETS", str(secrets))
    monkeypatch.setenv("PSYCHEMME_DATABASE_PASSWORD_CRITIC", "three")
    address = address_of(root, load_settings(root).settings)
    assert isinstance(address, PostgresAddress)
    assert str(address) == "postgresql://[::1]:5432/one"
    assert (address.password("answer"), address.password("critic")) == (SECRET, "three")
    assert SECRET not in repr(address)
    with pytest.raises(ConfigError, match="PSYCHEMME_DATABASE_PASSWORD_QUESTION"):
        address.password("question")


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (f'answer = "{SECRET}"', 0o644, "chmod 600"),
        (f'nobody = "{SECRET}"', 0o600, "`nobody`, which is no role"),
        (f'answer = "{SECRET}', 0o600, "cannot be read"),
        (f'answer = ["{SECRET}"]', 0o600, "no password"),
    ],
)
def test_a_file_of_passwords_that_will_not_do_is_named_and_not_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, mode: int, said: str
) -> None:
    secrets = root / "secrets.toml"
    secrets.write_text(text)
    secrets.chmod(mode)
    monkeypatch.setenv("PSYCHEMME_DATABASE", "postgresql://localhost/one")
    monkeypatch.setenv("PSYCHEMME_DATABASE_SECRETS", str(secrets))
    with pytest.raises(ConfigError, match=said) as refusal:
        address_of(root, load_settings(root).settings)
    assert SECRET not in str(refusal.value)
