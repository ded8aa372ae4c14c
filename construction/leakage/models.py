"""Which models are asked for what, and which are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from construction.endpoints import K, Spending
from construction.leakage.decision import MODELS
from construction.leakage.probes import FOOTAGE, Probe
from psychemme.clients.cards import Cards, EndpointKind
from psychemme.clients.terms import refuse_unknown_prices
from psychemme.config import Settings
from psychemme.errors import ConfigError
from state.leakage import GateRunRecord

_NAME_TWO = "Name two different ones with --models A,B; `psychemme models list` shows cards."
SEPARATOR = ","


@dataclass(frozen=True)
class Wanted:
    """What to do: filter with two `models`, and more where it is named.

    `judge` judges open answers; `hold_out` never filters and measures what the filter achieved;
    `more` asks the two models by options alone and by the transcript too; `cues` is a model that
    answers with frames, with and without the cues' windows. Only candidates of `run`, or of all.
    """

    models: tuple[str, ...]
    judge: str | None = None
    hold_out: str | None = None
    more: bool = False
    cues: str | None = None
    run: int | None = None

    def asked(self) -> tuple[str, ...]:
        """Return every model that answers."""
        named = (*self.models, self.hold_out, self.cues)
        return tuple(dict.fromkeys(model for model in named if model))

    def probes(self) -> list[tuple[Probe, str]]:
        """Return the probes beside the filter's own trials, each of one trial an item."""
        more = (Probe.QUESTION, Probe.OPTIONS, Probe.TRANSCRIPT) if self.more else ()
        found = [(probe, model) for probe in more for model in self.models]
        if self.hold_out:
            found.append((Probe.QUESTION, self.hold_out))
        if self.cues:
            found.extend((probe, self.cues) for probe in FOOTAGE)
        return found


def refuse_models(wanted: Wanted, cards: Cards, earlier: Sequence[GateRunRecord]) -> None:
    """Raise ConfigError where the filter's models are not two, or the hold-out has filtered."""
    names = wanted.models
    if len(names) != MODELS:
        raise ConfigError(f"The filter takes two models, and {len(names)} are named.", _NAME_TWO)
    for name in wanted.asked():
        if cards.card_for(name).endpoint is EndpointKind.SIGNAL or SEPARATOR in name:
            raise ConfigError(f"{name!r} is no language model's name.", _NAME_TWO)
    one, other = (cards.card_for(name) for name in names)
    if one.name.casefold() == other.name.casefold():
        raise ConfigError(f"{names[0]!r} and {names[1]!r} are one model.", _NAME_TWO)
    filters = [*names, *(name for run in earlier for name in run.pins["models"].split(SEPARATOR))]
    if wanted.hold_out and _same(cards, wanted.hold_out, filters):
        raise ConfigError(
            f"{wanted.hold_out!r} has filtered: it cannot measure what the filter achieved.",
            "Name a model with --hold-out that never was one of --models here.",
        )


def refuse_budget(
    models: Mapping[K, str], settings: Settings, cards: Cards, spending: Spending
) -> None:
    """Raise ConfigError where no budget can be kept: a price, or what was spent, is unknown."""
    if spending.budget is None:
        return
    refuse_unknown_prices(models.values(), settings, cards)
    if spending.spent is None:
        raise ConfigError(
            "What earlier calls here cost is unknown, so that no budget can be kept.",
            "Leave out --budget.",
        )


def kinship(models: Sequence[str], agents: Mapping[str, str], cards: Cards) -> tuple[str, ...]:
    """Return a sentence for each filter model that is an agent of a run, or of its family.

    `agents` are the runs' models by role.
    """
    found = []
    for name in models:
        card = cards.card_for(name)
        own = sorted(role for role, model in agents.items() if _same(cards, model, [name]))
        if own:
            found.append(f"{name} filters and is also an agent: {', '.join(own)}.")
            continue
        kin = sorted(
            model
            for model in set(agents.values())
            if card.family != "unknown" and cards.card_for(model).family == card.family
        )
        if kin:
            found.append(f"{name} filters and is of the family of {', '.join(kin)}.")
    return tuple(found)


def _same(cards: Cards, name: str, others: Sequence[str]) -> bool:
    own = cards.card_for(name).name.casefold()
    return any(cards.card_for(other).name.casefold() == own for other in others)
