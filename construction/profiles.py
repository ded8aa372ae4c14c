"""The benchmarks that can be built: no other shared module knows a profile by its id."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from construction.graph import Graph
    from construction.nodes import Nodes

DEFAULT = "psychemme8"


def graph_builder(profile: str) -> "Callable[[Nodes], Graph]":
    """Return the construction half of a profile: how its agents are put together."""
    # Imports LangGraph.
    from construction.graph import build_graph

    return {DEFAULT: build_graph}[profile]
