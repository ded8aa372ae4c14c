"""What the filter would cost, before it is started: at most, and where its models only guess."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from construction.leakage.asking import Manner, Trials
from construction.leakage.decision import TRIALS, Decision, chance, expected_trials
from construction.leakage.filtering import gated_items, manner_of, schedule, standing
from construction.leakage.items import GATE, LeakageItem
from construction.leakage.models import Wanted, refuse_models
from construction.leakage.probes import FOOTAGE, Probe, view
from construction.workspace import Workspace
from psychemme.clients.cards import Cards, load_cards
from psychemme.clients.size import TOKENS_PER_AUDIO_SECOND, TOKENS_PER_IMAGE, input_tokens
from psychemme.clients.terms import terms_of
from psychemme.config import Effective, Settings
from state.leakage import LeakageStore

ASSUMED_OUTPUT = 60
"""Tokens of a reply, where nothing bounds it."""


@dataclass
class ModelEstimate:
    """What one model would take; costs in US dollars, None where its price is unknown.

    `calls` is a bound that no run passes, and `input_tokens` and `cost` go with it, at replies of
    the longest length allowed; `expected` ends early as often as guessing does, at short replies.
    """

    model: str
    calls: int = 0
    expected: Fraction = field(default_factory=Fraction)
    input_tokens: int = 0
    cost: float | None = None
    expected_cost: float | None = None


@dataclass(frozen=True)
class LeakageEstimate:
    """What all models would take for so many items; `spent` is what they have cost so far."""

    items: int
    models: tuple[ModelEstimate, ...]
    spent: float | None = 0.0

    @property
    def calls(self) -> int:
        """A bound on the calls of all models."""
        return sum(one.calls for one in self.models)

    @property
    def expected(self) -> float:
        """The calls of all models where they only guess."""
        return float(sum((one.expected for one in self.models), Fraction(0)))

    @property
    def cost(self) -> float | None:
        """A bound on the US dollars of all models, None where a price is unknown."""
        return total(one.cost for one in self.models)

    @property
    def expected_cost(self) -> float | None:
        """US dollars where the models only guess, None where a price is unknown."""
        return total(one.expected_cost for one in self.models)


def total(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs, None where one of them is unknown."""
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return sum(known) if len(known) == len(found) else None


def estimate_leakage(workspace: Workspace, effective: Effective, wanted: Wanted) -> LeakageEstimate:
    """Return what the trials that are missing would take; asks and stores nothing.

    Raises as `filtering` does.
    """
    settings, cards = effective.settings, load_cards(workspace.root)
    with LeakageStore(workspace.database) as store:
        refuse_models(wanted, cards, store.runs(GATE))
        trials = Trials(store.calls())
    items, _ = gated_items(workspace, effective, wanted.run)
    manner = manner_of(workspace, settings, wanted, cards)
    shares: dict[str, ModelEstimate] = {}
    tokens: dict[str, list[tuple[int, Fraction, int]]] = defaultdict(list)
    for item in items:
        for model, calls, expected, size in _needs(item, wanted, manner, trials):
            tokens[model].append((calls, expected, size))
    for model, needs in tokens.items():
        shares[model] = _share(model, needs, settings, cards)
    return LeakageEstimate(len(items), tuple(shares[name] for name in sorted(shares)), trials.cost)


Need = tuple[str, int, Fraction, int]
"""A model, its calls at most and expected, and the tokens of each."""


def _needs(item: LeakageItem, wanted: Wanted, manner: Manner, trials: Trials) -> list[Need]:
    if not item.format.is_choice and wanted.judge is None:
        return []
    found = _filter_needs(item, wanted, manner, trials)
    counted = {(model, number) for model, number, *_ in found}
    needs = [(model, 1, expected, size) for model, _, expected, size in found]
    for probe, model in wanted.probes():
        place = manner.place(item, probe, model, 0)
        is_counted = probe is Probe.QUESTION and (model, 0) in counted
        if view(item, probe) is None or trials.newest(place, item) is not None:
            continue
        # A trial that the filter may make as well is made once, and for the probe in any case.
        if is_counted:
            needs = _certain(needs, model)
        else:
            needs.append((model, 1, Fraction(1), _size(item, probe, model, manner)))
    if not item.format.is_choice and wanted.judge is not None:
        calls, expected = len(needs), sum((n[2] for n in needs), Fraction(0))
        # What is judged is taken to be as long as the reference.
        place = manner.place(item, Probe.QUESTION, wanted.judge, 0)
        size = input_tokens(manner.judgement(item, place, str(item.answer)))
        needs.append((wanted.judge, calls, expected, size))
    return needs


def _certain(needs: Sequence[Need], model: str) -> list[Need]:
    first = next(at for at, need in enumerate(needs) if need[0] == model)
    return [
        (name, calls, Fraction(1) if at == first else expected, size)
        for at, (name, calls, expected, size) in enumerate(needs)
    ]


def _filter_needs(
    item: LeakageItem, wanted: Wanted, manner: Manner, trials: Trials
) -> list[tuple[str, int, Fraction, int]]:
    """Return model, trial, expected calls and tokens of each of the filter's trials still open."""
    verdict = standing(item, wanted.models, manner, trials)
    order = schedule(wanted.models)
    held = {
        (model, number): trials.newest(manner.place(item, Probe.QUESTION, model, number), item)
        for model, number in order
    }
    if verdict.decision is Decision.UNDECIDED:
        again = [place for place, trial in held.items() if trial is None or trial.credit is None]
        size = _size(item, Probe.QUESTION, wanted.models[0], manner)
        return [(model, number, Fraction(1), size) for model, number in again]
    if verdict.decision is not None:
        return []
    left = [place for place in order[verdict.asked :] if held[place] is None]
    luck = chance(item.format, len(item.options))
    most = TRIALS - verdict.asked
    guessed = (
        Fraction(most)
        if luck is None
        else expected_trials(luck, verdict.needed, verdict.right, most)
    )
    each = min(Fraction(1), guessed / len(left)) if left else Fraction(0)
    # An order of options changes the length of a prompt by nothing that matters.
    size = _size(item, Probe.QUESTION, wanted.models[0], manner)
    return [(model, number, each, size) for model, number in left]


def _size(item: LeakageItem, probe: Probe, model: str, manner: Manner) -> int:
    shown = view(item, probe)
    if shown is None:
        return 0
    request = manner.request(item, manner.place(item, probe, model, 0), shown)
    images = len(shown.frames) * TOKENS_PER_IMAGE if probe in FOOTAGE else 0
    seconds = item.material.episode.duration if manner.hears(probe, model) else 0.0
    return input_tokens(request) + images + round(seconds * TOKENS_PER_AUDIO_SECOND)


def _share(
    model: str, needs: Sequence[tuple[int, Fraction, int]], settings: Settings, cards: Cards
) -> ModelEstimate:
    share = ModelEstimate(
        model,
        calls=sum(calls for calls, _, _ in needs),
        expected=sum((expected for _, expected, _ in needs), Fraction(0)),
        input_tokens=sum(calls * size for calls, _, size in needs),
    )
    if (price := terms_of(model, settings, cards).price) is not None:
        guessed = round(float(sum((e * size for _, e, size in needs), Fraction(0))))
        replies = round(float(share.expected) * ASSUMED_OUTPUT)
        share.cost = price.of(share.input_tokens, share.calls * settings.max_output_tokens)
        share.expected_cost = price.of(guessed, replies)
    return share
