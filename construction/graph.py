"""The construction graph (paper, Figure 3), top to bottom.

    propose -> check -> answer -> critique -> route -> accept | revise | re-answer | discard

It runs once per candidate and carries ids, the round and the route, nothing else: what an agent
may see it reads through its own store.
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from construction.nodes import Nodes
from psychemme.vocabulary import Route

RECURSION_LIMIT = 20
"""Above the longest path: three rounds of five steps."""


class GraphState(TypedDict):
    """All that travels between nodes. `round` counts refinements, 0 is the first pass."""

    candidate_key: str
    round: int
    route: Route | None


Graph = CompiledStateGraph[GraphState, None, GraphState, GraphState]


def build_graph(nodes: Nodes) -> Graph:
    """Return the compiled graph over `nodes`."""
    graph = StateGraph(GraphState)

    graph.add_node("propose", nodes.propose)
    graph.add_node("check", nodes.check)
    graph.add_node("answer", nodes.answer)
    graph.add_node("critique", nodes.critique)
    graph.add_node("route", nodes.route)

    graph.add_edge(START, "propose")
    graph.add_edge("propose", "check")
    graph.add_conditional_edges("check", after_check, ["answer", "route"])
    graph.add_edge("answer", "critique")
    graph.add_edge("critique", "route")
    graph.add_conditional_edges("route", after_route, ["propose", "answer", END])

    return graph.compile()


# Async, because LangGraph sends a sync one through a thread each time.
async def after_check(state: GraphState) -> str:
    """A sound proposal is answered; a defective one goes straight to its route."""
    return "answer" if state["route"] is None else "route"


async def after_route(state: GraphState) -> str:
    """A revised question is answered again from scratch; a re-answer keeps the question."""
    nexts = {Route.REVISE_QUESTION: "propose", Route.REANSWER: "answer"}
    return nexts.get(state["route"], END) if state["route"] else END
