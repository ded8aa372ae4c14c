"""When an item counts as approved: N distinct reviewers, all three verdicts, nobody against."""

from collections.abc import Mapping

from psychemme.vocabulary import Closing, VoteKind
from state.review_values import ReviewedVersion, SetRecord, Vote


def counted_votes(version: ReviewedVersion, of_set: SetRecord) -> dict[str, Vote]:
    """Return the verdicts that count, by reviewer.

    A skip is no verdict. What was cast after a calibration set had been discussed counts for
    neither agreement nor freezing; the vote before it stands.
    """
    end = of_set.discussed_at
    standing = {}
    for reviewer, votes in version.votes.items():
        before = [vote for vote in votes if end is None or vote.committed_at <= end]
        if before and before[-1].kind is VoteKind.VERDICT:
            standing[reviewer] = before[-1]
    return standing


def outcome_of(version: ReviewedVersion, of_set: SetRecord) -> Closing | None:
    """Return how the review of a version ends, None while verdicts are missing."""
    votes = counted_votes(version, of_set)
    if len(votes) < of_set.reviewers_per_item:
        return None
    return Closing.APPROVED if is_unanimous(votes, of_set) else Closing.REJECTED


def is_unanimous(votes: Mapping[str, Vote], of_set: SetRecord) -> bool:
    """Whether enough distinct reviewers voted and each approves all three verdicts."""
    enough = len(votes) >= of_set.reviewers_per_item
    return enough and all(vote.approves for vote in votes.values())
