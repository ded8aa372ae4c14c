"""What one of many processes does to a Shared State, in `TASKS` tasks at once."""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from psychemme.items import Critique
from psychemme.vocabulary import AgentRole, CandidateState, Step
from state.address import Address
from state.review import Place, ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import Board, Changes
from state.runs import RunStore
from state.stores import AgentStore, AnswerStore, CriticStore, QuestionStore
from state.values import CallRecord
from tests.support.reviews import approval, own_answer, reviewer
from tests.support.states import independent, proposal

PROCESSES, TASKS, CANDIDATES, EACH = 8, 16, 64, 2
SOUND = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)


def generate(database: Address, process: int) -> dict[tuple[str, AgentRole], set[str]]:
    """Do every step of candidates that other processes do too; return the replies read back."""
    return asyncio.run(_generate(database, process))


async def _generate(database: Address, process: int) -> dict[tuple[str, AgentRole], set[str]]:
    seen: dict[tuple[str, AgentRole], set[str]] = {}
    with (
        QuestionStore(database) as question,
        AnswerStore(database) as answer,
        CriticStore(database) as critic,
        RunStore(database) as runs,
    ):

        async def paid(store: AgentStore[Any], key: str, name: str) -> None:
            await store.record(key, 0, _call(f"{store.agent_role} of {name}"))
            reply = await store.recorded(key, 0, 0)
            assert reply is not None
            seen.setdefault((key, store.agent_role), set()).add(reply.text)

        async def step(key: str, name: str) -> None:
            await question.begin(key, 0)
            await paid(question, key, name)
            await question.save(key, 0, proposal(name))
            await answer.begin(key, 0)
            await paid(answer, key, name)
            await answer.save(key, 0, independent("A"), ["A", "B", "C"])
            await critic.begin(key, 0)
            await paid(critic, key, name)
            await critic.save(key, 0, SOUND.model_copy(update={"comment": name}))
            await runs.in_thread(lambda: runs.record_step(key, 0, Step.ROUTE, "accept: "))
            await runs.in_thread(lambda: runs.settle(key, CandidateState.ACCEPTED, answers=1))

        async def task(number: int) -> None:
            place = process * TASKS + number
            for turn in range(EACH):
                await step(f"1-c{(place * (1 + 6 * turn)) % CANDIDATES}", f"{process}-{number}")

        await asyncio.gather(*map(task, range(TASKS)))
    return seen


def _call(text: str) -> CallRecord:
    return CallRecord(
        attempt=0, request_key="k", text=text, finish_reason="stop", model="m", prompt_id="p",
        prompt_hash="h", parameters_json="{}", input_tokens=1, output_tokens=1, cost=0.5,
        latency=0.1,
    )  # fmt: skip


def review(database: Address, names: list[str], places: list[Place], process: int) -> None:
    """Vote for every reviewer, every ballot twice over, and curate meanwhile."""
    asyncio.run(_review(database, names, places, process))


async def _review(database: Address, names: list[str], places: list[Place], process: int) -> None:
    # As many threads as tasks: all are in the database at once.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(TASKS))
    with ReviewStore(database) as store, ReviewDesk(database) as desk:

        def task(number: int) -> None:
            place, shift = places[number % len(places)], number // len(places)
            name, request = names[(process + shift) % len(names)], f"r{shift % 2}"
            acts: list[Callable[[], object]] = [
                lambda: store.commit_answer(name, place, own_answer(request_id=request)),
                lambda: store.reveal(name, place),
                lambda: store.cast(name, place, approval(request, comment=f"{process}-{number}")),
                lambda: store.work(name, place),
            ]
            for act in acts:
                act()
                store.save_draft(name, place, '{"comment": "being typed"}')
                if random.Random(number).random() < 0.5:
                    store.queue(name)
            desk.note(places[0], "curator", f"{process}-{number}")
            desk.change(_invite)

        await asyncio.gather(*(asyncio.to_thread(task, number) for number in range(TASKS)))


def _invite(board: Board) -> Changes:
    """Invite a reviewer by the next free number: two who counted the same would collide."""
    return Changes(reviewers=(reviewer(f"guest{len(board.reviewers)}"),))
