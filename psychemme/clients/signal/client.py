"""The `signal` client: one entry for three roles that do not know each other."""

from random import Random

from pydantic import BaseModel

from psychemme.clients.protocol import Reply, Request, Usage
from psychemme.clients.signal.answer import answer
from psychemme.clients.signal.critic import criticise
from psychemme.clients.signal.question import propose
from psychemme.vocabulary import AgentRole


class SignalClient:
    """Answers all three construction roles from `Request.inputs` alone."""

    def __init__(self, model: str = "signal") -> None:
        self.model = model

    async def complete(self, request: Request) -> Reply:
        """Return the role's JSON; chance comes from the request's seed and draw only."""
        text = _reply(request).model_dump_json()
        return Reply(text=text, model=self.model, usage=Usage(cost=0.0))

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


def _reply(request: Request) -> BaseModel:
    if request.role is AgentRole.ANSWER:
        return answer(request.inputs)
    if request.role is AgentRole.CRITIC:
        return criticise(request.inputs)
    # A text seed goes through SHA-512, so that every process draws the same.
    chance = Random(f"{request.parameters.seed}:{request.draw}")  # noqa: S311
    return propose(request.inputs, chance)
