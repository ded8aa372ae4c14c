"""The benchmarks that can be built: no other shared module knows a profile by its id."""

from collections.abc import Callable, Mapping

from construction.graph import Graph, build_graph
from construction.nodes import Nodes

DEFAULT = "psychemme8"

GRAPHS: Mapping[str, Callable[[Nodes], Graph]] = {DEFAULT: build_graph}
"""The construction half of every profile: how its agents are put together."""
