"""One coordinator at a time; who is gone is replaced, and who was replaced stops."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from socket import gethostname

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, select

from construction.workspace import DEMO_KEY, create_workspace
from psychemme.errors import Stopped, WorkspaceError
from psychemme.vocabulary import CandidateState, Step
from state.address import Address
from state.engines import open_engine, open_owner
from state.leases import STALE_SECONDS, LeaseStore, hold
from state.processes import this_process
from state.roles import DbRole
from state.runs import RunStore
from state.tables import LeaseRow
from tests.support.crashes import CONCURRENCY, COUNT, KEY, contents, faults, fill, generate
from tests.support.holders import holder
from tests.support.model_server import Call, ModelServer
from tests.support.postgres import environment, fresh_database, server
from tests.support.states import make_state, target
from tests.support.verbs import verb

CANDIDATE = target().key


class Clock:
    """The database's time, as a test sets it."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self, _: Session) -> int:
        return round(self.seconds * 1_000_000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(address: Address) -> Address:
    make_state(address, target())
    return address


@pytest.fixture
def store(state: Address, clock: Clock) -> Iterator[LeaseStore]:
    with LeaseStore(state, clock) as opened:
        yield opened


@contextmanager
def owner(address: Address) -> Iterator[Session]:
    engine = open_owner(address)
    with Session(engine) as session:
        yield session
        session.commit()
    engine.dispose()


def row(address: Address) -> LeaseRow | None:
    with owner(address) as session:
        found = session.exec(select(LeaseRow)).one_or_none()
        session.expunge_all()
        return found


def change(address: Address, **values: object) -> None:
    with owner(address) as session:
        session.exec(update(LeaseRow).values(values))


def test_a_second_taker_is_told_who_holds_it_and_since_when(store: LeaseStore) -> None:
    store.take("prepare")
    with pytest.raises(WorkspaceError) as refused:
        store.take("generate")
    holder = f"`psychemme prepare`, process {os.getpid()} on host {gethostname()}"
    assert f"in use by {holder}, since 1970-01-12T13:46:40Z." in str(refused.value)


def test_the_database_tells_the_time(state: Address) -> None:
    before = time.time()
    with hold(state, "prepare"):
        taken = row(state)
    assert taken is not None
    assert taken.heartbeat_at == taken.taken_at
    assert before - 1 <= taken.taken_at / 1e6 <= time.time() + 1


def test_a_released_lease_is_free_and_the_loser_frees_nothing(
    store: LeaseStore, state: Address, clock: Clock
) -> None:
    first = store.take("generate")
    clock.seconds += STALE_SECONDS + 1
    second = store.take("generate")
    store.release(first)
    held = row(state)
    assert held is not None
    assert held.token == second
    store.release(second)
    assert row(state) is None
    store.take("generate")


@pytest.mark.parametrize("direction", [1, -1])
def test_a_heartbeat_keeps_it_and_a_stale_one_loses_it(
    store: LeaseStore, clock: Clock, direction: int
) -> None:
    token = store.take("generate")
    for _ in range(3):
        clock.seconds += STALE_SECONDS * direction
        with pytest.raises(WorkspaceError, match="in use"):
            store.take("generate")
        assert store.beat(token)
    clock.seconds += (STALE_SECONDS + 0.000_001) * direction
    other = store.take("generate")
    assert not store.beat(token)
    assert store.beat(other)


def test_who_is_suspended_in_a_transaction_does_not_keep_the_others_waiting_for_ever() -> None:
    engine = open_engine(fresh_database(), DbRole.CURATOR)
    with engine.connect() as connection:
        shown = connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one()
    engine.dispose()
    assert shown == "1min"


def test_of_many_at_once_one_takes_it(state: Address) -> None:
    stores = [LeaseStore(state) for _ in range(6)]
    barrier = threading.Barrier(len(stores))

    def take(store: LeaseStore) -> bool:
        barrier.wait()
        try:
            store.take("generate")
        except WorkspaceError:
            return False
        return True

    with ThreadPoolExecutor(len(stores)) as pool:
        assert sum(pool.map(take, stores)) == 1
    for store in stores:
        store.close()


def test_who_was_killed_is_replaced_at_once(state: Address) -> None:
    with LeaseStore(state) as store, holder(state, "generate") as process:
        with pytest.raises(WorkspaceError, match=f"process {process.pid} "):
            store.take("prepare")
        process.kill()
        os.waitid(os.P_PID, process.pid or 0, os.WEXITED | os.WNOWAIT)  # It is still a zombie.
        store.release(store.take("prepare"))


@pytest.mark.parametrize(
    ("values", "is_replaced"),
    [
        ({}, False),
        ({"started": 1}, True),
        ({"pid": 2**30}, True),
        ({"pid": 2**30, "machine": "another boot"}, False),
        ({"pid": 2**30, "machine": ""}, False),
    ],
    ids=["alive", "number used again", "gone", "elsewhere", "where is not told"],
)
def test_only_a_process_of_this_machine_is_seen_to_be_gone(
    state: Address, values: dict[str, object], is_replaced: bool
) -> None:
    with LeaseStore(state) as store:
        token = store.take("generate")
        if values:
            change(state, **values)
        if is_replaced:
            assert store.take("generate") != token
        else:
            with pytest.raises(WorkspaceError, match="in use"):
                store.take("generate")


def test_a_process_knows_itself() -> None:
    mine = this_process()
    assert not mine.is_gone
    assert replace(mine, started=mine.started + 1).is_gone
    assert not replace(mine, machine="").is_gone


def test_a_holder_that_was_replaced_writes_no_more(
    store: LeaseStore, state: Address, clock: Clock
) -> None:
    token = store.take("generate")
    with RunStore(state, token) as runs:
        runs.record_step(CANDIDATE, 0, Step.CHECK, "sound")
        clock.seconds += STALE_SECONDS + 1
        other = store.take("generate")
        late = (
            lambda: runs.settle(CANDIDATE, CandidateState.DISCARDED, "late"),
            lambda: runs.record_step(CANDIDATE, 0, Step.ROUTE, "discard: late"),
            lambda: runs.start_batch([target("c1", pick=1)]),
            runs.check_lease,
        )
        for write in late:
            with pytest.raises(WorkspaceError, match=rf"lost .* process {os.getpid()} on host"):
                write()
        store.release(other)
        with pytest.raises(WorkspaceError, match=r"lost .* a process that has ended since"):
            runs.check_lease()
        (outcome,) = runs.outcomes()
        assert outcome.state is CandidateState.PENDING
        assert runs.rounds(CANDIDATE)[0].steps == {Step.CHECK: "sound"}


def test_a_heartbeat_that_finds_it_lost_stops_the_work(state: Address) -> None:
    stop = threading.Event()

    def work() -> None:
        with hold(state, "generate", stop.set, every=0.02):
            change(state, token="another's", work="prepare")
            assert stop.wait(30)
            raise Stopped

    with pytest.raises(WorkspaceError, match="lost the Shared State to `psychemme prepare`"):
        work()
    held = row(state)
    assert held is not None
    assert held.token == "another's"


def test_who_stops_for_another_reason_leaves_as_such(state: Address) -> None:
    with pytest.raises(Stopped, match="the budget"), hold(state, "generate"):
        raise Stopped("the budget")
    assert row(state) is None


def test_a_short_outage_of_the_database_loses_nothing(
    state: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat, is_back, outages = LeaseStore.beat, threading.Event(), iter(range(3))
    faults = (OperationalError("", {}, Exception()), WorkspaceError("gone", "wait"), OSError())

    def failing(store: LeaseStore, token: str) -> bool:
        if (outage := next(outages, None)) is not None:
            raise faults[outage]
        is_kept = beat(store, token)
        is_back.set()
        return is_kept

    monkeypatch.setattr(LeaseStore, "beat", failing)
    lost = threading.Event()
    with hold(state, "generate", lost.set, every=0.02) as token, RunStore(state, token) as runs:
        taken = row(state)
        if not isinstance(state, Path):
            server().restart()
            is_back.clear()
        assert is_back.wait(30)
        noted = row(state)
        assert taken is not None
        assert noted is not None
        assert noted.heartbeat_at > taken.heartbeat_at
        runs.check_lease()
    assert not lost.is_set()
    assert row(state) is None


@pytest.mark.slow
def test_a_coordinator_that_was_suspended_and_replaced_stops_and_the_run_goes_on(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {} if isinstance(address, Path) else environment(address)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "workspace"
    database = create_workspace(root, DEMO_KEY).database
    fill(root, database)
    gate = threading.Event()

    def answered_late(call: Call) -> None:
        if call.number >= 2 * CONCURRENCY:
            gate.wait(60)

    with ModelServer(fault=answered_late) as server:
        words = partial(generate, root, server.url, "--no-cache")
        start = partial(verb, root, **variables, PSYCHEMME_API_KEY=KEY)
        with start(*words("--count", str(COUNT))) as first:
            in_use = f"in use by `psychemme generate`, process {first.process.pid} on host"
            while server.count() < 3 * CONCURRENCY:
                time.sleep(0.01)
            time.sleep(0.3)  # All candidates in hand wait for replies, and no transaction is open.
            os.kill(first.process.pid or 0, signal.SIGSTOP)
            with start(*words("--resume")) as second:
                assert second.wait() == 1
                assert in_use in second.said.replace("\n", " ")
            change(database, heartbeat_at=0)
            with LeaseStore(database) as store, RunStore(database) as runs:
                token, left = store.take("generate"), runs.outcomes()
                os.kill(first.process.pid or 0, signal.SIGCONT)
                gate.set()
                assert first.wait() == 1
                lost = f"lost the Shared State to `psychemme generate`, process {os.getpid()} on"
                assert lost in first.said.replace("\n", " ")
                assert runs.outcomes() == left
                store.release(token)
        with start(*words("--resume")) as third:
            assert third.wait() == 0, third.said
    held = contents(database)
    assert faults(held) == []
    assert [row["state"] for row in held["outcomes"]].count("pending") == 0
    assert len(held["outcomes"]) == COUNT
