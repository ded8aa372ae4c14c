"""A request as an agent makes it, for tests of clients."""

from dataclasses import replace
from typing import Any

from psychemme.clients.protocol import Parameters, Request
from psychemme.items import IndependentAnswer
from psychemme.vocabulary import AgentRole

REQUEST = Request(
    role=AgentRole.ANSWER,
    prompt_id="answer",
    prompt_hash="0" * 64,
    system="You answer.",
    user="What happens? PROMPT-TEXT",
    inputs={},
    reply_schema=IndependentAnswer,
    parameters=Parameters(temperature=0.5, max_output_tokens=300, seed=7),
)


def request(**changes: Any) -> Request:
    """Return the sample request with `changes`."""
    return replace(REQUEST, **changes)
