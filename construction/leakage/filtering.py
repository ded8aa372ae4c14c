"""The filter at work: six trials an item at most, in a fixed order, ended as soon as it is decided.

Trials take turns between the two models. Items are independent of each other, and each trial is
stored when it arrives, so that a killed run goes on where it was and comes to the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import product

from construction.endpoints import MakeClient, Spending, open_clients
from construction.footage import Footage, Media, frame_parts, windows_of
from construction.leakage.asking import Manner, Prober, Trials, client_key, role_of
from construction.leakage.decision import TRIALS, TRIALS_EACH, Decision, decide, threshold
from construction.leakage.items import GATE, LeakageItem, read_items
from construction.leakage.models import Wanted, refuse_budget, refuse_models
from construction.leakage.policies import policies
from construction.leakage.probes import Probe
from construction.leakage.sound import sound_for
from construction.workspace import Workspace
from prompts.load import prompt_hash
from psychemme.canonical import digest
from psychemme.clients.cards import Cards, load_cards
from psychemme.clients.fitting import Fitter
from psychemme.clients.make import make_client
from psychemme.clients.protocol import MediaPart, Parameters
from psychemme.config import Effective, Settings
from psychemme.episode import Value
from psychemme.errors import PsychemmeError, RunError, Stopped, UserError
from psychemme.media.blobs import BlobStore
from psychemme.vocabulary import GateOutcome, GateRole
from state.clips import ClipStore
from state.gates import GateStore
from state.leakage import LeakageStore
from state.leases import hold
from state.review_values import GateRecord
from state.values import Material


class Verdict(Value):
    """What the trials say of an item. `right` and `failed` count the trials that were looked at.

    `decision` is None while trials are missing, and for an open item that nobody judges.
    """

    key: str
    version: int
    decision: Decision | None = None
    right: int = 0
    failed: int = 0
    asked: int = 0
    needed: int

    @property
    def detail(self) -> str:
        """What a gate result says of it."""
        failed = f", {self.failed} unreadable" if self.failed else ""
        return (
            f"{self.right} of {self.asked} trials right without the footage{failed}; "
            f"{self.needed} of {TRIALS} leak"
        )


@dataclass(frozen=True)
class Done:
    """Progress: items and other trials settled, of all, and what was spent in US dollars."""

    settled: int
    planned: int
    cost: float | None


def schedule(models: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the six trials in their order: the models take turns."""
    return tuple((model, trial) for trial, model in product(range(TRIALS_EACH), models))


def standing(item: LeakageItem, models: Sequence[str], manner: Manner, trials: Trials) -> Verdict:
    """Return what the stored trials say of an item."""
    needed = threshold(item.format, len(item.options))
    right = failed = asked = 0
    decision = None
    for model, number in schedule(models):
        found = trials.newest(manner.place(item, Probe.QUESTION, model, number), item)
        if found is None:
            break
        asked += 1
        right, failed = right + found.is_right, failed + (found.credit is None)
        if (decision := decide(right, failed, TRIALS - asked, needed)) is not None:
            break
    return Verdict(
        key=item.key,
        version=item.version,
        decision=decision,
        right=right,
        failed=failed,
        asked=asked,
        needed=needed,
    )


