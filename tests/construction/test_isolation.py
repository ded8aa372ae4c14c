"""No word of the reference reaches the Answer Agent: canary and non-interference.

The canary plants a unique token in every private text and looks for it wherever the Answer Agent
or a shared reader could meet it. Non-interference goes further: two databases that differ only in
private columns give the Answer Agent byte-identical requests.
"""

import logging
import sqlite3
from pathlib import Path

import pytest

from construction.footage import Footage, Media, Window, media_for
from psychemme.canonical import canonical_json
from psychemme.clients.cards import ModelCard
from psychemme.clients.protocol import Request
from psychemme.clients.scripted import ScriptedClient
from psychemme.errors import ReplyError
from psychemme.items import Critique, Cue, Proposal
from psychemme.media.blobs import BlobStore, sha256_file
from psychemme.vocabulary import AgentRole, Format, ReasoningDefect
from tests.support.clips import write_clip
from tests.support.graphs import FRAMES, scripted_graph, start
from tests.support.states import CLIP, EPISODE_ID, independent, make_state, proposal, target

TOKEN = "zq7Canary"
REANSWER = Critique(
    cue_support=True,
    logical_coherence=False,
    capability_alignment=True,
    reference_given_answer=0.0,
    answer_given_reference=0.0,
    reasoning_defects=(ReasoningDefect.PARTIAL_VIEWING,),
    comment=f"the reference says {TOKEN}",
)


def shown_to(client: ScriptedClient, role: AgentRole) -> list[Request]:
    return [request for request in client.requests if request.role is role]


def whole(request: Request) -> str:
    """Return everything of a request as text, its cache key included."""
    return canonical_json(
        {
            "system": request.system,
            "user": request.user,
            "inputs": {name: repr(value) for name, value in request.inputs.items()},
            "media": repr(request.media),
            "parameters": vars(request.parameters),
            "exchange": request.exchange,
            "draw": request.draw,
            "key": request.key("model"),
        }
    )


async def run(
    database: Path, form: Format, planted: Proposal, media: Media = FRAMES
) -> ScriptedClient:
    """Drive one candidate through three answers with the critic's route held fixed."""
    make_state(database, target(form=form))
    answer = independent("it is held" if form is Format.OPEN else "A")
    if form is Format.MULTIPLE:
        answer = independent(["A", "C"])
    client = ScriptedClient(
        "scripted",
        {
            AgentRole.QUESTION: [planted],
            AgentRole.ANSWER: [answer] * 3,
            AgentRole.CRITIC: [REANSWER] * 3,
        },
    )
    with scripted_graph(database, client, media) as (graph, _):
        await graph.ainvoke(start())
    return client


def rows(database: Path, table: str) -> str:
    connection = sqlite3.connect(database)
    found = connection.execute(f"SELECT * FROM {table}").fetchall()
    connection.close()
    return repr(found)


async def test_the_canary_stays_with_question_and_critic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "state.db"
    with caplog.at_level(logging.DEBUG):
        client = await run(database, Format.OPEN, proposal(TOKEN, form=Format.OPEN))
    answers = shown_to(client, AgentRole.ANSWER)
    assert len(answers) == 3
    assert all(TOKEN not in whole(request) for request in answers)
    assert TOKEN not in caplog.text
    assert TOKEN not in "".join(capfd.readouterr())
    for table in ("ledger", "answer_calls", "answer_feedback", "question_feedback", "candidates"):
        assert TOKEN not in rows(database, table)
    # Control: the token is really there, and the search would find it.
    assert all(TOKEN in whole(request) for request in shown_to(client, AgentRole.CRITIC))
    assert TOKEN in rows(database, "reference_answers")
    assert TOKEN in rows(database, "critiques")


