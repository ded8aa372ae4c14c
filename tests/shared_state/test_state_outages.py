"""What a store does again when its server went away, and what it must not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from psychemme.errors import DatabaseAway
from psychemme.vocabulary import CandidateState, Step
from state.outages import Patience
from state.runs import RunStore
from tests.support.crashes import contents
from tests.support.states import make_state, target

AWAY = DatabaseAway("It is away.", "Start it.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    make_state(tmp_path / "state.db", target())
    with RunStore(tmp_path / "state.db") as opened:
        yield opened


def lose_answers(store: RunStore, count: int) -> None:
    """Let the server go away `count` times just after it committed."""
    left = iter(range(count))

    def go_away(connection: Connection) -> None:
        if next(left, None) is not None:
            driver = connection.connection.driver_connection
            assert driver is not None
            driver.execute("COMMIT")
            raise AWAY

    event.listen(store._engine, "commit", go_away)


def test_work_is_done_again_until_the_server_is_back(store: RunStore) -> None:
    tries = []

    def work(_: Session) -> int:
        tries.append(None)
        if len(tries) < 3:
            raise AWAY
        return len(tries)

    assert store.commit(work) == 3


def test_a_commit_without_an_answer_is_not_repeated(store: RunStore) -> None:
    lose_answers(store, 1)
    tries = []

    def work(session: Session) -> None:
        tries.append(session.connection())

    with pytest.raises(DatabaseAway):
        store.commit(work)
    assert len(tries) == 1


def test_what_comes_to_the_same_when_repeated_needs_no_answer(
    store: RunStore, tmp_path: Path
) -> None:
    lose_answers(store, 2)
    store.record_step("1-c0", 0, Step.ROUTE, "discard: declined")
    store.settle("1-c0", CandidateState.DISCARDED, "declined")
    assert store.outcome("1-c0").reason == "declined"
    (step,) = contents(tmp_path / "state.db")["steps"]
    assert step["outcome"] == "discard: declined"


def test_patience_ends_and_is_shared_by_all_who_wait() -> None:
    patience = Patience(seconds=0.15)
    tries = []

    def work() -> None:
        tries.append(None)
        raise AWAY

    with pytest.raises(DatabaseAway):
        patience.outlast(work, lambda: True)
    assert len(tries) > 1
    tries.clear()
    with pytest.raises(DatabaseAway):
        patience.outlast(work, lambda: True)
    assert len(tries) == 1


def test_an_error_of_the_caller_is_not_waited_out(store: RunStore) -> None:
    tries = []

    def work(_: Session) -> None:
        tries.append(None)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        store.commit(work)
    assert len(tries) == 1


def test_the_text_of_an_error_quotes_no_row(store: RunStore) -> None:
    marked = target().model_copy(update={"key": "1-zq7x4k", "id": "zq7x4k", "pick": 0})
    with pytest.raises(IntegrityError) as refused:
        store.start_batch([marked])
    assert "zq7x4k" not in str(refused.value)
