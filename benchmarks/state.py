"""What keeping roles apart costs: the same statements as a role's, and on a plain connection.

    python -m benchmarks.state [--times 300] [--rounds 9] [--engine sqlite]

On SQLite an authorizer is asked about each statement when it is prepared; on PostgreSQL the server
checks grants, and shows reviewers views as the signed reviewer. Plain is the file without an
authorizer, or the superuser. Each is a transaction of its own. The PostgreSQL server is started
here, and waits for no disk. Rounds alternate between the two; printed are the medians of
transactions a second and the ratio of the times, above 1 where the role is slower. Commits are of
a reply and its cost in two tables, by one thread or by eight; `generate` makes two per model call.
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from sqlalchemy import Engine, Select, create_engine, select

from psychemme.vocabulary import AgentRole, Format
from state import tables
from state.address import Address, PostgresAddress
from state.engines import acting, open_engine, open_owner
from state.engines.postgres import connect_admin
from state.review_tables import Assignment, ReviewItem
from state.review_views import OWN_ITEMS
from state.roles import DbRole
from state.stores import QuestionStore
from tests.support.postgres import fresh_database
from tests.support.reviews import REVIEWERS, make_review
from tests.support.states import proposal

ITEMS, THREADS = 20, 8
KEY = "1-c0"
Job = Callable[[], None]
Read = tuple[str, DbRole, Select[Any], Select[Any]]


def _of(model: Any) -> Any:  # noqa: ANN401
    return model.__table__.c


def reads() -> list[Read]:
    """Return what is read: its name, the role, its statement, and the plain connection's."""
    question, reference, item = map(_of, (tables.QuestionRow, tables.ReferenceRow, ReviewItem))
    mine = _of(Assignment)
    asked = select(question.question, question.options_json).where(question.candidate_key == KEY)
    told = select(reference.answer_json, reference.rationale).where(reference.candidate_key == KEY)
    shown = select(OWN_ITEMS.c.question, OWN_ITEMS.c.options_json)
    same = (mine.candidate_key == item.candidate_key) & (mine.version == item.version)
    joined = (
        select(item.question, item.options_json)
        .join(mine.reviewer_id.table, same)
        .where(mine.reviewer_id == REVIEWERS[0])
    )
    return [
        ("answer role, a question", DbRole.ANSWER, asked, asked),
        ("critic role, a reference", DbRole.CRITIC, told, told),
        (f"reviewer, own {ITEMS} items", DbRole.REVIEWER_BLIND, shown, joined),
    ]


def fill(address: Address) -> None:
    """Put items under review into an empty database, and a proposal behind each."""
    make_review(address, [Format.SINGLE] * ITEMS)
    with QuestionStore(address) as store:
        for number in range(ITEMS):
            asyncio.run(store.save(f"1-c{number}", 0, proposal("it is heard")))


def plain(address: Address) -> Engine:
    """Return an engine that nothing is kept from."""
    if not isinstance(address, PostgresAddress):
        return open_owner(address)

    def connect() -> psycopg.Connection[Any]:
        driver = connect_admin(address, address.database)
        driver.autocommit = False
        return driver

    return create_engine("postgresql+psycopg://", creator=connect, pool_size=THREADS)


def read(engine: Engine, statement: Select[Any], times: int) -> None:
    """Run `statement` in `times` transactions."""
    with acting(REVIEWERS[0]):
        for _ in range(times):
            with engine.connect().execution_options(write=False) as connection:
                if not connection.execute(statement).all():
                    raise RuntimeError(f"nothing found by {statement}")


_numbers = itertools.count()


def commit(engine: Engine, threads: int, times: int) -> None:
    """Commit `times` replies, shared by `threads`."""
    call, cost = (m.__table__ for m in (tables.QuestionCall, tables.LedgerEntry))
    given = {
        column.name: 0 if column.type.python_type in (int, float) else "x" for column in cost.c
    }
    texts = {"request_key": "k", "text": "{}" * 400, "finish_reason": "stop", "cached": False}
    row = given | texts | {"candidate_key": KEY, "role": str(AgentRole.QUESTION)}

    def insert(_: int) -> None:
        at = {"round": next(_numbers)}
        with engine.begin() as connection:
            for table in (cost, call):
                values = row | at
                connection.execute(table.insert(), {c.name: values[c.name] for c in table.c})

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(insert, range(times)))


def compare(name: str, scoped: Job, bare: Job, times: int, rounds: int) -> None:
    """Print how many a second each does, and how much slower `scoped` is."""
    taken: dict[Job, list[float]] = {scoped: [], bare: []}
    for number in range(rounds + 1):
        for job, spent in taken.items():
            began = time.perf_counter()
            job()
            # The first round fills caches and pools.
            spent.extend([time.perf_counter() - began] if number else [])
    ours, theirs = taken[scoped], taken[bare]
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    speeds = "".join(f"{times / median(spent):10.0f}" for spent in (ours, theirs))
    print(f"{name:34}{speeds} {ratio:7.2f}", flush=True)


def measure(address: Address, times: int, rounds: int) -> None:
    """Print the table of one engine."""
    fill(address)
    bare = plain(address)
    for name, role, statement, instead in reads():
        engine = open_engine(address, role)
        jobs = (partial(read, engine, statement, times), partial(read, bare, instead, times))
        compare(name, *jobs, times, rounds)
        engine.dispose()
    engine = open_engine(address, DbRole.QUESTION)
    for threads in (1, THREADS):
        jobs = (partial(commit, engine, threads, times), partial(commit, bare, threads, times))
        compare(f"commits, {threads} at once", *jobs, times, rounds)
    engine.dispose()
    bare.dispose()


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=300, help="transactions a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--engine", choices=["sqlite", "postgresql"], help="only this one")
    given = parser.parse_args()
    print(f"{'a second':34} {'role':>9} {'plain':>9} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="psychemme-benchmark-") as folder:
        for name in [given.engine] if given.engine else ["sqlite", "postgresql"]:
            print(name)
            file = Path(folder) / "state.db"
            measure(file if name == "sqlite" else fresh_database(), given.times, given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
