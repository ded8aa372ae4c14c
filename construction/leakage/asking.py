"""One trial: a request that holds no footage, a reply that is stored before it is read.

The order of options follows from item, model and trial under the workspace's shuffle key, never
from what they say. No reply is repaired: a trial costs one call, and for an open item a judge's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from pydantic import BaseModel

from construction.footage import Media, sent
from construction.leakage.decision import TRIALS
from construction.leakage.items import LeakageItem
from construction.leakage.probes import FOOTAGE, Probe, View, view
from construction.leakage.sound import Sound
from construction.presentation import present, presentation_order, restore
from prompts.load import prompt_hash, render
from psychemme.answers import fits, same_choice
from psychemme.canonical import canonical_json, digest
from psychemme.clients.protocol import Client, MediaPart, Parameters, Reply, Request
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.episode import Value
from psychemme.errors import ReplyError
from psychemme.items import Answer, Credit, IndependentAnswer, Reference
from psychemme.vocabulary import GateRole
from state.leakage import ANSWER, JUDGE, LeakageStore, TrialCall, TrialPlace

_DIGITS = 16
_SEED_DIGITS = 8


class ProbeReply(Value):
    """What a model answers, and in one sentence why."""

    reason: str = ""
    answer: Answer


class OpenVerdict(Value):
    """How far an open answer meets the reference."""

    reason: str = ""
    credit: Credit


def client_key(role: GateRole, model: str) -> str:
    """Return what names a model's client in one role."""
    return f"{role}:{model}"


def role_of(key: str) -> GateRole:
    """Return the role in a client's name."""
    return GateRole(key.partition(":")[0])


@cache
def _protocol(
    parameters: Parameters, secret: bytes, judge: str | None, probe: Probe, is_heard: bool
) -> str:
    judged = [] if judge is None else [judge, prompt_hash(GateRole.RUBRIC)]
    asked = [prompt_hash(GateRole.PROBE), vars(parameters), digest(secret.hex()), str(probe)]
    return digest([*asked, *judged, *(["sound"] if is_heard else [])])[:_DIGITS]


@dataclass(frozen=True)
class Manner:
    """How models are asked, which a trial's `protocol` is a digest of.

    `listeners` are the models that are given sound where they are given footage.
    """

    parameters: Parameters
    secret: bytes
    judge: str | None = None
    listeners: frozenset[str] = frozenset()

    def protocol(self, item: LeakageItem, probe: Probe, model: str) -> str:
        """Return the digest of all that shapes a model's trials of the item, but for both."""
        judge = None if item.format.is_choice else self.judge
        return _protocol(self.parameters, self.secret, judge, probe, self.hears(probe, model))

    def hears(self, probe: Probe, model: str) -> bool:
        """Return whether a probe gives sound to a model."""
        return probe in FOOTAGE and model in self.listeners

    def place(self, item: LeakageItem, probe: Probe, model: str, trial: int) -> TrialPlace:
        """Return where a trial is stored."""
        return TrialPlace(
            candidate_key=item.key,
            version=item.version,
            probe=probe,
            protocol=self.protocol(item, probe, model),
            model=model,
            trial=trial,
        )

    def order(self, item: LeakageItem, place: TrialPlace) -> tuple[int, ...]:
        """Return the positions of the item's options as the trial shows them."""
        label = f"{GateRole.PROBE}:{item.id}:{item.version}:{place.model}"
        return presentation_order(len(item.options), label, place.trial, self.secret)

    def request(
        self,
        item: LeakageItem,
        place: TrialPlace,
        shown: View,
        attempt: int = 0,
        media: tuple[MediaPart, ...] = (),
    ) -> Request:
        """Return the request of a trial."""
        inputs = {
            "episode": shown.episode,
            "question": shown.question,
            "options": present(item.options, self.order(item, place)),
            "format": item.format,
        }
        request = self._request(GateRole.PROBE, inputs, ProbeReply, place, attempt)
        return replace(request, media=media)

    def judgement(
        self, item: LeakageItem, place: TrialPlace, answer: str, attempt: int = 0
    ) -> Request:
        """Return the request that has an open answer judged."""
        wanted = Reference(answer=item.answer, cues=(), key_points=item.key_points)
        given = IndependentAnswer(answer=answer)
        inputs = {"question": item.question, "reference": wanted, "independent": given}
        return self._request(GateRole.RUBRIC, inputs, OpenVerdict, place, attempt)

    def _request(
        self,
        role: GateRole,
        inputs: Mapping[str, object],
        schema: type[BaseModel],
        place: TrialPlace,
        attempt: int,
    ) -> Request:
        prompt = render(role, inputs)
        identity = [*place.model_dump(exclude={"protocol"}).values(), attempt, role]
        seed = int(digest(identity)[:_SEED_DIGITS], 16) >> 1
        return Request(
            role=role,
            prompt_id=prompt.prompt_id,
            prompt_hash=prompt.hash,
            system=prompt.system,
            user=prompt.user,
            inputs=inputs,
            reply_schema=schema,
            parameters=replace(self.parameters, seed=seed),
            draw=attempt * TRIALS + place.trial,
        )


