"""An agent: a prompt, a client and a role-bound store that never pays for a reply twice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from construction.footage import Media, sent
from prompts.load import render
from psychemme.canonical import canonical_json, digest
from psychemme.clients.protocol import Client, MediaPart, Parameters, Reply, Request
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.errors import ReplyError
from state.stores import AgentStore
from state.values import CallRecord, Material, RecordedReply

R = TypeVar("R", bound=BaseModel)
S = TypeVar("S", bound=AgentStore[Any])

MOST_REPAIRS = 2
_SEED_DIGITS = 8


@dataclass(frozen=True)
class Task(Generic[R]):
    """One question to an agent: the prompt's variables, the footage, what the reply must be.

    `fault` returns what is wrong with a well-formed reply, None where it can be used.
    """

    key: str
    candidate_id: str
    round: int
    inputs: Mapping[str, object]
    material: Material
    fault: Callable[[R], str | None] = field(default=lambda _: None)


@dataclass(frozen=True)
class Agent(Generic[R, S]):
    """Asks `client` and reads and writes through `store`, the only door of its role."""

    client: Client
    store: S
    schema: type[R]
    media: Media
    parameters: Parameters = field(default_factory=Parameters)

    async def ask(self, task: Task[R]) -> R:
        """Return a valid reply, repairing at most twice.

        Raises ReplyError with the code of the last fault.
        """
        exchange: tuple[tuple[str, str], ...] = ()
        code = "invalid"
        for attempt in range(MOST_REPAIRS + 1):
            reply = await self._reply(task, attempt, exchange)
            try:
                return self._read(task, reply)
            except InvalidReply as fault:
                code = _code(reply)
                exchange = (*exchange, (reply.text, str(fault)))
        raise ReplyError(code)

    def _read(self, task: Task[R], reply: RecordedReply) -> R:
        value = parse_reply(reply.text, self.schema)
        if (fault := task.fault(value)) is not None:
            raise InvalidReply(fault)
        return value

    async def _reply(
        self, task: Task[R], attempt: int, exchange: tuple[tuple[str, str], ...]
    ) -> RecordedReply:
        recorded = await self.store.recorded(task.key, task.round, attempt)
        if recorded is not None:
            return recorded
        request = self.request(task, await self.media(task.material), attempt, exchange)
        reply = await self.client.complete(request)
        await self.store.record(task.key, task.round, _call(request, reply, attempt))
        return RecordedReply(text=reply.text, finish_reason=reply.finish_reason)

    def request(
        self,
        task: Task[R],
        media: tuple[MediaPart, ...] = (),
        attempt: int = 0,
        exchange: tuple[tuple[str, str], ...] = (),
    ) -> Request:
        """Return the request `task` makes; its seed derives from candidate, round and role."""
        role = self.store.agent_role
        prompt = render(role, task.inputs)
        seed = int(digest([task.candidate_id, task.round, role])[:_SEED_DIGITS], 16) >> 1
        return Request(
            role=role,
            prompt_id=prompt.prompt_id,
            prompt_hash=prompt.hash,
            system=prompt.system,
            user=prompt.user,
            inputs=task.inputs,
            reply_schema=self.schema,
            media=media,
            parameters=Parameters(
                self.parameters.temperature, self.parameters.max_output_tokens, seed
            ),
            exchange=exchange,
            draw=task.round * (MOST_REPAIRS + 1) + attempt,
        )


def _call(request: Request, reply: Reply, attempt: int) -> CallRecord:
    return CallRecord(
        attempt=attempt,
        request_key=request.key(reply.model),
        text=reply.text,
        finish_reason=reply.finish_reason,
        model=reply.model,
        prompt_id=request.prompt_id,
        prompt_hash=request.prompt_hash,
        parameters_json=canonical_json(vars(request.parameters) | {"sent": sent(request.media)}),
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        cost=reply.usage.cost,
        latency=reply.latency,
        cached=reply.cached,
    )


def _code(reply: RecordedReply) -> str:
    codes = {"length": "truncated", "content_filter": "refused"}
    return codes.get(reply.finish_reason, "invalid" if reply.text.strip() else "empty")
