"""Start or resume runs: what they pin, where they lie, and how they are put together."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import chain, count, takewhile
from pathlib import Path

from evaluation.asking import PROMPT, Asking
from evaluation.baselines import BASELINES, RANDOM, SIGNAL, expected_accuracy
from evaluation.embedding import Embedder, open_embedder
from evaluation.endpoints import count_spent, open_budget, open_client
from evaluation.evaluate import Evaluation
from evaluation.footage import Footage, find_clips
from evaluation.inputs import InputPolicy, cohort, donors
from evaluation.manifest import (
    FILE_NAME,
    Decoding,
    RunManifest,
    folder_name,
    held,
    order_folder,
    read_manifest,
    refuse_other_release,
    release_name,
    tool_versions,
    write_manifest,
)
from evaluation.store import RunStore
from prompts.load import prompt_hash
from psychemme.canonical import canonical_json
from psychemme.clients.cards import Cards, ModelCard
from psychemme.clients.protocol import Client, Parameters
from psychemme.config import Effective
from psychemme.errors import RunError
from psychemme.release.read import Release

_MEDIA = ".media"


@dataclass(frozen=True)
class Plan:
    """What to evaluate: a release, on which clips, under which policy, and where runs go.

    Choice items are asked in `orders` option orders, the release's own among them.
    """

    release: Release
    media: tuple[Path, ...]
    out: Path
    policy: InputPolicy
    limit: int | None = None
    orders: int = 1


def plan_run(plan: Plan, model: str, effective: Effective, cards: Cards) -> RunManifest:
    """Return the manifest of a run of `model`; raises RunError where nothing can be asked."""
    is_baseline = model in BASELINES
    # A baseline looks at no recording, so that no condition changes what it sees.
    policy = InputPolicy() if is_baseline else plan.policy
    items = cohort(plan.release, policy)[: plan.limit]
    if not items:
        raise RunError(
            f"The release {plan.release.root} has no item to ask about.", "Check its manifest."
        )
    given = (
        {}
        if policy.history_seed is None
        else donors(plan.release, cohort(plan.release, policy), policy.history_seed)
    )
    card = cards.card_for(model)
    return RunManifest(
        model=model,
        family=card.family,
        condition=policy.label,
        release=release_name(plan.release),
        release_path=str(plan.release.root.resolve()),
        policy=policy,
        card={} if is_baseline else card.model_dump(mode="json", exclude={"notes", "price"}),
        prompts={} if is_baseline else {PROMPT: prompt_hash(PROMPT)},
        decoding=None if is_baseline else decoding_of(effective, card),
        items=items,
        donors={name: given[name] for name in items if name in given},
        is_self=model == SIGNAL == plan.release.manifest.versions.get("maker"),
        seed=effective.settings.seed if model == RANDOM else None,
        chance=expected_accuracy(plan.release.questions[name] for name in items)
        if model == RANDOM
        else None,
        versions=tool_versions(),
    )


def plan_order(run: RunManifest, release: Release, number: int, seed: int) -> RunManifest:
    """Return the manifest of `run`'s choice items in option order `number`, from 1.

    Raises RunError where it has none.
    """
    items = tuple(name for name in run.items if release.questions[name].format.is_choice)
    if not items:
        raise RunError("No choice item is asked, so that no order differs.", "Leave out --permute.")
    policy = run.policy.model_copy(update={"order": number, "order_seed": seed})
    chance = expected_accuracy(release.questions[name] for name in items)
    return run.model_copy(
        update={
            "condition": policy.label,
            "policy": policy,
            "items": items,
            "donors": {name: run.donors[name] for name in items if name in run.donors},
            "chance": None if run.chance is None else chance,
        }
    )


def decoding_of(effective: Effective, card: ModelCard) -> Decoding:
    """Return the decoding of evaluated models; what is set nowhere is the paper's."""
    settings, default = effective.settings, Decoding()
    is_set = effective.origins["max_output_tokens"] != "default"
    # How a model is told not to think differs; its card knows, or nobody does.
    is_told = any(word in canonical_json(card.extra_body) for word in ("think", "reason"))
    return Decoding(
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens if is_set else default.max_output_tokens,
        thinking="as the card says" if is_told else "left to the endpoint",
    )


