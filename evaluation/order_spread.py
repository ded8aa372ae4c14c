"""How much the order of options alone moves a model's raw accuracy on choice items.

Every order counts alike; a failure the model is to blame for is a wrong answer in its order. Like
all strata, scopes are micro averages. Open items have no options and take no part.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from evaluation.exports import read_responses, shown_order
from evaluation.manifest import order_folders, read_manifest, refuse_other_release, release_of
from evaluation.option_orders import Order, as_shown
from evaluation.responses import Response
from evaluation.score import choice_credit
from evaluation.scoring import ScoringError
from evaluation.store import RunStore
from psychemme.answers import option_set
from psychemme.episode import Value
from psychemme.release.read import Release
from psychemme.release.rows import ReferenceRow
from psychemme.vocabulary import Capability


class Spread(Value):
    """Raw accuracy of `n` items over orders, as fractions; None where it is undefined.

    `sd` is the sample standard deviation of the orders' accuracies, `flips` the share of items
    right in some orders and wrong in others.
    """

    n: int
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    sd: float | None = None
    flips: float | None = None


class Position(Value):
    """Shares of the options chosen, and of the right ones, that stood at one position (0 to 1)."""

    answers: float
    references: float


class OrderSpread(Value):
    """A run's spread over `orders` option orders, the release's own among them.

    `open_items` were asked once only. `unscored` items have no scored response in some order, and
    leave undefined what they are part of. `positions` are by letter shown, over the responses that
    hold an answer.
    """

    name: str
    orders: int
    open_items: int
    unscored: int
    overall: Spread
    capabilities: Mapping[Capability, Spread]
    positions: Mapping[str, Position]


@dataclass(frozen=True)
class Shown:
    """A response to a choice item, and the order its options were shown in; () when unanswered."""

    response: Response
    order: Order


def spread_of_folder(folder: Path, given: Path | None = None) -> OrderSpread | None:
    """Return the spread of the run at `folder`, None where it has one option order only.

    The release is at `given` or where the run found it. Raises ReleaseError where it is not the
    run's, or lacks its private part.
    """
    folders = order_folders(folder)
    if len(folders) < 2:
        return None
    first = read_manifest(folder)
    release = release_of(first, given)
    return spread_of(
        f"{first.model} ({first.condition})",
        release,
        [_read(each, release) for each in folders],
        sum(not release.questions[name].format.is_choice for name in first.items),
    )


def spread_of(
    name: str, release: Release, orders: Sequence[Mapping[str, Shown]], open_items: int = 0
) -> OrderSpread:
    """Return the spread of responses to the same choice items, by item id for each order."""
    references = release.references()
    questions = {item: release.questions[item] for item in orders[0]}
    credit = {
        item: [choice_credit(row, references[item], order[item].response) for order in orders]
        for item, row in questions.items()
    }
    by_capability = {
        capability: [
            credit[item] for item, row in questions.items() if row.capability is capability
        ]
        for capability in release.manifest.capabilities
    }
    return OrderSpread(
        name=name,
        orders=len(orders),
        open_items=open_items,
        unscored=sum(None in found for found in credit.values()),
        overall=_spread(list(credit.values())),
        capabilities={c: _spread(found) for c, found in by_capability.items()},
        positions=_positions(release, references, orders),
    )


def refuse_unasked(spreads: Iterable[OrderSpread | None]) -> None:
    """Raise ScoringError with the count where an order lacks scored responses."""
    for spread in spreads:
        if spread and spread.unscored:
            raise ScoringError(
                f"{spread.name}: {spread.unscored} items have no scored response in one of "
                f"{spread.orders} option orders.",
                f"Run `evaluate` again with --permute {spread.orders} --resume, or add "
                "--allow-unscored.",
            )


def spread_json(spread: OrderSpread | None) -> dict[str, Any]:
    """Return what `score --json` adds to a run that has one: its spread in percent."""
    if spread is None:
        return {}
    shown = {
        "orders": spread.orders,
        "open_items": spread.open_items,
        "unscored": spread.unscored,
        **_in_percent(spread.overall),
        "capabilities": {str(c): _in_percent(one) for c, one in spread.capabilities.items()},
        "positions": {name: _in_percent(one) for name, one in spread.positions.items()},
    }
    return {"option_orders": shown}


def _in_percent(value: Spread | Position) -> dict[str, Any]:
    return {
        name: 100 * each if isinstance(each, float) else each
        for name, each in value.model_dump().items()
    }


def _read(folder: Path, release: Release) -> dict[str, Shown]:
    manifest = read_manifest(folder, any_order=True)
    refuse_other_release(manifest, release)
    with RunStore(folder, for_reading=True) as store:
        responses, rows = read_responses(manifest, release, store), store.responses()
    asked = {name: release.questions[name] for name in responses}
    return {
        name: Shown(responses[name], shown_order(rows[name], question) if name in rows else ())
        for name, question in asked.items()
        if question.format.is_choice
    }


def _spread(credit: Sequence[Sequence[float | None]]) -> Spread:
    """Return the spread of items' credit (n, orders)."""
    known = [[each for each in found if each is not None] for found in credit]
    if not credit or any(len(a) < len(b) for a, b in zip(known, credit, strict=True)):
        return Spread(n=len(credit))
    accuracies = [fmean(order) for order in zip(*known, strict=True)]
    return Spread(
        n=len(known),
        mean=fmean(accuracies),
        min=min(accuracies),
        max=max(accuracies),
        sd=stdev(accuracies),
        flips=fmean(len(set(found)) > 1 for found in known),
    )


def _positions(
    release: Release,
    references: Mapping[str, ReferenceRow],
    orders: Sequence[Mapping[str, Shown]],
) -> dict[str, Position]:
    chosen, right = Counter[str](), Counter[str]()
    for name, one in (pair for order in orders for pair in order.items()):
        if one.response.answer is not None:
            for counts, answer in ((chosen, one.response.answer), (right, references[name].answer)):
                shown = as_shown(answer, release.questions[name], one.order)
                counts.update(option_set(shown))
    return {
        letter: Position(
            answers=chosen[letter] / chosen.total(), references=right[letter] / right.total()
        )
        for letter in sorted(chosen.keys() | right.keys())
    }
