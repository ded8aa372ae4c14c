"""Eight processes of sixteen tasks each: nothing is locked, lost, or there twice."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

from state.address import Address
from state.review_desk import ReviewDesk
from tests.support.crashes import contents, faults
from tests.support.crowds import CANDIDATES, PROCESSES, TASKS, generate, review
from tests.support.reviews import make_review
from tests.support.states import make_state, target
from tests.support.verbs import FORKS

pytestmark = pytest.mark.slow

CROWD = PROCESSES * TASKS
NAMES = [f"reviewer{number}" for number in range(PROCESSES)]


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(PROCESSES, mp_context=FORKS) as pool:
        yield pool


def test_each_step_is_stored_once_and_whole_whoever_comes_first(
    address: Address, processes: Executor
) -> None:
    make_state(address, *(target(f"c{n}", pick=n) for n in range(CANDIDATES)))
    seen = list(processes.map(generate, [address] * PROCESSES, range(PROCESSES)))
    held = contents(address)
    assert faults(held) == []
    assert len(held["questions"]) == len(held["critiques"]) == CANDIDATES
    assert len(held["ledger"]) == 3 * CANDIDATES
    assert {row["state"] for row in held["outcomes"]} == {"accepted"}
    for reference, cue in zip(held["reference_answers"], held["cues"], strict=True):
        assert reference["candidate_key"] == cue["candidate_key"]
        assert reference["rationale"].split()[-1] == cue["description"].split()[-1]
    for table, role in (("question_calls", "question"), ("critic_calls", "critic")):
        for row in held[table]:
            read = [one.get((row["candidate_key"], role), set()) for one in seen]
            assert set().union(*read) == {row["text"]}


def test_no_vote_note_or_guest_is_lost(address: Address, processes: Executor) -> None:
    places = make_review(address, names=NAMES)
    one = [address] * PROCESSES
    everyone = ([NAMES] * PROCESSES, [places] * PROCESSES, range(PROCESSES))
    list(processes.map(review, one, *everyone))
    held = contents(address)
    assert len(held["blind_answers"]) == len(NAMES) * len(places)
    votes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in held["votes"]:
        mine = votes.setdefault((row["candidate_key"], row["reviewer_id"]), [])
        mine.append((row["revision"], row["request_id"]))
    assert len(votes) == len(NAMES) * len(places)
    assert {tuple(r for r, _ in sorted(given)) for given in votes.values()} == {(1, 2)}
    assert {tuple(sorted(q for _, q in given)) for given in votes.values()} == {("r0", "r1")}
    notes = sorted((row["position"], row["note"]) for row in held["adjudication_notes"])
    assert [position for position, _ in notes] == list(range(CROWD))
    assert {note for _, note in notes} == {
        f"{p}-{t}" for p in range(PROCESSES) for t in range(TASKS)
    }
    with ReviewDesk(address) as desk:
        guests = {one.id for one in desk.reviewers()} - set(NAMES)
    assert guests == {f"guest{n}" for n in range(len(NAMES), len(NAMES) + CROWD)}
