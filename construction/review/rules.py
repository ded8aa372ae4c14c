"""Which answers and ballots are accepted from a reviewer, on the page and from a file alike."""

from collections.abc import Iterator

from psychemme.answers import fits, option_set
from psychemme.items import Answer
from psychemme.release.texts import is_blank
from psychemme.vocabulary import Approval, Capability, Verdict, VoteKind
from psychology_kb.cards import Reason, ReviewForm
from psychology_kb.cards import Verdict as VerdictQuestion
from state.review_values import Ballot, BlindAnswer, BlindItem, Revealed

LONGEST_COMMENT = 4_000
ENOUGH_WATCHED = 0.95
"""The fraction of the episode that has to be played before a verdict."""
OTHER = "other"
"""A reason that the comment spells out."""


def answer_faults(item: BlindItem, answer: Answer) -> list[str]:
    """Return what keeps `answer` (in proposal ids) from being committed."""
    if not item.format.is_choice:
        text = answer if isinstance(answer, str) else ""
        faults = ["Write your own answer first."] if is_blank(text) else []
        return faults + ([_too_long("answer")] if len(text) > LONGEST_COMMENT else [])
    ids = [option.id for option in item.options]
    return [] if fits(item.format, answer, ids) else ["Choose among the options first."]


def ballot_faults(
    form: ReviewForm,
    item: BlindItem,
    revealed: Revealed | None,
    own: BlindAnswer | None,
    ballot: Ballot,
) -> list[str]:
    """Return what keeps `ballot` from being cast; `revealed` and `own` are needed for a verdict."""
    faults = [_too_long("comment")] if len(ballot.comment) > LONGEST_COMMENT else []
    if ballot.kind is VoteKind.SKIP and ballot.skip_reason is None:
        faults.append("Say why you skip this item.")
    if ballot.kind is VoteKind.SKIP and (ballot.verdicts or ballot.reasons):
        faults.append("Skip this item or judge it, not both.")
    if ballot.kind is VoteKind.VERDICT:
        if revealed is None or own is None:
            return [*faults, "Commit your own answer first."]
        faults.extend(_verdict_faults(form, item, revealed, own, ballot))
    return faults


def reasons_for(question: VerdictQuestion, capability: Capability) -> tuple[Reason, ...]:
    """Return the reasons to reject that fit a capability."""
    found = question.reject_reasons
    return tuple(r for r in found if not r.applies_to or capability in r.applies_to)


def differs(item: BlindItem, revealed: Revealed, own: BlindAnswer) -> bool:
    """Whether a reviewer's own answer to a choice question is not the reference."""
    return item.format.is_choice and option_set(own.answer) != option_set(revealed.answer)


def _verdict_faults(
    form: ReviewForm, item: BlindItem, revealed: Revealed, own: BlindAnswer, ballot: Ballot
) -> Iterator[str]:
    if not any(part >= ENOUGH_WATCHED for part in (own.watched, ballot.watched)):
        yield "Watch the whole clip before your verdict."
    for question in form.verdicts:
        given = ballot.verdicts.get(question.id)
        reasons = ballot.reasons.get(question.id, ())
        name = question.id.replace("_", " ")
        known = {reason.id for reason in reasons_for(question, revealed.capability)}
        if given is None:
            yield f"Give a verdict on {name}."
        elif given is Approval.REJECT and not reasons:
            yield f"Say why you reject {name}."
        elif given is Approval.APPROVE and reasons:
            yield f"Reasons belong to a rejection, but {name} is approved."
        if unknown := sorted(set(reasons) - known - {OTHER}):
            yield f"{unknown[0]!r} is no reason to reject {name}."
        if OTHER in reasons and is_blank(ballot.comment):
            yield f"Write what else is wrong with {name}."
    approved = all(ballot.verdicts.get(verdict) is Approval.APPROVE for verdict in Verdict)
    if approved and differs(item, revealed, own) and is_blank(ballot.comment):
        yield "Your own answer differs from the reference: write why you approve it."


def _too_long(what: str) -> str:
    return f"Shorten the {what} to {LONGEST_COMMENT:,} characters."