@dataclass(frozen=True)
class Trial:
    """The newest attempt at a trial: its credit, None where nobody could tell."""

    attempt: int
    credit: float | None

    @property
    def is_right(self) -> bool:
        """Whether it found the reference, or met all of an open one's required points."""
        return self.credit == 1


class Trials:
    """Every stored reply, by trial."""

    def __init__(self, calls: Iterable[TrialCall] = ()) -> None:
        self.cost: float | None = 0.0
        """US dollars of all replies, None where a price is unknown."""
        self._calls: dict[TrialPlace, dict[tuple[int, str], TrialCall]] = defaultdict(dict)
        for call in calls:
            self.add(call)

    def add(self, call: TrialCall) -> None:
        """Note a reply that was stored."""
        place = TrialPlace.model_validate(call.model_dump(include=set(TrialPlace.model_fields)))
        self._calls[place][call.attempt, call.step] = call
        if self.cost is not None:
            self.cost = None if call.cost is None else self.cost + call.cost

    def call(self, place: TrialPlace, attempt: int, step: str) -> TrialCall | None:
        """Return one reply, if there is one."""
        return self._calls.get(place, {}).get((attempt, step))

    def newest(self, place: TrialPlace, item: LeakageItem) -> Trial | None:
        """Return the newest attempt at a trial, None where none is complete."""
        attempts = sorted({attempt for attempt, _ in self._calls.get(place, {})}, reverse=True)
        found = (self._read(place, attempt, item) for attempt in attempts)
        return next((trial for trial in found if trial is not None), None)

    def _read(self, place: TrialPlace, attempt: int, item: LeakageItem) -> Trial | None:
        answered = self.call(place, attempt, ANSWER)
        if answered is None or item.format.is_choice or answered.answer is None:
            return None if answered is None else Trial(attempt, answered.credit)
        judged = self.call(place, attempt, JUDGE)
        return None if judged is None else Trial(attempt, judged.credit)


