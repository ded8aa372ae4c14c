"""Killed, out of disk, without a server: a run resumes to the same rows, and pays nothing twice."""

import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from construction.workspace import DEMO_KEY, create_workspace
from state.address import Address
from state.engines import open_owner
from state.engines.postgres import connect_admin
from tests.support import postgres
from tests.support.crashes import (
    COUNT,
    KEY,
    Contents,
    contents,
    count_points,
    faults,
    fill,
    fill_up,
    generate,
    kill_at,
    read_only,
)
from tests.support.model_server import ModelServer
from tests.support.verbs import Verb, verb

SEED, QUICK, IN_CI, IN_SOAK = 20261130, 2, 10, 50
POINTS = [
    *range(QUICK),
    *(pytest.param(n, marks=pytest.mark.slow) for n in range(QUICK, IN_CI)),
    *(pytest.param(n, marks=pytest.mark.soak) for n in range(IN_CI, IN_CI + IN_SOAK)),
]


@dataclass
class Bench:
    """A workspace to run in, its Shared State and the models it asks."""

    root: Path
    database: Address
    server: ModelServer

    def run(
        self, *words: str, hook: Callable[[], None] | None = None
    ) -> AbstractContextManager[Verb]:
        """Start the run, without a cache of replies on disk."""
        variables = {"PSYCHEMME_API_KEY": KEY}
        if not isinstance(self.database, Path):
            variables |= postgres.environment(self.database)
        words = generate(self.root, self.server.url, "--no-cache", *words)
        return verb(self.root, *words, hook=hook, **variables)

    def finish(self, *words: str, hook: Callable[[], None] | None = None) -> Contents:
        with self.run(*words, hook=hook) as running:
            assert running.wait() == 0, running.said
        return contents(self.database)

    def left(self) -> Contents:
        """Return what is left of a run that broke off, after a look at it."""
        found = contents(self.database)
        assert faults(found) == []
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(delay=0.01) as running:
        yield running


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("blank") / "workspace"
    fill(root, create_workspace(root, DEMO_KEY).database)
    return root


@pytest.fixture(scope="module")
def whole(
    blank: Path, server: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Contents, int]:
    """Return what an uninterrupted run holds, and at how many points it could be killed."""
    root = Path(shutil.copytree(blank, tmp_path_factory.mktemp("whole") / "workspace"))
    points = root.with_name("points")
    bench = Bench(root, root / "state.db", server)
    held = bench.finish("--count", str(COUNT), hook=partial(count_points, points))
    assert bench.left() == held
    return held, points.stat().st_size


@pytest.fixture
def sqlite(blank: Path, server: ModelServer, tmp_path: Path) -> Bench:
    root = Path(shutil.copytree(blank, tmp_path / "workspace"))
    return Bench(root, root / "state.db", server)


@pytest.fixture
def on_server(sqlite: Bench) -> Bench:
    (sqlite.root / "state.db").unlink()
    sqlite.database = postgres.fresh_database()
    fill(sqlite.root, sqlite.database)
    return sqlite


@pytest.fixture(params=["sqlite", "on_server"])
def bench(request: pytest.FixtureRequest) -> Bench:
    chosen: Bench = request.getfixturevalue(request.param)
    return chosen


