"""The graph keeps the paper's rounds: at most two refinements, then the candidate is discarded."""

import itertools
from pathlib import Path

import pytest

from construction.agents import MOST_REPAIRS
from psychemme.clients.protocol import Reply, Request
from psychemme.clients.scripted import ScriptedClient
from psychemme.errors import ReplyError
from psychemme.items import Critique, Cue, Defect, Proposal
from psychemme.vocabulary import (
    AgentRole,
    CandidateState,
    LookAgain,
    ProposalDefect,
    ReasoningDefect,
)
from tests.support.graphs import scripted_graph, start
from tests.support.states import independent, make_state, proposal, target

SOUND = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)
REVISE = SOUND.model_copy(
    update={"proposal_defects": (Defect(code=ProposalDefect.OPTION_DEFECT, option_id="B"),)}
)
REANSWER = SOUND.model_copy(
    update={"logical_coherence": False, "reasoning_defects": (ReasoningDefect.WRONG_SPEAKER,)}
)
ACCEPT = SOUND
CRITIQUES = {"revise": REVISE, "reanswer": REANSWER, "accept": ACCEPT}
SEQUENCES = [
    (*middle, last)
    for length in (0, 1, 2)
    for middle in itertools.product(("revise", "reanswer"), repeat=length)
    for last in ("accept", "revise", "reanswer")
    if last == "accept" or length == 2
]


def broken() -> Proposal:
    """Return a proposal whose cue lies outside the episode."""
    whole = proposal()
    cue = Cue(start=30, end=40, modality="speech", description="too late")
    return whole.model_copy(
        update={"reference": whole.reference.model_copy(update={"cues": (cue,)})}
    )


def answering_a(request: Request) -> str:
    """Answer with the option whose text is the proposal's A, wherever it is shown."""
    shown = next(o for o in request.inputs["options"] if o.text == "hold the ladder")
    return independent(shown.id).model_dump_json()


def scripted(critiques: list[Critique], proposals: list[Proposal] | None = None) -> ScriptedClient:
    return ScriptedClient(
        "scripted",
        {
            AgentRole.QUESTION: proposals or [proposal()] * 3,
            AgentRole.ANSWER: [answering_a] * 3,
            AgentRole.CRITIC: critiques,
        },
    )


def asked(client: ScriptedClient, role: AgentRole) -> int:
    return sum(request.role is role for request in client.requests)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    make_state(path, target())
    return path


@pytest.mark.parametrize("sequence", SEQUENCES, ids="-".join)
async def test_every_route_sequence(database: Path, sequence: tuple[str, ...]) -> None:
    client = scripted([CRITIQUES[name] for name in sequence])
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        outcome = runs.outcome("1-c0")
        rounds = runs.rounds("1-c0")
    accepted = sequence[-1] == "accept"
    state = CandidateState.ACCEPTED if accepted else CandidateState.DISCARDED
    refinements = sequence[:-1]
    assert outcome.state is state
    assert outcome.round == len(refinements)
    assert asked(client, AgentRole.QUESTION) == 1 + refinements.count("revise")
    assert asked(client, AgentRole.ANSWER) == asked(client, AgentRole.CRITIC) == len(sequence)
    assert len(rounds) == len(sequence)


async def test_a_proposal_that_fails_a_check_gets_no_answer_and_uses_a_round(
    database: Path,
) -> None:
    client = scripted([ACCEPT], [broken(), proposal()])
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        outcome, rounds = runs.outcome("1-c0"), runs.rounds("1-c0")
    assert (outcome.state, outcome.round, outcome.answers) == (CandidateState.ACCEPTED, 1, 1)
    assert asked(client, AgentRole.ANSWER) == asked(client, AgentRole.CRITIC) == 1
    assert rounds[0].steps["check"] == "defective"
    assert rounds[1].question_feedback == (Defect(code=ProposalDefect.CUE_DEFECT, cue_index=0),)


async def test_three_failed_checks_discard(database: Path) -> None:
    client = scripted([], [broken()] * 3)
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        outcome = runs.outcome("1-c0")
    assert (outcome.state, outcome.reason) == (CandidateState.DISCARDED, "cue_defect")
    assert len(client.requests) == 3


async def test_a_decline_discards_at_once(database: Path) -> None:
    client = scripted([], [Proposal(declined="nobody asks for anything")])
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        outcome = runs.outcome("1-c0")
    assert (outcome.state, outcome.reason) == (CandidateState.DISCARDED, "declined")
    assert len(client.requests) == 1


async def test_a_finished_candidate_repeats_no_call(database: Path) -> None:
    client = scripted([REVISE, REANSWER, ACCEPT])
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        before = runs.rounds("1-c0")
        await graph.ainvoke(start())
        assert runs.rounds("1-c0") == before
    assert len(client.requests) == 2 + 3 + 3


