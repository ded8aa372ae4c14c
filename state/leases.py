"""One coordinator at a time: a lease on the Shared State, kept alive by database time.

Whoever runs `prepare` or `generate` holds the one row. It is free when it is released, when its
process is seen to be gone, or when its heartbeat is `STALE_SECONDS` old. A holder that was
suspended for so long may find that another took over; so its stores look for its token in the
transaction of every write, and what comes too late is refused. Agents need no token: what they
write is inserted once, whoever asked them.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from secrets import token_hex
from typing import TypeVar

from sqlalchemy import extract, func, select, update
from sqlmodel import Session, col, delete

from psychemme.canonical import now
from psychemme.errors import Stopped, WorkspaceError
from state.address import Address
from state.processes import Process, this_process
from state.roles import DbRole
from state.stores import RoleStore
from state.tables import LeaseRow

T = TypeVar("T")
STALE_SECONDS = 60
HEARTBEAT_SECONDS = 10.0
_NAME = "coordinator"
_MICROSECONDS = 1_000_000
_TOKEN = select(col(LeaseRow.token)).where(col(LeaseRow.name) == _NAME)


def database_time(session: Session) -> int:
    """Return the database's own time as UTC microseconds."""
    if session.get_bind().dialect.name == "sqlite":
        return now()  # Its file and its users are on one machine.
    seconds = extract("epoch", func.clock_timestamp())
    return int(session.connection().execute(select(seconds)).scalar_one() * _MICROSECONDS)


class CuratorStore(RoleStore):
    """A curator's door. With the `token` of a lease it writes only while that is held."""

    db_role = DbRole.CURATOR

    def __init__(self, address: Address, token: str | None = None) -> None:
        super().__init__(address)
        self._token = token

    def commit(self, work: Callable[[Session], T]) -> T:
        """Run `work` in a write transaction and commit it.

        Raises WorkspaceError, and writes nothing, where the lease is another's by now.
        """

        def held(session: Session) -> T:
            if self._token is not None and _token(session) != self._token:
                raise _loss(session)
            return work(session)

        return super().commit(held)

    def check_lease(self) -> None:
        """Raise WorkspaceError where the lease is another's by now."""
        self.commit(lambda _: None)


class LeaseStore(RoleStore):
    """The lease row. `clock` returns UTC microseconds in a transaction."""

    db_role = DbRole.CURATOR
    patience_seconds = 0.0
    """The next heartbeat comes anyway, and a release waits for nobody."""

    def __init__(self, address: Address, clock: Callable[[Session], int] = database_time) -> None:
        super().__init__(address)
        self._clock = clock

    def take(self, work: str) -> str:
        """Take the lease for `work` and return its token; raises WorkspaceError naming a holder."""
        token = token_hex(16)

        def insert(session: Session) -> None:
            at = self._clock(session)
            if (held := session.get(LeaseRow, _NAME)) is not None:
                _refuse_alive(held, at)
            names = {"name": _NAME, "work": work, "token": token}
            times = {"taken_at": at, "heartbeat_at": at}
            session.merge(LeaseRow.model_validate(names | times | asdict(this_process())))

        self.commit(insert)
        return token

    def beat(self, token: str) -> bool:
        """Note that the holder is alive; False where it holds the lease no more."""

        def note(session: Session) -> bool:
            at = self._clock(session)
            mine = update(LeaseRow).where(col(LeaseRow.token) == token).values(heartbeat_at=at)
            return session.exec(mine).rowcount == 1

        return self.commit(note)

    def release(self, token: str) -> None:
        """Free the lease, if it is still held."""
        mine = delete(LeaseRow).where(col(LeaseRow.token) == token)
        self.commit(lambda session: session.exec(mine))

    def loss(self) -> WorkspaceError:
        """Return the error that says who took the lease over."""
        return self.query(_loss)


@contextmanager
def hold(
    address: Address,
    work: str,
    on_loss: Callable[[], object] = lambda: None,
    every: float = HEARTBEAT_SECONDS,
) -> Iterator[str]:
    """Hold the lease for `work`, as `psychemme` calls it, and yield its token.

    A thread notes every `every` seconds that the holder lives; while the database cannot be
    reached it tries again. Where another took the lease over, it calls `on_loss`, and a Stopped
    that comes of that leaves as a WorkspaceError. Raises WorkspaceError naming a living holder.
    """
    ended, lost = threading.Event(), threading.Event()
    with LeaseStore(address) as store:
        token = store.take(work)

        def beat() -> None:
            while not (ended.wait(every) or lost.is_set()):
                if not _is_held(store, token):
                    lost.set()
                    on_loss()

        beating = threading.Thread(target=beat, name="lease", daemon=True)
        beating.start()
        try:
            yield token
        except Stopped:
            if lost.is_set():
                raise store.loss() from None
            raise
        finally:
            ended.set()
            beating.join(HEARTBEAT_SECONDS)
            # A database that cannot be reached is no reason to hide how the work ended.
            if not beating.is_alive():
                with suppress(Exception):
                    store.release(token)


def _is_held(store: LeaseStore, token: str) -> bool:
    with suppress(Exception):  # The next heartbeat may reach the database again.
        return store.beat(token)
    return True


def _token(session: Session) -> str | None:
    return session.connection().execute(_TOKEN).scalar_one_or_none()


def _refuse_alive(held: LeaseRow, at: int) -> None:
    owner = Process(held.host, held.machine, held.pid, held.started)
    is_stale = abs(at - held.heartbeat_at) > STALE_SECONDS * _MICROSECONDS
    if not (owner.is_gone or is_stale):
        raise WorkspaceError(
            f"The Shared State is in use by {_describe(held)}.",
            "Wait until it ends, or stop it. Where it gives no sign of life, it can be taken over "
            f"after {STALE_SECONDS} s.",
        )


def _loss(session: Session) -> WorkspaceError:
    held = session.get(LeaseRow, _NAME)
    taker = _describe(held) if held else "a process that has ended since"
    return WorkspaceError(
        f"This process gave no sign of life and lost the Shared State to {taker}.",
        "What it had stored is kept. When the other has ended, run the same again, `generate` with "
        "--resume.",
    )


def _describe(held: LeaseRow) -> str:
    since = datetime.fromtimestamp(held.taken_at / _MICROSECONDS, UTC)
    return (
        f"`psychemme {held.work}`, process {held.pid} on host {held.host}, "
        f"since {since:%Y-%m-%dT%H:%M:%SZ}"
    )
