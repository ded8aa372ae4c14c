"""What a run would take before it is started: calls, tokens and money, role by role.

Prompts are rendered for the first batch's picks, with stand-ins for what no agent has written yet;
nothing is asked, cut or stored. How many calls a candidate takes and how long replies are comes
from earlier runs with the same model, else from the assumptions below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from construction.drafts import drafts
from construction.inputs import Inputs
from construction.outcomes import as_facts
from construction.plan import Plan
from construction.runs import models_of, newest_run, plan_of, settings_of
from construction.sampling import pick_batch
from construction.workspace import Workspace
from prompts.load import render
from psychemme.clients.cards import Cards, ModelCard, load_cards
from psychemme.clients.protocol import MediaPart, Request
from psychemme.clients.size import input_tokens
from psychemme.clients.terms import terms_of
from psychemme.config import Effective, Settings
from psychemme.errors import RunError
from psychemme.items import Proposal
from psychemme.vocabulary import AgentRole, CandidateState
from state.clips import ClipStore
from state.runs import RunStore
from state.values import LedgerCall, Material, RunRecord

ROUND_SHARES = (0.60, 0.25, 0.15)
"""Assumed shares of candidates with no, one and two refinements."""
ASSUMED_CALLS = sum((at + 1) * share for at, share in enumerate(ROUND_SHARES))
ASSUMED_OUTPUT = {AgentRole.QUESTION: 400, AgentRole.ANSWER: 200, AgentRole.CRITIC: 250}
ASSUMED_YIELD = 0.7
LEAST_EXPERIENCE = 10
"""Judged candidates with a model before its own record counts more than the assumptions."""


@dataclass(frozen=True)
class RoleEstimate:
    """What one role would take; `cost` in US dollars, None where the price is unknown."""

    role: AgentRole
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    is_measured: bool


@dataclass(frozen=True)
class Estimate:
    """What a run of `candidates` would take."""

    candidates: int
    roles: tuple[RoleEstimate, ...]

    @property
    def cost(self) -> float | None:
        """US dollars in all, None where a price is unknown."""
        known = [one.cost for one in self.roles if one.cost is not None]
        return sum(known) if len(known) == len(self.roles) else None

    @property
    def basis(self) -> str:
        """One sentence on where the numbers come from."""
        if all(one.is_measured for one in self.roles):
            return "Calls and reply lengths as in earlier runs with these models; no cached reply."
        shares = ", ".join(f"{share:.0%}" for share in ROUND_SHARES)
        return f"Assumed: {shares} of candidates take 0, 1, 2 refinements; no cached reply."


@dataclass(frozen=True)
class _Experience:
    """Calls a candidate, and tokens a reply, of one role."""

    calls: float
    output_tokens: float
    is_measured: bool


def estimate(
    workspace: Workspace, effective: Effective, count: int | None, resume: bool
) -> Estimate:
    """Return what `generate` with the same options would take; stores nothing.

    Raises RunError where nothing is prepared or there is no run to resume, ConfigError where a
    role has no model.
    """
    with RunStore(workspace.database) as runs, ClipStore(workspace.database) as clips:
        earlier = newest_run(runs) if resume else None
        settings = settings_of(effective, earlier)
        plan = plan_of(settings, earlier)
        episodes = clips.episodes(earlier.preparation if earlier else None)
        if not episodes:
            raise RunError("No episode is prepared.", "Run `psychemme prepare` first.")
        clip_of = {clip.id: clip for clip in clips.clips()}
        facts = [as_facts(episode, clip_of[episode.clip_id]) for episode in episodes]
        candidates = _candidates(runs, plan, count, earlier)
        picks = pick_batch(plan, plan.scaled(count), facts, (), 0, settings.seed)
        experience = _experience(runs, models_of(settings))
    prompts = drafts(picks, {episode.id: episode for episode in episodes})
    roles = _roles(candidates, prompts, experience, settings, load_cards(workspace.root))
    return Estimate(candidates, roles)


def _candidates(runs: RunStore, plan: Plan, count: int | None, earlier: RunRecord | None) -> int:
    """Return how many candidates are still to be worked on."""
    if earlier is None:
        wanted = count
        settled = accepted = 0
    else:
        outcomes = runs.outcomes(earlier.ordinal)
        wanted = earlier.count
        settled = sum(o.state is not CandidateState.PENDING for o in outcomes)
        accepted = sum(o.state is CandidateState.ACCEPTED for o in outcomes)
    if wanted is not None:
        return max(0, wanted - settled)
    return max(0, round((sum(target.count for target in plan.scaled()) - accepted) / ASSUMED_YIELD))


def _experience(runs: RunStore, models: Mapping[AgentRole, str]) -> dict[AgentRole, _Experience]:
    judged = {
        o.target.key
        for o in runs.outcomes()
        if o.state not in (CandidateState.PENDING, CandidateState.FAILED)
    }
    calls = [call for call in runs.ledger() if call.candidate_key in judged]
    return {
        role: _of_role(role, [c for c in calls if c.role == role and c.model == model])
        for role, model in models.items()
    }


def _of_role(role: AgentRole, calls: Sequence[LedgerCall]) -> _Experience:
    paid = [call.output_tokens for call in calls if not call.cached]
    candidates = len({call.candidate_key for call in calls})
    if candidates < LEAST_EXPERIENCE or not paid:
        return _Experience(ASSUMED_CALLS, ASSUMED_OUTPUT[role], is_measured=False)
    return _Experience(len(calls) / candidates, fmean(paid), is_measured=True)


def _roles(
    candidates: int,
    prompts: Mapping[AgentRole, Sequence[tuple[Inputs, Material]]],
    experience: Mapping[AgentRole, _Experience],
    settings: Settings,
    cards: Cards,
) -> tuple[RoleEstimate, ...]:
    found = []
    for role, model in models_of(settings).items():
        card, known = cards.card_for(model), experience[role]
        sizes = [input_tokens(_request(role, *draft, card)) for draft in prompts[role]]
        calls = round(candidates * known.calls)
        tokens_in = round(calls * fmean(sizes)) if sizes else 0
        tokens_out = round(calls * known.output_tokens)
        price = terms_of(model, settings, cards).price
        cost = price.of(tokens_in, tokens_out) if price else None
        found.append(
            RoleEstimate(role, model, calls, tokens_in, tokens_out, cost, known.is_measured)
        )
    return tuple(found)


def _request(role: AgentRole, inputs: Inputs, material: Material, card: ModelCard) -> Request:
    prompt = render(role, inputs)
    images = len(material.frames) if card.images.most is None else card.images.most
    kinds = ["video"] if card.native_video else ["image"] * min(images, len(material.frames))
    kinds += ["audio"] if card.native_audio else []
    return Request(
        role=role,
        prompt_id=prompt.prompt_id,
        prompt_hash=prompt.hash,
        system=prompt.system,
        user=prompt.user,
        inputs=inputs,
        reply_schema=Proposal,
        media=tuple(MediaPart(kind, "", "", Path()) for kind in kinds),  # type: ignore[arg-type]
    )
