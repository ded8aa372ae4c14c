"""What the filter found: the composition before and after, and what models find without footage."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from construction.audits.results import share
from construction.audits.values import Share
from construction.leakage.asking import Manner, Trials
from construction.leakage.decision import Decision, chance, removed_by_guessing
from construction.leakage.filtering import Verdict, gated_items, manner_of, standing
from construction.leakage.items import GATE, LeakageItem
from construction.leakage.models import SEPARATOR, Wanted, kinship
from construction.leakage.probes import FOOTAGE, Probe
from construction.workspace import Workspace
from psychemme.clients.cards import load_cards
from psychemme.config import Effective
from psychemme.episode import Value
from psychemme.errors import RunError
from psychemme.vocabulary import Capability, Format
from state.leakage import LeakageStore
from state.runs import RunStore

ALL, KEPT, REMOVED = "all", "kept", "removed"
_UNSEEN = (
    "No trial is stored under the present prompt, decoding, judge and shuffle key: "
    "filter again, or restore them."
)


class CompositionRow(Value):
    """The items of a kind: all of them, and those that leak, by what became of them.

    `expected` is how many would leak by guessing alone, None where open items have no chance.
    """

    capability: Capability
    format: Format
    before: int
    leaking: int
    undecided: int
    not_run: int
    expected: float | None

    @property
    def after(self) -> int:
        """The items without those that leak."""
        return self.before - self.leaking


class ProbeRow(Value):
    """How often a model was right on its first trial of each item of a group.

    `group` is a capability, `all`, or `kept` and `removed` by the filter. `share.expected` is the
    mean chance of a guess, which open items have none of, None where all are open. `failed` trials,
    which nobody could read, are among those not right.
    """

    probe: Probe
    model: str
    group: str
    share: Share
    failed: int


class LeakageReport(Value):
    """The whole of it. `expected` is the number of choice items that guessing would remove."""

    models: tuple[str, ...]
    hold_out: str | None
    items: int
    leaking: int
    passing: int
    undecided: int
    not_run: int
    expected: float
    trials: int
    failed: int
    composition: tuple[CompositionRow, ...]
    probes: tuple[ProbeRow, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def leaks(self) -> tuple[Verdict, ...]:
        """The verdicts on the items that leak."""
        return tuple(one for one in self.verdicts if one.decision is Decision.LEAKS)


def report_of(
    items: Sequence[LeakageItem],
    wanted: Wanted,
    manner: Manner,
    trials: Trials,
    notes: Iterable[str] = (),
) -> LeakageReport:
    """Return what the stored trials say of `items`."""
    found = [standing(item, wanted.models, manner, trials) for item in items]
    decided = [verdict.decision for verdict in found]
    return LeakageReport(
        models=wanted.models,
        hold_out=wanted.hold_out,
        items=len(items),
        leaking=decided.count(Decision.LEAKS),
        passing=decided.count(Decision.PASSES),
        undecided=decided.count(Decision.UNDECIDED),
        not_run=decided.count(None),
        expected=float(_expected(items)),
        trials=sum(verdict.asked for verdict in found),
        failed=sum(verdict.failed for verdict in found),
        composition=_composition(items, found),
        probes=_probes(items, found, wanted, manner, trials),
        verdicts=tuple(found),
        notes=tuple(notes),
    )


def _expected(items: Iterable[LeakageItem]) -> Fraction:
    rates = (removed_by_guessing(item.format, len(item.options)) for item in items)
    return sum((rate for rate in rates if rate is not None), Fraction(0))


def _composition(
    items: Sequence[LeakageItem], found: Sequence[Verdict]
) -> tuple[CompositionRow, ...]:
    kinds: dict[tuple[Capability, Format], list[tuple[LeakageItem, Verdict]]] = {}
    for item, verdict in zip(items, found, strict=True):
        kinds.setdefault((item.capability, item.format), []).append((item, verdict))
    order = [(capability, form) for capability in Capability for form in Format]
    return tuple(_row(*kind, kinds[kind]) for kind in order if kind in kinds)


def _row(
    capability: Capability, form: Format, held: Sequence[tuple[LeakageItem, Verdict]]
) -> CompositionRow:
    decided = [verdict.decision for _, verdict in held]
    expected = float(_expected(item for item, _ in held)) if form.is_choice else None
    return CompositionRow(
        capability=capability,
        format=form,
        before=len(held),
        leaking=decided.count(Decision.LEAKS),
        undecided=decided.count(Decision.UNDECIDED),
        not_run=decided.count(None),
        expected=expected,
    )


def _probes(
    items: Sequence[LeakageItem],
    found: Sequence[Verdict],
    wanted: Wanted,
    manner: Manner,
    trials: Trials,
) -> tuple[ProbeRow, ...]:
    groups: dict[str, list[LeakageItem]] = {ALL: list(items)}
    for capability in Capability:
        if held := [item for item in items if item.capability is capability]:
            groups[capability] = held
    parts = dict[str, list[LeakageItem]]()
    for item, verdict in zip(items, found, strict=True):
        if verdict.decision is not None and verdict.decision is not Decision.UNDECIDED:
            part = REMOVED if verdict.decision is Decision.LEAKS else KEPT
            parts.setdefault(part, []).append(item)
    rows = []
    for probe, model in wanted.probes():
        # What the filter's own models find of what they filtered says nothing about the filter.
        is_fair = model == wanted.hold_out or probe in FOOTAGE
        shown: Mapping[str, list[LeakageItem]] = groups | (parts if is_fair else {})
        for group, held in shown.items():
            row = _accuracy(held, probe, model, group, manner, trials)
            if row is not None:
                rows.append(row)
    return tuple(rows)


def _accuracy(
    items: Sequence[LeakageItem],
    probe: Probe,
    model: str,
    group: str,
    manner: Manner,
    trials: Trials,
) -> ProbeRow | None:
    pairs = [(item, trials.newest(manner.place(item, probe, model, 0), item)) for item in items]
    asked = [(item, trial) for item, trial in pairs if trial is not None]
    if not asked:
        return None
    luck = [chance(item.format, len(item.options)) for item, _ in asked]
    known = [one for one in luck if one is not None]
    return ProbeRow(
        probe=probe,
        model=model,
        group=group,
        share=share(
            sum(trial.is_right for _, trial in asked),
            len(asked),
            float(sum(known, Fraction(0)) / len(luck)) if known else None,
        ),
        failed=sum(trial.credit is None for _, trial in asked),
    )


def read_report(
    workspace: Workspace, effective: Effective, wanted: Wanted | None = None
) -> LeakageReport:
    """Return what is stored of a filter, by default of the newest; nothing is asked.

    Raises RunError where no filter was ever run or there is no item.
    """
    cards = load_cards(workspace.root)
    with LeakageStore(workspace.database) as store:
        wanted = wanted or newest(store)
        trials = Trials(store.calls())
    items, _ = gated_items(workspace, effective, wanted.run)
    manner = manner_of(workspace, effective.settings, wanted, cards)
    with RunStore(workspace.database) as runs:
        made_by = {item.run for item in items}
        agents = {
            f"{role} of run {run.ordinal}": model
            for run in runs.runs()
            if run.ordinal in made_by
            for role, model in run.models.items()
        }
    report = report_of(items, wanted, manner, trials, kinship(wanted.models, agents, cards))
    if report.trials:
        return report
    return report.model_copy(update={"notes": (*report.notes, _UNSEEN)})


def newest(store: LeakageStore) -> Wanted:
    """Return what the newest run of the filter was told to do; raises RunError where none is."""
    runs = store.runs(GATE)
    if not runs:
        raise RunError(
            "The leakage filter was never run here.",
            "Name two models with --models A,B; --dry-run tells what they would cost.",
        )
    pins = runs[-1].pins
    return Wanted(
        models=tuple(pins["models"].split(SEPARATOR)),
        judge=pins.get("judge"),
        hold_out=pins.get("hold-out"),
        more=True,
        cues=pins.get("cues"),
    )
