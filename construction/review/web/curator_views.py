"""The curator's pages: what each template is given.

Everything from transcripts, models, files and reviewers is untrusted: the templates escape it.
These pages show references, votes and rationales, and are for curators only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader

from construction import report
from construction.review.desk import (
    Disagreement,
    ItemStatus,
    Stage,
    disagreements,
    set_statuses,
)
from construction.review.rules import ENOUGH_WATCHED, OTHER
from construction.review.unanimity import counted_votes
from construction.review.web.curator_clips import ClipsView
from construction.review.web.curator_diff import Change, changes
from construction.review.web.curator_edit import FormFault, Typed, with_spare_rows
from construction.review.web.curator_outcomes import ModelOutcomes
from construction.review.web.curator_timeline import make_timeline
from construction.review.workload import (
    RULES,
    Flag,
    Workload,
    most_watched,
    seconds_to_verdict,
    vote_flags,
)
from psychemme.answers import same_choice
from psychemme.items import Answer
from psychemme.pages import page_templates
from psychemme.vocabulary import (
    AgentRole,
    Approval,
    Capability,
    Closing,
    Format,
    Modality,
    SetKind,
    SkipReason,
    Step,
    Verdict,
    VoteKind,
)
from psychology_kb.load import KnowledgeBase, ReviewForm
from state.review import Place
from state.review_values import BlindAnswer, ReviewedVersion, SetRecord, Vote
from state.values import Dossier

PAGE_SIZE = 100
DONE: Mapping[str, str] = {
    "closed": "Complete items are closed.",
    "discussed": "The calibration set is marked as discussed: votes from now on do not count.",
    "assigned": "Items that lacked a reviewer are assigned, as far as reviewers are left.",
    "revoked": "The link and its sessions have ended; the votes stay.",
    "noted": "The note is added.",
    "decided": "The decision is kept. It takes effect with the next `screen` or `prepare`.",
    "edited": "This is the new version. The votes on the earlier one are void.",
}
"""What is said after a change, by the word in the address."""

_TEMPLATES = (Path(__file__).parent / "templates", Path(report.__file__).parent / "templates")


@dataclass(frozen=True)
class Frame:
    """What every page has: the session's CSRF token, the page's own address, what was done."""

    csrf: str
    here: str = "/curator"
    done: str = ""


@dataclass(frozen=True)
class Standing:
    """Where all of review stands."""

    sets: Mapping[str, SetRecord]
    statuses: Sequence[ItemStatus]


@dataclass(frozen=True)
class Wanted:
    """What the queue shows; an empty choice is everything but replaced versions."""

    of_set: str = ""
    stage: str = ""
    capability: str = ""
    format: str = ""
    page: int = 1

    def shows(self, status: ItemStatus) -> bool:
        """Whether a version fits every choice."""
        item, has = status.version.item, {self.stage, ""}
        return (
            self.of_set in ("", status.version.set_name)
            and (status.stage in has if self.stage else status.stage is not Stage.REPLACED)
            and self.capability in ("", item.revealed.capability)
            and self.format in ("", item.format)
        )

    def address(self, page: int) -> str:
        """Return the address of another page of the same choice."""
        chosen = {
            "set": self.of_set,
            "stage": self.stage,
            "capability": self.capability,
            "format": self.format,
            "page": page if page > 1 else "",
        }
        return "/curator/queue?" + urlencode({k: v for k, v in chosen.items() if v})


@dataclass(frozen=True)
class ReviewerRow:
    """All that one reviewer did with a version; `counts` is False for a verdict left out.

    `declined` says why the reviewer is never to judge it; `watched` is None where it is unknown.
    """

    reviewer: str
    is_unblinded: bool
    answer: BlindAnswer | None
    matches: bool | None
    vote: Vote | None
    counts: bool
    declined: SkipReason | None
    seconds: float | None
    watched: float | None
    flags: tuple[Flag, ...]
    revisions: tuple[Vote, ...]


@dataclass(frozen=True)
class ItemView:
    """A version with its siblings (by version), its candidate's dossier and models' outcomes."""

    status: ItemStatus
    of_set: SetRecord
    versions: Sequence[ReviewedVersion]
    dossier: Dossier
    outcomes: ModelOutcomes
    has_media: bool

    @property
    def fixed_because(self) -> str:
        """Why no new version may replace this one, empty where one may."""
        if self.status.version.closing is Closing.REPLACED:
            return "A newer version replaces this one."
        if self.of_set.discussed_at is not None:
            return "Its calibration set has been discussed: votes on a new version would not count."
        return ""


def overview_page(standing: Standing, workloads: Sequence[Workload], now: int, frame: Frame) -> str:
    """Return the overview: sets, reviewers and their flags."""
    return _render(
        "curator_overview.html",
        frame,
        sets=set_statuses(standing.statuses, standing.sets),
        workloads=workloads,
        differing=len(disagreements(standing.statuses, standing.sets)),
        unreadable=[(one, fault) for one in standing.statuses for fault in one.version.faults],
        rules=RULES,
        now=now,
    )


def link_page(reviewer: str, link: str, frame: Frame) -> str:
    """Return the page that shows a new invite link, once."""
    return _render("curator_link.html", frame, reviewer=reviewer, link=link)


def queue_page(standing: Standing, wanted: Wanted, frame: Frame) -> str:
    """Return the list of versions that fit what is wanted."""
    found = [status for status in standing.statuses if wanted.shows(status)]
    first = (wanted.page - 1) * PAGE_SIZE
    differing = disagreements(standing.statuses, standing.sets)
    return _render(
        "curator_queue.html",
        frame,
        wanted=wanted,
        found=len(found),
        rows=found[first : first + PAGE_SIZE],
        pages=max(1, -(-len(found) // PAGE_SIZE)),
        disputed={one.status.place: one.dimensions for one in differing},
        choices={
            "set": list(standing.sets),
            "stage": list(Stage),
            "capability": list(Capability),
            "format": list(Format),
        },
    )


def clips_page(view: ClipsView, frame: Frame) -> str:
    """Return the page of clips, on which people decide about them."""
    return _render("curator_clips.html", frame, view=view)


def disagreements_page(standing: Standing, reasons: Mapping[str, str], frame: Frame) -> str:
    """Return the versions whose verdicts differ; `reasons` are texts by id."""
    found: list[Disagreement] = disagreements(standing.statuses, standing.sets)
    return _render("curator_disagreements.html", frame, found=found, reasons=reasons)


def item_page(
    view: ItemView, knowledge: KnowledgeBase, reasons: Mapping[str, str], frame: Frame
) -> str:
    """Return the dossier of one version."""
    version = view.status.version
    return _render(
        "curator_item.html",
        frame,
        **_shown(view, knowledge),
        rows=_rows(version, view.of_set, view.dossier.episode.content.duration),
        edits=_edits(view.versions),
        reasons=reasons,
    )


def edit_page(
    view: ItemView,
    knowledge: KnowledgeBase,
    typed: Typed,
    faults: Sequence[FormFault],
    frame: Frame,
) -> str:
    """Return the form that edits an item, with what was typed and what is wrong with it."""
    by_field: dict[str, list[str]] = {}
    for fault in faults:
        by_field.setdefault(fault.field, []).append(fault.text)
    return _render(
        "curator_edit.html",
        frame,
        **_shown(view, knowledge),
        typed=with_spare_rows(typed),
        faults=by_field,
        modalities=list(Modality),
    )


def reason_texts(form: ReviewForm) -> dict[str, str]:
    """Return the text of every reason that a review form offers by its id."""
    reasons = [reason for verdict in form.verdicts for reason in verdict.reject_reasons]
    return {reason.id: reason.text for reason in reasons} | {OTHER: "Something else"}


def item_address(place: Place) -> str:
    """Return the address of a version's dossier."""
    return f"/curator/items/{quote(place[0], safe='')}/{place[1]}"