class Killed(Exception):
    """Stands for a kill: nothing after it happens."""


def by_round(sequence: tuple[str, ...], dies_at: int | None = None) -> ScriptedClient:
    """Reply by role and round alone; proposals differ by round, call number `dies_at` kills."""

    def reply(request: Request) -> Proposal | Critique | str:
        if len(client.requests) == dies_at:
            raise Killed
        at = request.draw // (MOST_REPAIRS + 1)
        if request.role is AgentRole.QUESTION:
            # A revised question has another reference: B at first, the answerer's A from then on.
            return proposal(right="A" if at or sequence[0] != "revise" else "B")
        return (
            answering_a(request) if request.role is AgentRole.ANSWER else (CRITIQUES[sequence[at]])
        )

    client = ScriptedClient("scripted", reply)
    return client


@pytest.mark.parametrize(
    "sequence",
    [
        pytest.param(s, id="-".join(s), marks=[pytest.mark.slow] if len(s) > 2 else [])
        for s in SEQUENCES
    ],
)
async def test_killed_at_any_call_the_outcome_is_the_same(
    tmp_path: Path, sequence: tuple[str, ...]
) -> None:
    async def drive(database: Path, client: ScriptedClient) -> object:
        with scripted_graph(database, client) as (graph, runs):
            await graph.ainvoke(start())
            return runs.outcome("1-c0"), runs.rounds("1-c0")

    make_state(tmp_path / "whole.db", target())
    whole = by_round(sequence)
    expected = await drive(tmp_path / "whole.db", whole)
    for dies_at in range(1, len(whole.requests) + 1):
        database = tmp_path / f"{dies_at}.db"
        make_state(database, target())
        with pytest.raises(Killed):
            await drive(database, by_round(sequence, dies_at))
        resumed = by_round(sequence)
        assert await drive(database, resumed) == expected
        assert len(resumed.requests) == len(whole.requests) - dies_at + 1


async def test_a_disagreement_stays_one_when_a_later_proposal_is_stored(tmp_path: Path) -> None:
    """A round is judged by the proposal it answered, whatever was proposed since."""
    database = tmp_path / "state.db"
    make_state(database, target())

    def reply(request: Request) -> Proposal | Critique | str:
        if request.role is AgentRole.QUESTION:
            return proposal(right="A" if request.inputs["earlier"] else "B")
        if request.role is AgentRole.CRITIC:
            return SOUND
        if len(client.requests) == dies_at:
            raise Killed
        return answering_a(request)

    dies_at = 5
    client = ScriptedClient("scripted", reply)
    with scripted_graph(database, client) as (graph, _), pytest.raises(Killed):
        await graph.ainvoke(start())
    dies_at = -1
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        outcome = runs.outcome("1-c0")
    assert (outcome.state, outcome.round, outcome.answers) == (CandidateState.ACCEPTED, 1, 1)


async def test_feedback_is_closed_codes_only(database: Path) -> None:
    client = scripted([REANSWER, REVISE, ACCEPT])
    with scripted_graph(database, client) as (graph, _):
        await graph.ainvoke(start())
    answers = [r for r in client.requests if r.role is AgentRole.ANSWER]
    questions = [r for r in client.requests if r.role is AgentRole.QUESTION]
    assert [r.inputs["feedback"] for r in answers] == [(), (LookAgain.CHECK_SPEAKER,), ()]
    assert questions[1].inputs["feedback"] == REVISE.proposal_defects
    assert set(answers[0].inputs) == {
        "episode",
        "norms",
        "distinctions",
        "format",
        "question",
        "options",
        "decision_time",
        "feedback",
    }


async def test_an_unusable_reply_is_repaired(database: Path) -> None:
    client = scripted([ACCEPT], ["no JSON here", proposal()])
    with scripted_graph(database, client) as (graph, runs):
        await graph.ainvoke(start())
        assert runs.outcome("1-c0").state is CandidateState.ACCEPTED
    first, second = client.requests[:2]
    assert second.exchange == (("no JSON here", "the reply holds no JSON object"),)
    assert first.key("m") != second.key("m")


async def test_repairs_are_bounded_and_name_the_fault(database: Path) -> None:
    truncated = Reply(text='{"question": ', model="scripted", finish_reason="length")
    client = ScriptedClient("scripted", {AgentRole.QUESTION: [truncated] * (MOST_REPAIRS + 1)})
    with scripted_graph(database, client) as (graph, _), pytest.raises(ReplyError, match="trunc"):
        await graph.ainvoke(start())
    assert len(client.requests) == MOST_REPAIRS + 1


async def test_the_drawing_is_the_papers_figure(database: Path, snapshot: object) -> None:
    with scripted_graph(database, scripted([])) as (graph, _):
        assert graph.get_graph().draw_mermaid() == snapshot
