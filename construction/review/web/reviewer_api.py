"""The JSON that the review page's script speaks. Every acknowledgement follows its commit."""

from collections.abc import Sequence

from fastapi import APIRouter, BackgroundTasks, Depends

from construction.presentation import present
from construction.review.assigning import replace_skip
from construction.review.rules import answer_faults, ballot_faults
from construction.review.web.bodies import (
    PROBLEMS,
    AnswerBody,
    Cast,
    Committed,
    DraftBody,
    Key,
    Queue,
    QueueItem,
    Saved,
    SkipBody,
    Version,
    VoteBody,
    WithdrawBody,
)
from construction.review.web.problems import Refusal, refuse_faults
from construction.review.web.sessions import ReviewerOf, genuine, reviewer
from construction.review.web.site import Site, SiteOf
from construction.review.web.views import item_url, own_list
from psychemme.answers import option_set
from psychemme.canonical import canonical_json, now
from psychemme.items import Answer
from psychemme.vocabulary import Format, VoteKind
from state.review import Place
from state.review_values import Ballot, BlindAnswer, BlindItem

router = APIRouter(
    prefix="/api", dependencies=[Depends(reviewer), Depends(genuine)], responses=PROBLEMS
)


@router.get("/queue")
def queue(site: SiteOf, who: ReviewerOf) -> Queue:
    """Return the reviewer's own list."""
    own = own_list(site.queue(who))
    items = [
        QueueItem(
            key=place.work.item.candidate_key,
            version=place.work.item.version,
            state=place.state,
            url=place.url,
        )
        for place in own.places
    ]
    return Queue(items=items, done=own.done, total=len(items))


@router.post("/items/{key}/{version}/draft")
def draft(key: Key, version: Version, body: DraftBody, site: SiteOf, who: ReviewerOf) -> Saved:
    """Keep what has been typed."""
    site.store.save_draft(who, (key, version), canonical_json(body.draft))
    return Saved(saved_at=now())


@router.post("/items/{key}/{version}/answer")
def answer(
    key: Key, version: Version, body: AnswerBody, site: SiteOf, who: ReviewerOf
) -> Committed:
    """Commit the reviewer's own answer; the page then shows the reference."""
    place = (key, version)
    item = site.work(who, place).item
    given = BlindAnswer(
        answer=as_proposed(item, site.order(who, item), body.answer),
        seconds=body.seconds,
        watched=body.watched,
        request_id=body.request_id,
    )
    stands = site.store.commit_answer(who, place, given)
    if stands.answer != given.answer:
        raise Refusal(409, "You committed another answer before.", "Reload the page to see it.")
    return Committed(committed_at=stands.committed_at, next=item_url(item))


@router.post("/items/{key}/{version}/vote")
def vote(key: Key, version: Version, body: VoteBody, site: SiteOf, who: ReviewerOf) -> Cast:
    """Cast the three verdicts."""
    given = body.model_dump(exclude={"after"}) | {"kind": VoteKind.VERDICT}
    return _cast(site, who, (key, version), Ballot.model_validate(given), body.after)


@router.post("/items/{key}/{version}/skip")
def skip(
    key: Key,
    version: Version,
    body: SkipBody,
    site: SiteOf,
    who: ReviewerOf,
    later: BackgroundTasks,
) -> Cast:
    """Leave the item to somebody else, who is assigned once this is answered."""
    given = body.model_dump(exclude={"after"}) | {"kind": VoteKind.SKIP}
    cast = _cast(site, who, (key, version), Ballot.model_validate(given), body.after)
    later.add_task(replace_skip, site.desk, (key, version))
    return cast


@router.post("/items/{key}/{version}/withdraw")
def withdraw(key: Key, version: Version, body: WithdrawBody, site: SiteOf, who: ReviewerOf) -> Cast:
    """Take the own vote back."""
    given = Ballot(kind=VoteKind.WITHDRAWAL, request_id=body.request_id)
    return _cast(site, who, (key, version), given, body.after)


def as_proposed(item: BlindItem, order: Sequence[int], answer: Answer) -> Answer:
    """Return an answer given in shown letters in the proposal's option ids.

    Raises Refusal where it does not fit what was shown.
    """
    shown = item.model_copy(update={"options": present(item.options, order)})
    refuse_faults(answer_faults(shown, answer))
    if not item.format.is_choice:
        return answer
    own = {option.id: item.options[at].id for option, at in zip(shown.options, order, strict=True)}
    chosen = sorted(own[letter] for letter in option_set(answer))
    return chosen[0] if item.format is Format.SINGLE else chosen


def _cast(site: Site, who: str, place: Place, ballot: Ballot, after: int) -> Cast:
    work = site.work(who, place)
    revealed = None
    if ballot.kind is VoteKind.VERDICT:
        revealed = site.store.reveal(who, place)
    refuse_faults(ballot_faults(site.form, work.item, revealed, work.answer, ballot))
    vote = site.store.cast(who, place, ballot, after)
    if any(getattr(vote, name) != getattr(ballot, name) for name in ("kind", *_SAID)):
        raise Refusal(409, "This was sent before with other words.", "Reload the page.")
    is_done = ballot.kind is not VoteKind.WITHDRAWAL
    own = own_list(site.queue(who))
    following = own.next_after(own.number_of(work.item))
    onward = "/" if following is None else following.url
    at = onward if is_done else item_url(work.item)
    return Cast(committed_at=vote.committed_at, revision=vote.revision, next=at)


_SAID = ("verdicts", "reasons", "comment", "skip_reason")