def _shown(view: ItemView, knowledge: KnowledgeBase) -> dict[str, Any]:
    """Return what the dossier and the form that edits it both show."""
    item, episode = view.status.version.item, view.dossier.episode
    card = knowledge.card(item.revealed.capability)
    return {
        "view": view,
        "item": item,
        "card": card,
        "subcategory": {one.id: one.name for one in card.subcategories}.get(
            item.revealed.subcategory, item.revealed.subcategory
        ),
        "episode": episode,
        "timeline": make_timeline(episode.content, item.revealed.cues, item.decision_time),
        "media": f"/media/{quote(episode.id, safe='')}/{episode.preparation}.mp4",
    }


def _rows(version: ReviewedVersion, of_set: SetRecord, duration: float) -> list[ReviewerRow]:
    """Return what every assigned reviewer did, those with a verdict first."""
    standing, counted = version.standing(), counted_votes(version, of_set)
    rows = []
    for assigned in version.assigned:
        name = assigned.reviewer_id
        answer, vote = version.answers.get(name), standing.get(name)
        rows.append(
            ReviewerRow(
                reviewer=name,
                is_unblinded=assigned.is_unblinded,
                answer=answer,
                matches=_matches(version, answer),
                vote=vote,
                counts=name in counted,
                declined=version.declined.get(name),
                seconds=seconds_to_verdict(version, name),
                watched=most_watched(version, name),
                flags=vote_flags(version, name, duration),
                revisions=version.votes.get(name, ()),
            )
        )
    return sorted(rows, key=lambda row: (row.vote is None, row.answer is None, row.reviewer))


def _matches(version: ReviewedVersion, answer: BlindAnswer | None) -> bool | None:
    item = version.item
    if answer is None or not item.format.is_choice:
        return None
    return same_choice(item.format, item.revealed.answer, answer.answer)


def _edits(
    versions: Sequence[ReviewedVersion],
) -> list[tuple[ReviewedVersion, tuple[Change, ...]]]:
    """Return each version that an edit made with what it changed, newest first."""
    pairs = [(after, changes(before.item, after.item)) for before, after in pairwise(versions)]
    return pairs[::-1]


def _answer_list(answer: Answer) -> list[str]:
    return [answer] if isinstance(answer, str) else list(answer)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


@cache
def _environment() -> Environment:
    environment = page_templates(_TEMPLATES[0])
    environment.loader = FileSystemLoader(_TEMPLATES)
    filters: dict[str, Callable[..., object]] = {
        "seconds": lambda value: f"{value:.1f}",
        "words": lambda code: str(code).replace("_", " "),
        "asked": lambda form: "open question" if form == Format.OPEN else str(form),
        "percent": lambda share: f"{100 * share:.0f}%",
        "moment": _moment,
        "duration": _duration,
        "listed": _answer_list,
        "address": item_address,
    }
    environment.filters |= filters
    environment.globals |= {
        "Stage": Stage,
        "SetKind": SetKind,
        "VoteKind": VoteKind,
        "Approval": Approval,
        "verdicts": list(Verdict),
        "stages": list(Stage),
        "enough": ENOUGH_WATCHED,
        "roles": list(AgentRole),
        "steps": list(Step),
    }
    return environment


def _render(template: str, frame: Frame, **context: object) -> str:
    said = DONE.get(frame.done, "")
    return _environment().get_template(template).render(frame=frame, said=said, **context)
