"""A graph over scripted agents and a real database, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from construction.agents import Agent
from construction.footage import Media, frames_at
from construction.graph import Graph, GraphState, build_graph
from construction.nodes import Nodes
from psychemme.clients.protocol import Client
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychology_kb.load import load_profile
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore

FRAMES = frames_at(Path)
SECRET = b"\x07" * 32


@contextmanager
def scripted_graph(
    database: Path, client: Client, media: Media = FRAMES
) -> Iterator[tuple[Graph, RunStore]]:
    """Yield a graph whose three agents ask `client` with `media`, and the store of its runs."""
    with (
        QuestionStore(database) as question,
        AnswerStore(database) as answer,
        CriticStore(database) as critic,
        RunStore(database) as runs,
    ):
        nodes = Nodes(
            Agent(client, question, Proposal, media),
            Agent(client, answer, IndependentAnswer, media),
            Agent(client, critic, Critique, media),
            runs,
            load_profile("psychemme8"),
            SECRET,
        )
        yield build_graph(nodes), runs


def start(key: str = "1-c0") -> GraphState:
    """Return the state a candidate starts in."""
    return GraphState(candidate_key=key, round=0, route=None)