def choose_folder(out: Path, manifest: RunManifest, release: Release, mode: str | None) -> Path:
    """Return the folder of a run, new or resumed; `mode` is `resume`, `fresh` or None.

    Raises RunError where a run is there already and `mode` says nothing, or where something that
    the run to resume pins has changed; ReleaseError where the release is another.
    """
    name = folder_name(release, manifest.model, manifest.condition)
    existing = _existing(out, name)
    if mode == "resume" and existing:
        _refuse_changes(existing[-1], manifest, release)
        return existing[-1]
    if existing and mode != "fresh":
        raise RunError(
            f"{existing[-1]} holds a run of {manifest.model} already.",
            "Add --resume to go on with it, or --fresh to start another; nothing is deleted.",
        )
    return out / (f"{name}-{len(existing) + 1}" if existing else name)


def _refuse_changes(folder: Path, manifest: RunManifest, release: Release) -> None:
    earlier = read_manifest(folder, any_order=True)
    refuse_other_release(earlier, release)
    if changed := earlier.changes(manifest):
        raise RunError(
            f"{folder} cannot be resumed: {'; '.join(changed)}.",
            "Restore what changed, or start a new run with --fresh.",
        )


def _existing(out: Path, name: str) -> list[Path]:
    """Return the runs of one name, oldest first; a folder without a manifest was never begun."""
    numbered = chain([out / name], (out / f"{name}-{n}" for n in count(2)))
    return list(takewhile(lambda folder: (folder / FILE_NAME).exists(), numbered))


@asynccontextmanager
async def evaluations(
    plan: Plan,
    models: Sequence[str],
    effective: Effective,
    cards: Cards,
    stop: asyncio.Event,
    mode: str | None = None,
    budget: float | None = None,
) -> AsyncIterator[list[Evaluation]]:
    """Yield one run for each of `models`, ready to finish, after every file has been verified.

    Raises MediaError, RunError, ReleaseError and ConfigError before anything is paid for.
    """
    manifests = [plan_run(plan, model, effective, cards) for model in models]
    clips = _verified_clips(plan, manifests, cards)
    paid = [model for model in models if model not in BASELINES]
    shared = open_budget(budget, paid, effective.settings, cards)
    folders = [choose_folder(plan.out, manifest, plan.release, mode) for manifest in manifests]
    runs = [
        run
        for folder, manifest in zip(folders, manifests, strict=True)
        for run in _orders(plan, folder, manifest, effective.settings.seed)
    ]
    async with AsyncExitStack() as stack:
        clients = {
            model: await stack.enter_async_context(
                open_client(model, cards, effective.settings, shared, stop)
            )
            for model in paid
        }
        embedder = await stack.enter_async_context(
            open_embedder(plan.policy, cards, effective.settings, plan.out / _MEDIA)
        )
        found = []
        for folder, manifest in runs:
            store = stack.enter_context(_opened(folder, manifest, stack))
            count_spent(shared, store.spent()[1])
            client = clients.get(manifest.model)
            asking = _asking(plan, manifest, cards, clips, client, embedder) if client else None
            concurrency = effective.settings.concurrency
            found.append(
                Evaluation(folder, manifest, plan.release, store, asking, concurrency, stop)
            )
        yield found


def _orders(
    plan: Plan, folder: Path, run: RunManifest, seed: int
) -> Iterator[tuple[Path, RunManifest]]:
    """Yield folder and manifest of a run in each option order; raises RunError."""
    yield folder, run
    for number in range(1, plan.orders):
        place = order_folder(folder, number)
        manifest = plan_order(run, plan.release, number, seed)
        if (place / FILE_NAME).exists():
            _refuse_changes(place, manifest, plan.release)
        yield place, manifest


def _opened(folder: Path, manifest: RunManifest, stack: AsyncExitStack) -> RunStore:
    if not (folder / FILE_NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_manifest(folder, manifest)
    stack.enter_context(held(folder))
    return RunStore(folder)


def _verified_clips(plan: Plan, manifests: Sequence[RunManifest], cards: Cards) -> dict[str, Path]:
    needed = {
        plan.release.questions[name].episode_id
        for manifest in manifests
        if manifest.model not in BASELINES
        and manifest.policy.gives(cards.card_for(manifest.model)).needs_clip
        for name in manifest.items
    }
    return find_clips([plan.release.episodes[name] for name in sorted(needed)], plan.media)


def _asking(
    plan: Plan,
    manifest: RunManifest,
    cards: Cards,
    clips: dict[str, Path],
    client: Client,
    embedder: Embedder | None,
) -> Asking:
    decoding = manifest.decoding or Decoding()
    return Asking(
        plan.release,
        manifest.policy,
        cards.card_for(manifest.model),
        Footage(clips, plan.out / _MEDIA, embedder),
        client,
        Parameters(decoding.temperature, decoding.max_output_tokens),
        manifest.donors,
    )
