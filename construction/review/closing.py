"""End the review of items, and replace an item by an edited version of it."""

from collections import Counter

from construction.review.assigning import fill
from construction.review.unanimity import outcome_of
from psychemme.vocabulary import Closing
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import ItemVersion


def close_complete(desk: ReviewDesk, set_name: str | None = None) -> Counter[Closing]:
    """Close every open version that has all its verdicts; return how they ended.

    Until then reviewers may change their own votes; after it nobody may.
    """
    sets = {record.name: record for record in desk.sets()}
    ended: Counter[Closing] = Counter()
    for version in desk.versions():
        if version.closing is not None or set_name not in (None, version.set_name):
            continue
        outcome = outcome_of(version, sets[version.set_name])
        if outcome is not None:
            desk.close_item((version.item.candidate_key, version.item.version), outcome)
            ended[outcome] += 1
    return ended


def replace_version(desk: ReviewDesk, item: ItemVersion, editor: str, reason: str) -> Place:
    """Store `item` as the next version of its candidate, void the votes and assign it again.

    It goes to reviewers who have not seen its reference while there are any; others are marked,
    and their own answers are left out of agreement. Raises ReviewError where the version before is
    not open.
    """
    desk.add_version(item, editor, reason)
    fill(desk)
    return item.candidate_key, item.version