@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_a_run_goes_on_as_if_it_had_not_been(
    bench: Bench, whole: tuple[Contents, int], point: int
) -> None:
    expected, points = whole
    at = random.Random(f"{SEED}-{point}").randrange(points * 9 // 10)
    with bench.run(f"--count={COUNT}", hook=partial(kill_at, at)) as running:
        assert running.wait() == -signal.SIGKILL, running.said
    left, asked = bench.left(), bench.server.count()
    assert bench.finish("--resume" if left["runs"] else f"--count={COUNT}") == expected
    assert bench.server.count() - asked == len(expected["ledger"]) - len(left["ledger"])


def refused(running: Verb) -> str:
    """Return what a run says that ends because of its database."""
    assert running.wait() == 1, running.said
    assert "Traceback" not in running.said
    return " ".join(running.said.split())


def resumed(bench: Bench, expected: Contents) -> None:
    """Go on with a run that broke off: all that it had committed is there, and is all it needs."""
    left, asked = bench.left(), bench.server.count()
    assert 0 < len(left["ledger"]) < len(expected["ledger"])
    assert bench.finish("--resume") == expected
    assert bench.server.count() - asked == len(expected["ledger"]) - len(left["ledger"])


def wait_for(calls: int, bench: Bench, running: Verb) -> None:
    goal = bench.server.count() + calls
    while bench.server.count() < goal:
        assert running.process.is_alive(), running.said
        time.sleep(0.005)


def test_a_full_disk_says_so_and_loses_nothing(sqlite: Bench, whole: tuple[Contents, int]) -> None:
    pages = (sqlite.root / "state.db").stat().st_size // 4096 + 12
    with sqlite.run(f"--count={COUNT}", hook=partial(fill_up, pages)) as running:
        said = refused(running)
    assert "database or disk is full. Make room for the database" in said
    resumed(sqlite, whole[0])


def test_a_database_that_became_read_only_says_so(
    sqlite: Bench, whole: tuple[Contents, int]
) -> None:
    with sqlite.run(f"--count={COUNT}", hook=partial(kill_at, whole[1] // 2)) as running:
        running.wait()
    with sqlite.run("--resume", hook=read_only) as running:
        assert "readonly database. Let the database be written" in refused(running)
    resumed(sqlite, whole[0])


FILL_UP = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER no_room BEFORE INSERT ON critiques FOR EACH ROW
  WHEN (NEW.round > 0) EXECUTE FUNCTION no_room();
"""


def test_a_server_out_of_disk_says_so_and_loses_nothing(
    on_server: Bench, whole: tuple[Contents, int]
) -> None:
    owner = open_owner(on_server.database)
    with owner.begin() as connection:
        connection.execute(text(FILL_UP))
    with on_server.run(f"--count={COUNT}") as running:
        assert "No space left on device. Make room for the database" in refused(running)
    with owner.begin() as connection:
        connection.execute(text("DROP FUNCTION no_room CASCADE"))
    owner.dispose()
    resumed(on_server, whole[0])


def test_a_server_that_became_a_standby_says_so(
    on_server: Bench, whole: tuple[Contents, int]
) -> None:
    server = postgres.server()
    with on_server.run(f"--count={COUNT}") as running:
        wait_for(20, on_server, running)
        (server.folder / "data" / "standby.signal").touch()
        server.restart()
        try:
            said = refused(running)
        finally:
            with connect_admin(server.address, "postgres") as admin:
                admin.execute("SELECT pg_promote()")
    assert "Let the database be written" in said
    resumed(on_server, whole[0])


@pytest.mark.parametrize("mode", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_server_that_restarts_is_waited_for(
    on_server: Bench, whole: tuple[Contents, int], mode: signal.Signals
) -> None:
    asked = on_server.server.count()
    with on_server.run(f"--count={COUNT}") as running:
        wait_for(20, on_server, running)
        postgres.server().restart(mode)
        assert running.wait() == 0, running.said
    assert contents(on_server.database) == whole[0]
    assert on_server.server.count() - asked == len(whole[0]["ledger"])


@pytest.mark.slow
@pytest.mark.parametrize("mode", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_server_that_stays_away_ends_the_run(
    on_server: Bench, whole: tuple[Contents, int], mode: signal.Signals
) -> None:
    server = postgres.server()
    with on_server.run(f"--count={COUNT}") as running:
        wait_for(20, on_server, running)
        server.stop(mode)
        try:
            said = refused(running)
        finally:
            server.restart()
    assert "cannot be reached" in said
    assert "that the server runs and takes connections; then run the command again" in said
    resumed(on_server, whole[0])
