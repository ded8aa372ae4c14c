"""When an item counts as approved: N distinct reviewers, all three verdicts, nobody against."""

from collections.abc import Collection, Mapping

from psychemme.vocabulary import Closing, VoteKind
from state.review_values import Board, ReviewedVersion, SetRecord, Vote


def counted_votes(version: ReviewedVersion, of_set: SetRecord) -> dict[str, Vote]:
    """Return the verdicts that count, by reviewer.

    A skip is no verdict, and nor is what a reviewer with a conflict of interest about the recording
    said, before or after declaring it. What was cast after a calibration set had been discussed
    counts for neither agreement nor freezing; the vote before it stands.
    """
    end = of_set.discussed_at
    standing = {}
    for reviewer in version.votes.keys() - version.conflicted:
        votes = version.votes[reviewer]
        before = [vote for vote in votes if end is None or vote.committed_at <= end]
        if before and before[-1].kind is VoteKind.VERDICT:
            standing[reviewer] = before[-1]
    return standing


def revoked(board: Board) -> frozenset[str]:
    """Return the reviewers who can vote no more."""
    return frozenset(one.id for one in board.reviewers if one.revoked_at is not None)


def voters(version: ReviewedVersion, of_set: SetRecord, gone: Collection[str]) -> set[str]:
    """Return who has a verdict that counts, or may still give one: neither skipped nor is `gone`.

    Nor have they declined it: by a conflict of interest about the recording, or distress at another
    version. A verdict that counts stays one, whoever cast it. Once a set has been discussed no
    further one counts.
    """
    counted = set(counted_votes(version, of_set))
    if of_set.discussed_at is not None:
        return counted
    skipped = {n for n, vote in version.standing().items() if vote.kind is VoteKind.SKIP}
    skipped |= version.declined.keys()
    return counted | ({a.reviewer_id for a in version.assigned} - skipped).difference(gone)


def wanted(version: ReviewedVersion, of_set: SetRecord, gone: Collection[str]) -> int:
    """Return how many verdicts end a review: of everybody asked, and of enough reviewers."""
    return max(of_set.reviewers_per_item, len(voters(version, of_set, gone)))


def outcome_of(
    version: ReviewedVersion, of_set: SetRecord, gone: Collection[str]
) -> Closing | None:
    """Return how the review of a version ends, None while verdicts are missing.

    `gone` are the reviewers who are revoked.
    """
    votes = counted_votes(version, of_set)
    if len(votes) < wanted(version, of_set, gone):
        return None
    return Closing.APPROVED if is_unanimous(votes, of_set) else Closing.REJECTED


def is_unanimous(votes: Mapping[str, Vote], of_set: SetRecord) -> bool:
    """Whether enough distinct reviewers voted and each approves all three verdicts."""
    enough = len(votes) >= of_set.reviewers_per_item
    return enough and all(vote.approves for vote in votes.values())
