"""The reviewer's pages: what each template is given, and nothing that it must not show.

Every text from the database is untrusted: the templates escape it, and the scripts write text only.
Options appear in the reviewer's own order under the letters A, B, ...; before the reviewer's own
answer is committed there is no `Revealed`, so that nothing of it can be shown.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment

from construction.presentation import present
from construction.review.rules import (
    ENOUGH_WATCHED,
    LONGEST_COMMENT,
    OTHER,
    differs,
    reasons_for,
)
from psychemme.answers import option_set
from psychemme.canonical import canonical_json
from psychemme.items import Answer
from psychemme.pages import page_templates
from psychemme.vocabulary import Format, VoteKind
from psychology_kb.cards import KnowledgeBase, Reason, ReviewForm, Verdict
from state.review_values import BlindItem, OwnWork, Revealed, ReviewEpisode

STATIC = Path(__file__).parent / "static"
"""Scripts and styles of the pages, served under /static."""
_TEMPLATES = Path(__file__).parent / "templates"


class WorkState(StrEnum):
    """Where a reviewer stands with an item."""

    OPEN = "open"
    ANSWERED = "answered"
    JUDGED = "judged"
    SKIPPED = "skipped"
    CLOSED = "closed"


@dataclass(frozen=True)
class Place:
    """An item in the reviewer's own list, numbered from 1."""

    number: int
    work: OwnWork

    @property
    def url(self) -> str:
        """The item's page."""
        return item_url(self.work.item)

    @property
    def state(self) -> WorkState:
        """Where the reviewer stands with it."""
        return state_of(self.work)


@dataclass(frozen=True)
class OwnList:
    """The reviewer's items in the reviewer's own order; it counts nobody else's."""

    places: tuple[Place, ...]

    @property
    def done(self) -> int:
        """How many need nothing more from the reviewer."""
        return sum(place.state not in _TO_DO for place in self.places)

    def number_of(self, item: BlindItem) -> int:
        """Return the number of an item, 0 where it is not in the list."""
        url = item_url(item)
        return next((place.number for place in self.places if place.url == url), 0)

    def next_after(self, number: int = 0) -> Place | None:
        """Return the first item with work left after the one at `number`, else before it."""
        ahead = [*self.places[number:], *self.places[:number]]
        left = (p for p in ahead if p.state in _TO_DO and p.number != number)
        return next(left, None)


_TO_DO = (WorkState.OPEN, WorkState.ANSWERED)


@dataclass(frozen=True)
class VerdictGroup:
    """One verdict as the page asks it, with the reasons that fit the capability."""

    question: Verdict
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class ShownOption:
    """An option under its shown letter; `mine` and `keyed` are False before the answer."""

    letter: str
    text: str
    mine: bool
    keyed: bool


def item_url(item: BlindItem) -> str:
    """Return the address of an item's page."""
    return f"/items/{quote(item.candidate_key, safe='')}/{item.version}"


def state_of(work: OwnWork) -> WorkState:
    """Return where a reviewer stands with an item; a skip outranks its closing, which the rest."""
    if work.vote is not None and work.vote.kind is VoteKind.SKIP:
        return WorkState.SKIPPED
    if work.item.is_closed:
        return WorkState.CLOSED
    if work.vote is not None:
        return WorkState.JUDGED
    return WorkState.OPEN if work.answer is None else WorkState.ANSWERED


def own_list(queue: Sequence[OwnWork]) -> OwnList:
    """Return the reviewer's queue as a numbered list, without what closed before any act on it."""
    kept = [work for work in queue if work.answer or work.vote or not work.item.is_closed]
    return OwnList(tuple(Place(n, work) for n, work in enumerate(kept, start=1)))


def home_page(queue: Sequence[OwnWork], reviewer: str, name: str, csrf: str) -> str:
    """Return the page with a reviewer's own list; `reviewer` is the id, `name` is greeted."""
    facts = canonical_json({"reviewer": reviewer})
    return _render("home.html", own=own_list(queue), name=name, csrf=csrf, facts=facts)


def enter_page(token: str, is_curator: bool = False) -> str:
    """Return the page whose button signs in with an invite link's token."""
    return _render("enter.html", token=token, is_curator=is_curator)


def error_page(status: int, problem: str, action: str, faults: Sequence[str] = ()) -> str:
    """Return a page that says what went wrong and what to do."""
    return _render("error.html", status=status, problem=problem, action=action, faults=faults)


