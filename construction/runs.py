"""Start or resume a run: what it pins, and how its graph is put together."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from construction.agents import Agent
from construction.endpoints import (
    NO_LIMIT,
    MakeClient,
    Spending,
    open_clients,
)
from construction.footage import Footage, media_for, windows_of
from construction.generate import Generation, Work, through
from construction.graph import Graph
from construction.nodes import Nodes
from construction.outcomes import as_facts
from construction.plan import Plan, load_plan
from construction.profiles import DEFAULT, graph_builder
from construction.sampling import EpisodeFacts
from construction.workspace import Workspace
from prompts.load import prompt_hash
from psychemme.canonical import canonical_json, digest, now
from psychemme.clients.cards import load_cards
from psychemme.clients.make import make_client
from psychemme.clients.protocol import Parameters
from psychemme.clients.terms import refuse_unknown_prices
from psychemme.config import Effective, Settings
from psychemme.errors import ConfigError, RunError
from psychemme.items import Critique, IndependentAnswer, Proposal
from psychemme.media.blobs import BlobStore
from psychemme.vocabulary import AgentRole
from psychology_kb.load import load_profile
from state.clips import ClipStore
from state.engines import prove_logins
from state.leases import hold
from state.runs import RunStore
from state.stores import AnswerStore, CriticStore, QuestionStore
from state.values import EpisodeRecord, RunRecord


def models_of(settings: Settings) -> dict[AgentRole, str]:
    """Return the model of each role.

    Raises ConfigError where a role has none.
    """
    models = {
        AgentRole.QUESTION: settings.question_model or settings.model,
        AgentRole.ANSWER: settings.answer_model or settings.model,
        AgentRole.CRITIC: settings.critic_model or settings.model,
    }
    chosen = {role: model for role, model in models.items() if model}
    if missing := models.keys() - chosen.keys():
        raise ConfigError(
            f"No model is set for the roles {', '.join(sorted(missing))}.",
            "Add --model NAME, or --model signal to run without a language model.",
        )
    return chosen


def pins_of(workspace: Workspace, settings: Settings, plan: Plan) -> dict[str, str]:
    """Return everything a run must find unchanged when it is resumed."""
    decoding = [settings.temperature, settings.max_output_tokens]
    models, cards = models_of(settings), load_cards(workspace.root)
    return {
        "plan": plan.hash,
        "knowledge base": load_profile(DEFAULT).hash,
        "decoding": digest(decoding),
        "shuffle key": digest(workspace.secret.hex()),
        "seed": str(settings.seed),
        **{f"{role} prompt": prompt_hash(role) for role in AgentRole},
        **{f"{role} model": model for role, model in models.items()},
        **{f"{role} model card": cards.card_for(model).hash for role, model in models.items()},
    }


def start_run(
    store: RunStore, settings: Settings, plan: Plan, count: int | None, pins: Mapping[str, str]
) -> RunRecord:
    """Store and return a new run over the newest preparation."""
    run = RunRecord(
        ordinal=len(store.runs()) + 1,
        seed=settings.seed,
        count=count,
        preparation=store.newest_preparation(),
        models={str(role): model for role, model in models_of(settings).items()},
        pins=pins,
        plan_json=canonical_json(plan.model_dump(mode="json")),
        created_at=now(),
    )
    store.start_run(run)
    return run


def newest_run(store: RunStore) -> RunRecord:
    """Return the newest run; raises RunError where there is none."""
    runs = store.runs()
    if not runs:
        raise RunError("There is no run to resume.", "Leave out --resume to start one.")
    return runs[-1]


def settings_of(effective: Effective, earlier: RunRecord | None) -> Settings:
    """Return the settings of a run; what is not set anywhere comes from the run to resume."""
    if earlier is None:
        return effective.settings
    kept: dict[str, object] = {
        f"{role}_model": model
        for role, model in earlier.models.items()
        if effective.origins["model"] == effective.origins[f"{role}_model"] == "default"
    }
    if effective.origins["seed"] == "default":
        kept["seed"] = earlier.seed
    return effective.settings.model_copy(update=kept)


def plan_of(settings: Settings, earlier: RunRecord | None) -> Plan:
    """Return the plan of a run: the one set, else the one of the run to resume, else default."""
    if settings.plan is None and earlier is not None:
        return Plan.model_validate_json(earlier.plan_json)
    return load_plan(settings.plan)


def refuse_changes(run: RunRecord, count: int | None, pins: Mapping[str, str]) -> None:
    """Raise RunError naming everything the run pins that has changed."""
    wanted = dict(pins) | ({} if count is None else {"count": str(count)})
    pinned = dict(run.pins) | {"count": str(run.count)}
    changed = [
        f"{name} was {pinned.get(name)}, is {value}"
        for name, value in wanted.items()
        if pinned.get(name) != value
    ]
    if changed:
        raise RunError(
            f"Run {run.ordinal} cannot be resumed: {'; '.join(changed)}.",
            "Restore what changed, or start a new run with --fresh.",
        )


def refuse_second_run(store: RunStore) -> None:
    """Raise RunError where a run exists already and the user has not said what to do with it."""
    if runs := store.runs():
        raise RunError(
            f"This workspace already holds run {runs[-1].ordinal}.",
            "Add --resume to go on with it, or --fresh to start another; nothing is deleted.",
        )


@dataclass(frozen=True)
class Job:
    """What a run needs wherever its candidates are worked on; `lease` fences its writes."""

    settings: Settings
    preparation: int
    pins: Mapping[str, str]
    spending: Spending
    lease: str


@asynccontextmanager
async def open_graph(
    workspace: Workspace,
    settings: Settings,
    store: RunStore,
    stop: asyncio.Event,
    spending: Spending,
    footage: Footage,
    make: MakeClient = make_client,
) -> AsyncIterator[Graph]:
    """Yield the graph of a run: three agents, each with a client and a role-bound store."""
    models, replies = models_of(settings), workspace.blobs / "replies"
    cards = load_cards(workspace.root)
    media = {role: media_for(cards.card_for(model), footage) for role, model in models.items()}
    parameters = Parameters(settings.temperature, settings.max_output_tokens)
    async with open_clients(models, cards, settings, spending, replies, stop, make) as clients:
        with ExitStack() as stores:
            question = stores.enter_context(QuestionStore(workspace.database))
            answer = stores.enter_context(AnswerStore(workspace.database))
            critic = stores.enter_context(CriticStore(workspace.database))
            nodes = Nodes(
                Agent(
                    clients[AgentRole.QUESTION],
                    question,
                    Proposal,
                    media[AgentRole.QUESTION],
                    parameters,
                ),
                Agent(
                    clients[AgentRole.ANSWER],
                    answer,
                    IndependentAnswer,
                    media[AgentRole.ANSWER],
                    parameters,
                ),
                Agent(
                    clients[AgentRole.CRITIC], critic, Critique, media[AgentRole.CRITIC], parameters
                ),
                store,
                load_profile(DEFAULT),
                workspace.secret,
            )
            yield graph_builder(DEFAULT)(nodes)


@asynccontextmanager
async def generation(
    workspace: Workspace,
    effective: Effective,
    count: int | None,
    resume: bool,
    fresh: bool,
    stop: asyncio.Event,
    spending: Spending = NO_LIMIT,
    make: MakeClient = make_client,
    cluster: str | None = None,
) -> AsyncIterator[Generation]:
    """Yield a run ready to work on: a new one, or the newest where `resume` says so.

    With the address of a `cluster`, its workers do the work, each with clients of its own.

    Raises RunError where a run exists and neither `resume` nor `fresh` was said, where there is
    nothing prepared, or where something the run pins has changed; ConfigError where the budget of
    `spending` meets a model without a price; WorkspaceError where another process holds the Shared
    State, or took it over because this one gave no sign of life.
    """
    loop = asyncio.get_running_loop()
    with (
        hold(workspace.database, "generate", lambda: loop.call_soon_threadsafe(stop.set)) as lease,
        RunStore(workspace.database, lease) as runs,
        ClipStore(workspace.database) as clips,
    ):
        if not resume and not fresh:
            refuse_second_run(runs)
        earlier = newest_run(runs) if resume else None
        settings = settings_of(effective, earlier)
        plan = plan_of(settings, earlier)
        pins = pins_of(workspace, settings, plan)
        if earlier is not None:
            refuse_changes(earlier, count, pins)
        if spending.budget is not None:
            cards = load_cards(workspace.root)
            refuse_unknown_prices(models_of(settings).values(), settings, cards)
        preparation = earlier.preparation if earlier else runs.newest_preparation()
        episodes = clips.episodes(preparation)
        if not episodes:
            raise RunError(
                "No episode is prepared.",
                "Run `psychemme clips add` and `psychemme prepare`; `clips list` gives reasons.",
            )
        spent = runs.costs(earlier.ordinal)[1] if earlier else 0.0
        facts = facts_of(clips, episodes)
        opened: AbstractAsyncContextManager[tuple[Work, int]]
        job = Job(settings, preparation, pins, replace(spending, spent=spent), lease)
        if cluster is None:
            opened = open_work(workspace, job, runs, clips, stop, make)
        else:
            opened = _crew(cluster, workspace, job, stop)
        async with opened as (work, most):
            # Stored last, so that a start that fails leaves no run behind.
            run = earlier or start_run(runs, settings, plan, count, pins)
            is_given = effective.origins["concurrency"] != "default"
            concurrency = min(settings.concurrency, most) if is_given else most
            key = workspace.secret
            yield Generation(run, plan, episodes, facts, runs, work, concurrency, stop, key)


@asynccontextmanager
async def open_work(
    workspace: Workspace,
    job: Job,
    runs: RunStore,
    clips: ClipStore,
    stop: asyncio.Event,
    make: MakeClient = make_client,
) -> AsyncIterator[tuple[Work, int]]:
    """Yield the work of this process on `job`, and how many candidates it takes at once."""
    # An engine logs in when it is first used, which would be in the middle of the run.
    await asyncio.to_thread(prove_logins, workspace.database, AgentRole)
    settings = job.settings
    episodes = clips.episodes(job.preparation)
    windows = windows_of(episodes, {clip.id: clip for clip in clips.clips()})
    footage = Footage(windows, BlobStore(workspace.blobs, settings.media))
    async with open_graph(workspace, settings, runs, stop, job.spending, footage, make) as graph:
        yield through(graph), settings.concurrency


def _crew(
    address: str, workspace: Workspace, job: Job, stop: asyncio.Event
) -> AbstractAsyncContextManager[tuple[Work, int]]:
    from construction.cluster.crew import open_crew  # Dask is an extra.

    return open_crew(address, workspace, job, stop)


def facts_of(clips: ClipStore, episodes: Sequence[EpisodeRecord]) -> list[EpisodeFacts]:
    """Return what the sampler knows of `episodes`."""
    clip_of = {clip.id: clip for clip in clips.clips()}
    return [as_facts(episode, clip_of[episode.clip_id]) for episode in episodes]
