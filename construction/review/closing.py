"""End the review of items, and replace an item by an edited version of it."""

from collections import Counter

from construction.review.assigning import fill
from construction.review.unanimity import outcome_of, revoked
from psychemme.errors import ReviewError
from psychemme.vocabulary import Closing
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import Board, Changes, ItemVersion


def close_complete(desk: ReviewDesk, set_name: str | None = None) -> Counter[Closing]:
    """Close every open version that has all its verdicts; return how they ended.

    Until then reviewers may change their own votes; after it nobody may. Raises ReviewError where
    there is no such set.
    """
    return Counter(
        outcome for _, outcome in desk.change(lambda board: _complete(board, set_name)).closings
    )


def _complete(board: Board, set_name: str | None) -> Changes:
    if set_name is not None and set_name not in board.sets:
        raise ReviewError(f"There is no set {set_name!r}.", "List the sets.")
    gone = revoked(board)
    outcomes = [
        ((version.item.candidate_key, version.item.version), outcome)
        for version in board.versions
        if version.closing is None and set_name in (None, version.set_name)
        for outcome in (outcome_of(version, board.sets[version.set_name], gone),)
        if outcome is not None
    ]
    return Changes(closings=tuple(outcomes))


def replace_version(desk: ReviewDesk, item: ItemVersion, editor: str, reason: str) -> Place:
    """Store `item` as the next version of its candidate, void the votes and assign it again.

    It goes to reviewers who have not seen its reference while there are any; others are marked,
    and their own answers are left out of agreement. A reviewer who has the version before on screen
    is refused with ItemClosed. Raises ReviewError as `ReviewDesk.add_version` does.
    """
    desk.add_version(item, editor, reason)
    fill(desk)
    return item.candidate_key, item.version