@dataclass(frozen=True)
class Prober:
    """Asks models about items, and stores each reply the moment it arrives."""

    clients: Mapping[str, Client]
    store: LeakageStore
    manner: Manner
    media: Mapping[str, Media] = field(default_factory=dict)
    sounds: Mapping[str, Sound] = field(default_factory=dict)
    trials: Trials = field(default_factory=Trials)

    async def ask(
        self, item: LeakageItem, probe: Probe, model: str, number: int, *, again: bool = False
    ) -> Trial | None:
        """Return a trial, asking where it is not stored; with `again` also where it failed.

        None where the probe does not apply to the item, or nobody is there to judge its answer.
        Raises EndpointError where the model answers nothing, Stopped where no call may start.
        """
        shown = view(item, probe)
        if shown is None or not (item.format.is_choice or self.manner.judge):
            return None
        place = self.manner.place(item, probe, model, number)
        held = self.trials.newest(place, item)
        if held is not None and not (again and held.credit is None):
            return held
        attempt = 0 if held is None else held.attempt + 1
        answer = await self._answer(item, probe, place, shown, attempt)
        if answer.answer is not None and not item.format.is_choice:
            await self._judge(item, place, str(answer.answer), attempt)
        found = self.trials.newest(place, item)
        if found is None:
            raise RuntimeError(f"{item.key}: the trial {place} is incomplete")
        return found

    async def _answer(
        self, item: LeakageItem, probe: Probe, place: TrialPlace, shown: View, attempt: int
    ) -> TrialCall:
        if (held := self.trials.call(place, attempt, ANSWER)) is not None:
            return held
        media: tuple[MediaPart, ...] = ()
        if probe in FOOTAGE:
            cut = item.material.model_copy(update={"frames": shown.frames})
            media = await self.media[place.model](cut)
            if self.manner.hears(probe, place.model):
                sound = await self.sounds[place.model](item.material, shown.heard)
                media = (*media, sound) if sound else media
        request = self.manner.request(item, place, shown, attempt, media)
        reply = await self._complete(GateRole.PROBE, place.model, request)
        order = self.manner.order(item, place)
        answer = _read_answer(reply, item, order)
        credit = None
        if answer is not None and item.format.is_choice:
            credit = float(same_choice(item.format, answer, item.answer))
        own = tuple(item.options[position].id for position in order)
        told = {"order": own, "answer": answer, "credit": credit}
        return await self._keep(place, attempt, ANSWER, request, reply, told)

    async def _judge(self, item: LeakageItem, place: TrialPlace, answer: str, attempt: int) -> None:
        judge = self.manner.judge or ""
        request = self.manner.judgement(item, place, answer, attempt)
        reply = await self._complete(GateRole.RUBRIC, judge, request)
        await self._keep(place, attempt, JUDGE, request, reply, {"credit": _read_credit(reply)})

    async def _complete(self, role: GateRole, model: str, request: Request) -> Reply:
        try:
            return await self.clients[client_key(role, model)].complete(request)
        except ReplyError as fault:
            # This one request has no reply, now or ever: that is kept like any other.
            return Reply(text="", model=model, finish_reason=fault.code)

    async def _keep(
        self,
        place: TrialPlace,
        attempt: int,
        step: str,
        request: Request,
        reply: Reply,
        told: Mapping[str, object],
    ) -> TrialCall:
        facts = {
            "attempt": attempt,
            "step": step,
            "text": reply.text,
            "finish_reason": reply.finish_reason,
            "asked": reply.model,
            "request_key": request.key(reply.model),
            "prompt_id": request.prompt_id,
            "prompt_hash": request.prompt_hash,
            "parameters_json": canonical_json(
                vars(request.parameters) | ({"sent": sent(request.media)} if request.media else {})
            ),
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost": reply.usage.cost,
            "latency": reply.latency,
            "cached": reply.cached,
        }
        call = TrialCall.model_validate(place.model_dump() | facts | dict(told))
        await self.store.in_thread(lambda: self.store.record(call))
        self.trials.add(call)
        return call


def _read_answer(reply: Reply, item: LeakageItem, order: tuple[int, ...]) -> Answer | None:
    """Return the answer in the item's own option ids, None where the reply holds none."""
    try:
        answer = parse_reply(reply.text, ProbeReply).answer
    except InvalidReply:
        return None
    shown = [option.id for option in present(item.options, order)]
    if not fits(item.format, answer, shown):
        return None
    return restore(IndependentAnswer(answer=answer), item.options, order).answer


def _read_credit(reply: Reply) -> float | None:
    try:
        return float(parse_reply(reply.text, OpenVerdict).credit)
    except InvalidReply:
        return None