@dataclass
class Filtering:
    """The filter and the probes that go with it, ready to work."""

    items: Sequence[LeakageItem]
    wanted: Wanted
    prober: Prober
    gates: GateStore
    actions: Mapping[int, str]
    concurrency: int
    stop: asyncio.Event
    report: Callable[[Done], None] = lambda _: None
    _done: int = 0

    async def finish(self) -> list[Verdict]:
        """Do every trial that is missing, keep what the gate found, and return the verdicts.

        Raises Stopped where `stop` was set or the budget is used up with work left, EndpointError
        where a model answers nothing.
        """
        others = self._others()
        planned = len(self.items) + len(others)

        def counted(work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
            async def count() -> None:
                await work()
                self._done += 1
                self.report(Done(self._done, planned, self.prober.trials.cost))

            return count

        self.report(Done(0, planned, self.prober.trials.cost))
        filtered = [counted(lambda item=item: self._settle(item)) for item in self.items]  # type: ignore[misc]
        probed = [counted(lambda place=place: self.prober.ask(*place)) for place in others]  # type: ignore[misc]
        # One after the other: a probe may be one of the filter's own trials.
        await work_through(filtered, self.concurrency, self.stop)
        await work_through(probed, self.concurrency, self.stop)
        return self.verdicts()

    def verdicts(self) -> list[Verdict]:
        """Return what the stored trials say of every item."""
        return [self._standing(item) for item in self.items]

    def _standing(self, item: LeakageItem) -> Verdict:
        return standing(item, self.wanted.models, self.prober.manner, self.prober.trials)

    def _others(self) -> list[tuple[LeakageItem, Probe, str, int]]:
        pairs = self.wanted.probes()
        return [(item, probe, model, 0) for probe, model in pairs for item in self.items]

    async def _settle(self, item: LeakageItem) -> None:
        again = self._standing(item).decision is Decision.UNDECIDED
        for model, number in schedule(self.wanted.models):
            decision = self._standing(item).decision
            if decision is not None and not (again and decision is Decision.UNDECIDED):
                break
            await self.prober.ask(item, Probe.QUESTION, model, number, again=again)
        await self._keep(item, self._standing(item))

    async def _keep(self, item: LeakageItem, verdict: Verdict) -> None:
        if verdict.decision is None or verdict.decision is Decision.UNDECIDED:
            return
        is_leak = verdict.decision is Decision.LEAKS
        outcome = GateOutcome(self.actions[item.run]) if is_leak else GateOutcome.PASSED
        record = GateRecord(gate=GATE, outcome=outcome, detail=verdict.detail)
        gates = self.gates
        await gates.in_thread(lambda: gates.record(item.key, item.version, record))


async def work_through(
    works: Iterable[Callable[[], Awaitable[None]]], concurrency: int, stop: asyncio.Event
) -> None:
    """Do all works; where one cannot go on, calls in flight still finish and are kept."""
    left, reasons = iter(works), list[PsychemmeError]()

    async def worker() -> None:
        for work in left:
            try:
                if stop.is_set():
                    raise Stopped
                await work()
            except (Stopped, UserError) as reason:
                reasons.append(reason)
                stop.set()
                return

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    if reasons:
        # Those that only heard of it say nothing.
        raise next((reason for reason in reasons if str(reason)), reasons[0])


def manner_of(workspace: Workspace, settings: Settings, wanted: Wanted, cards: Cards) -> Manner:
    """Return how models are asked under these settings; those that take sound hear footage."""
    parameters = Parameters(settings.temperature, settings.max_output_tokens)
    listeners = frozenset(m for m in wanted.asked() if cards.card_for(m).native_audio)
    return Manner(parameters, workspace.secret, wanted.judge, listeners)


def gated_items(
    workspace: Workspace, effective: Effective, run: int | None
) -> tuple[list[LeakageItem], dict[int, str]]:
    """Return the items whose plan has a leakage gate, and by run what a leak does.

    Raises RunError where there is none.
    """
    found_in = policies(workspace, effective)
    actions: dict[int, str] = {run: policy.action(GATE) for run, policy in found_in.items()}
    found = [i for i in read_items(workspace.database, run) if actions[i.run] != "off"]
    if not found:
        raise RunError(
            "There is no accepted candidate whose plan has a leakage gate.",
            "Generate some, or give a plan that does not turn `gates: leakage` off.",
        )
    return found, actions


@asynccontextmanager
async def filtering(
    workspace: Workspace,
    effective: Effective,
    wanted: Wanted,
    stop: asyncio.Event,
    spending: Spending,
    make: MakeClient = make_client,
) -> AsyncIterator[Filtering]:
    """Yield the filter over the accepted candidates, with what was stored before.

    Raises ConfigError where the models will not do or a budget meets one without a price, RunError
    where there is nothing to filter, WorkspaceError where another process holds the Shared State.
    """
    settings, cards = effective.settings, load_cards(workspace.root)
    loop = asyncio.get_running_loop()
    with (
        hold(workspace.database, "leakage", lambda: loop.call_soon_threadsafe(stop.set)) as lease,
        LeakageStore(workspace.database, lease) as store,
        GateStore(workspace.database, lease) as gates,
    ):
        refuse_models(wanted, cards, store.runs(GATE))
        items, actions = gated_items(workspace, effective, wanted.run)
        manner = manner_of(workspace, settings, wanted, cards)
        clients = {client_key(GateRole.PROBE, model): model for model in wanted.asked()}
        if wanted.judge and any(not item.format.is_choice for item in items):
            clients[client_key(GateRole.RUBRIC, wanted.judge)] = wanted.judge
        trials = Trials(store.calls())
        allowed = replace(spending, spent=trials.cost)
        refuse_budget(clients, settings, cards, allowed)
        replies = workspace.blobs / "replies"
        opened = open_clients(clients, cards, settings, allowed, replies, stop, make, role_of)
        async with opened as made:
            store.begin(GATE, pins_of(wanted, settings, cards, manner))
            media = {model: _frames(cards, model, workspace, settings) for model in wanted.asked()}
            footage = _footage(workspace, settings, items)
            sounds = {m: sound_for(cards.card_for(m), footage) for m in manner.listeners}
            prober = Prober(made, store, manner, media, sounds, trials)
            concurrency = settings.concurrency
            yield Filtering(items, wanted, prober, gates, actions, concurrency, stop)


def pins_of(wanted: Wanted, settings: Settings, cards: Cards, manner: Manner) -> dict[str, str]:
    """Return what a run of the filter depends on."""
    pins = {
        "models": ",".join(wanted.models),
        "decoding": digest([settings.temperature, settings.max_output_tokens]),
        "shuffle key": digest(manner.secret.hex()),
        "probe prompt": prompt_hash(GateRole.PROBE),
        **{f"{model} card": cards.card_for(model).hash for model in wanted.asked()},
    }
    named = {"judge": wanted.judge, "hold-out": wanted.hold_out, "cues": wanted.cues}
    return pins | {name: model for name, model in named.items() if model}


def _footage(workspace: Workspace, settings: Settings, items: Sequence[LeakageItem]) -> Footage:
    numbers = {item.material.preparation for item in items}
    with ClipStore(workspace.database) as clips:
        episodes = [episode for number in sorted(numbers) for episode in clips.episodes(number)]
        windows = windows_of(episodes, {clip.id: clip for clip in clips.clips()})
    return Footage(windows, BlobStore(workspace.blobs, settings.media))


def _frames(cards: Cards, model: str, workspace: Workspace, settings: Settings) -> Media:
    """Return what gives a model an episode's frames and nothing else."""
    blobs = BlobStore(workspace.blobs, settings.media)
    fitter = Fitter(cards.card_for(model).images, blobs)

    async def media(material: Material) -> tuple[MediaPart, ...]:
        parts = frame_parts(material.frames, blobs.path)
        return await asyncio.to_thread(lambda: fitter.fit(parts))

    return media