def review_page(
    work: OwnWork,
    episode: ReviewEpisode,
    revealed: Revealed | None,
    form: ReviewForm,
    taxonomy: KnowledgeBase,
    options_order: Sequence[int],
    queue: Sequence[OwnWork],
    reviewer: str,
    csrf: str,
) -> str:
    """Return an item's page: its first step without `revealed`, its second with it.

    `options_order` holds the positions of the options in the order shown (`presentation_order`);
    `queue` is the reviewer's own, for progress and the way on. Raises ValueError where something
    is revealed to a reviewer without a committed answer.
    """
    if revealed is not None and work.answer is None:
        raise ValueError("nothing is revealed before the reviewer's own answer")
    own = own_list(queue)
    number = own.number_of(work.item)
    ahead = own.next_after(number)
    facts = _facts(work, episode, revealed, options_order) | {
        "reviewer": reviewer,
        "number": number,
        "ahead": ahead.url if ahead else "/",
    }
    return _render(
        "review.html",
        own=own,
        number=number,
        ahead=ahead,
        work=work,
        item=work.item,
        state=state_of(work),
        episode=episode,
        options=_shown(work, revealed, options_order),
        csrf=csrf,
        facts=canonical_json(facts),
        skips={skip.id: skip.text for skip in form.skip_reasons},
        longest=LONGEST_COMMENT,
        enough=ENOUGH_WATCHED,
        other=OTHER,
        **_second_step(work, revealed, form, taxonomy),
    )


def _second_step(
    work: OwnWork, revealed: Revealed | None, form: ReviewForm, taxonomy: KnowledgeBase
) -> dict[str, Any]:
    if revealed is None or work.answer is None:
        return {"revealed": None}
    card = taxonomy.card(revealed.capability)
    named = {subcategory.id: subcategory for subcategory in card.subcategories}
    return {
        "revealed": revealed,
        "card": card,
        "capabilities": taxonomy.capabilities,
        "subcategory": named.get(revealed.subcategory),
        "differs": differs(work.item, revealed, work.answer),
        "groups": [VerdictGroup(v, reasons_for(v, revealed.capability)) for v in form.verdicts],
    }


def _shown(
    work: OwnWork, revealed: Revealed | None, order: Sequence[int]
) -> tuple[ShownOption, ...]:
    item = work.item
    mine = option_set(work.answer.answer) if work.answer and item.format.is_choice else frozenset()
    keyed = option_set(revealed.answer) if revealed and item.format.is_choice else frozenset()
    own_ids = [item.options[position].id for position in order]
    return tuple(
        ShownOption(option.id, option.text, own_id in mine, own_id in keyed)
        for option, own_id in zip(present(item.options, order), own_ids, strict=True)
    )


def _facts(
    work: OwnWork,
    episode: ReviewEpisode,
    revealed: Revealed | None,
    order: Sequence[int],
) -> dict[str, Any]:
    """Return what the scripts need and the markup does not hold."""
    item = work.item
    return {
        "place": f"{item.candidate_key}/{item.version}",
        "api": f"/api{item_url(item)}",
        "step": 1 if revealed is None else 2,
        "state": state_of(work),
        "format": item.format,
        "duration": episode.duration,
        "decision": item.decision_time,
        "answer": _letters(work, order),
        "watched": max((act.watched for act in (work.answer, work.vote) if act), default=0.0),
        "differs": bool(revealed and work.answer and differs(item, revealed, work.answer)),
        "vote": _vote(work),
        "revision": work.revision,
        "draft": work.draft_json,
        "enough": ENOUGH_WATCHED,
        "longest": LONGEST_COMMENT,
        "other": OTHER,
    }


def _vote(work: OwnWork) -> dict[str, Any] | None:
    if work.vote is None or work.vote.kind is not VoteKind.VERDICT:
        return None
    kept = {"verdicts", "reasons", "comment", "seconds", "watched", "revision"}
    return work.vote.model_dump(mode="json", include=kept)


def _letters(work: OwnWork, order: Sequence[int]) -> Answer | None:
    """Return the committed answer in the letters that the reviewer saw."""
    item = work.item
    if work.answer is None or item.format is Format.OPEN:
        return None if work.answer is None else work.answer.answer
    letters = dict(zip((item.options[p].id for p in order), string.ascii_uppercase, strict=False))
    return sorted(letters[chosen] for chosen in option_set(work.answer.answer))


@cache
def _environment() -> Environment:
    environment = page_templates(_TEMPLATES)
    environment.filters["seconds"] = lambda value: f"{value:.1f}"
    environment.filters["about"] = lambda value: f"{value:.0f}"
    return environment


def _render(template: str, **context: object) -> str:
    return _environment().get_template(template).render(context)