async def test_control_a_leaking_prompt_is_caught(tmp_path: Path) -> None:
    planted = proposal(form=Format.OPEN)
    assert planted.question is not None
    leaking = planted.question.model_copy(update={"question": f"Is it {TOKEN}?"})
    client = await run(
        tmp_path / "state.db", Format.OPEN, planted.model_copy(update={"question": leaking})
    )
    assert all(TOKEN in whole(request) for request in shown_to(client, AgentRole.ANSWER))


async def test_an_error_names_a_code_and_no_text(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    make_state(database, target(form=Format.OPEN))
    client = ScriptedClient(
        "scripted",
        {
            AgentRole.QUESTION: [proposal(TOKEN, form=Format.OPEN)],
            AgentRole.ANSWER: [f"not JSON {TOKEN}"] * 3,
        },
    )
    with scripted_graph(database, client) as (graph, _), pytest.raises(ReplyError) as failure:
        await graph.ainvoke(start())
    assert str(failure.value) == "invalid"


def moved(planted: Proposal, form: Format) -> Proposal:
    """Return the same question with every private column changed."""
    assert planted.reference is not None
    answer: dict[Format, str | list[str]] = {
        Format.SINGLE: "C",
        Format.MULTIPLE: ["B", "C"],
        Format.OPEN: "something else",
    }
    reference = planted.reference.model_copy(
        update={
            "answer": answer[form],
            "cues": (
                Cue(start=4, end=6, modality="visual", description="a nod"),
                Cue(start=8, end=9, modality="speech", description="a refusal"),
            ),
            "rationale": "for other reasons",
        }
    )
    return planted.model_copy(update={"reference": reference})


@pytest.mark.parametrize("form", Format)
async def test_private_columns_do_not_interfere_with_answers(tmp_path: Path, form: Format) -> None:
    planted = proposal(form=form)
    one = await run(tmp_path / "one.db", form, planted)
    other = await run(tmp_path / "other.db", form, moved(planted, form))
    before = [whole(request) for request in shown_to(one, AgentRole.ANSWER)]
    after = [whole(request) for request in shown_to(other, AgentRole.ANSWER)]
    assert len(before) == 3
    assert before == after
    # Control: what the critic sees does differ.
    critics = [[whole(r) for r in shown_to(c, AgentRole.CRITIC)] for c in (one, other)]
    assert critics[0] != critics[1]


async def test_native_media_come_from_the_clip_alone(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4")
    clip = CLIP.model_copy(update={"path": str(path), "sha256": sha256_file(path)})
    footage = Footage({(EPISODE_ID, 1): Window(clip, 0.0, 8.0)}, BlobStore(tmp_path / "blobs"))
    media = media_for(ModelCard(name="m", native_video=True, native_audio=True), footage)
    planted = proposal(TOKEN)
    one = await run(tmp_path / "one.db", Format.SINGLE, planted, media)
    other = await run(tmp_path / "other.db", Format.SINGLE, moved(planted, Format.SINGLE), media)
    before = [whole(request) for request in shown_to(one, AgentRole.ANSWER)]
    assert before == [whole(request) for request in shown_to(other, AgentRole.ANSWER)]
    # Every role and round is sent the same bytes, and what is recorded of them holds no secret.
    sent = {request.media for client in (one, other) for request in client.requests}
    assert [[part.kind for part in parts] for parts in sent] == [["video", "audio"]]
    assert all(TOKEN.encode() not in part.path.read_bytes() for part in sent.pop())
    assert TOKEN not in rows(tmp_path / "one.db", "ledger")


async def test_a_reanswer_sees_neither_round_nor_earlier_answers(tmp_path: Path) -> None:
    client = await run(tmp_path / "state.db", Format.SINGLE, proposal())
    answers = shown_to(client, AgentRole.ANSWER)
    orders = [tuple(o.text for o in request.inputs["options"]) for request in answers]
    own = ("hold the ladder", "fetch a drink", "open it")
    assert len({own, *orders}) == 4
    second, third = answers[1:]
    for request in (second, third):
        assert "round" not in request.user.lower().split("<")[0]
        assert "heard it" not in request.user + request.system
