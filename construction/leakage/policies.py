"""What the plan of each run says of gates."""

import json
from functools import lru_cache

from construction.gates import GatePolicy
from construction.workspace import Workspace
from psychemme.config import Effective
from state.runs import RunStore


def policies(workspace: Workspace, effective: Effective | None = None) -> dict[int, GatePolicy]:
    """Return the gate policy of each run: that of its own plan, or of one given with --plan."""
    given = None
    if effective is not None and effective.origins["plan"] == "flag":
        from construction.plan import load_plan

        given = load_plan(effective.settings.plan).gates
    with RunStore(workspace.database) as runs:
        return {run.ordinal: given or policy_of(run.plan_json) for run in runs.runs()}


@lru_cache
def policy_of(plan_json: str) -> GatePolicy:
    """Return the gate policy of a stored plan, the default where it is from before gates."""
    return GatePolicy.model_validate(json.loads(plan_json).get("gates") or {})
