"""How reviewers work: how much they have done, how fast, and what a curator should ask about.

A flag is a reason to talk to a reviewer, never a ground to drop a vote. Seconds are those between
opening an item and the reviewer's first verdict on it: before the own answer, and after it. Where
none were taken, as on votes cast elsewhere, nothing is known of the pace or of what was watched.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from construction.review.rules import ENOUGH_WATCHED
from psychemme.answers import same_choice
from psychemme.vocabulary import Closing, Verdict, VoteKind
from state.review_values import BlindAnswer, ReviewedVersion, ReviewerRecord, Vote

ENOUGH_VERDICTS = 10
"""Verdicts, or blind choice answers, below which a reviewer's habits are not judged."""
LEAST_Z = -3.5
"""Modified z-score below which a pace is an outlier (Iglewicz and Hoaglin, 1993)."""
FAR_BELOW = 0.25
"""How far a reviewer's share of right blind answers may lie below the others' (fraction)."""
_MAD_TO_SD = 0.6745

EpisodeKey = tuple[str, int]
"""An episode's id and its preparation."""


class Flag(StrEnum):
    """What is unusual about a reviewer."""

    TOO_FAST = "too_fast"
    HALF_WATCHED = "half_watched"
    ANSWERED_EARLY = "answered_early"
    ALWAYS_THE_SAME = "always_the_same"
    BLIND_DIFFERS = "blind_differs"


RULES: Mapping[Flag, str] = {
    Flag.TOO_FAST: (
        "An item judged in less time than its episode lasts, or at a pace (seconds for each second "
        f"of the episode) whose modified z-score among all verdicts is below {LEAST_Z}."
    ),
    Flag.HALF_WATCHED: f"A verdict after less than {ENOUGH_WATCHED:.0%} of the episode was played.",
    Flag.ANSWERED_EARLY: (
        f"A blind answer committed after less than {ENOUGH_WATCHED:.0%} of the episode was played."
    ),
    Flag.ALWAYS_THE_SAME: (
        f"{ENOUGH_VERDICTS} or more items judged, and the three verdicts alike on every one, while "
        "somebody else judged one of them otherwise."
    ),
    Flag.BLIND_DIFFERS: (
        f"{ENOUGH_VERDICTS} or more blind choice answers, of which the share that match the "
        f"reference lies {100 * FAR_BELOW:.0f} points or more below that of the other reviewers."
    ),
}


@dataclass(frozen=True)
class Workload:
    """What a reviewer has to do and has done; replaced versions are left out.

    `done` verdicts and `skipped` stand now. `seconds` is the median to a verdict of those timed,
    `matching` the fraction of `blind` choice answers that equal the reference; None where there is
    none. `flags` hold how many items each flag concerns.
    """

    reviewer: ReviewerRecord
    assigned: int
    done: int
    skipped: int
    seconds: float | None
    blind: int
    matching: float | None
    flags: Mapping[Flag, int]


@dataclass(frozen=True)
class _Act:
    """One reviewer's standing verdict on one version."""

    reviewer: str
    seconds: float | None
    duration: float
    watched: float | None
    vote: Vote
    is_disputed: bool


def workloads(
    versions: Iterable[ReviewedVersion],
    reviewers: Iterable[ReviewerRecord],
    durations: Mapping[EpisodeKey, float],
) -> list[Workload]:
    """Return each reviewer's workload; `durations` are seconds by episode."""
    current = [version for version in versions if version.closing is not Closing.REPLACED]
    acts = [act for version in current for act in _acts(version, durations)]
    hurried = Counter(act.reviewer for act in _hurried(acts))
    blind = [match for version in current for match in _blind_matches(version)]
    return [_workload(one, current, acts, hurried, blind) for one in reviewers]


def vote_flags(version: ReviewedVersion, reviewer: str, duration: float) -> tuple[Flag, ...]:
    """Return the flags that one blind answer and the standing verdict raise by themselves."""
    acts = [a for a in _acts(version, {_episode(version): duration}) if a.reviewer == reviewer]
    raised = {
        Flag.TOO_FAST: any(act.seconds is not None and act.seconds < duration for act in acts),
        Flag.HALF_WATCHED: any(_is_half_watched(act) for act in acts),
        Flag.ANSWERED_EARLY: reviewer in _early(version),
    }
    return tuple(flag for flag, is_raised in raised.items() if is_raised)


def seconds_to_verdict(version: ReviewedVersion, reviewer: str) -> float | None:
    """Return the seconds a reviewer took to the first verdict, None where none are known."""
    votes = version.votes.get(reviewer, ())
    first = next((vote for vote in votes if vote.kind is VoteKind.VERDICT), None)
    if first is None:
        return None
    own = version.answers.get(reviewer)
    return first.seconds + (own.seconds if own else 0.0) or None


def most_watched(version: ReviewedVersion, reviewer: str) -> float | None:
    """Return the largest part of the episode that a reviewer's acts on a version had played.

    None where nothing is known of it: what was cast elsewhere has neither seconds nor a part.
    """
    acts = (version.answers.get(reviewer), version.standing().get(reviewer))
    return max((act.watched for act in acts if act and _is_known(act)), default=None)


def _is_known(act: BlindAnswer | Vote) -> bool:
    return bool(act.seconds or act.watched)


def _workload(
    reviewer: ReviewerRecord,
    versions: Sequence[ReviewedVersion],
    acts: Sequence[_Act],
    hurried: Mapping[str, int],
    blind: Sequence[tuple[str, bool]],
) -> Workload:
    mine = [act for act in acts if act.reviewer == reviewer.id]
    own = [right for who, right in blind if who == reviewer.id]
    others = [right for who, right in blind if who != reviewer.id]
    seconds = [act.seconds for act in mine if act.seconds is not None]
    counts = {
        Flag.TOO_FAST: hurried[reviewer.id],
        Flag.HALF_WATCHED: sum(map(_is_half_watched, mine)),
        Flag.ANSWERED_EARLY: sum(reviewer.id in _early(version) for version in versions),
        Flag.ALWAYS_THE_SAME: len(mine) if _never_varies(mine) else 0,
        Flag.BLIND_DIFFERS: own.count(False) if _far_below(own, others) else 0,
    }
    return Workload(
        reviewer=reviewer,
        assigned=sum(a.reviewer_id == reviewer.id for v in versions for a in v.assigned),
        done=len(mine),
        skipped=sum(_skips(version, reviewer.id) for version in versions),
        seconds=median(seconds) if seconds else None,
        blind=len(own),
        matching=_share(own),
        flags={flag: count for flag, count in counts.items() if count},
    )


def _acts(version: ReviewedVersion, durations: Mapping[EpisodeKey, float]) -> Iterator[_Act]:
    standing = {
        name: vote for name, vote in version.standing().items() if vote.kind is VoteKind.VERDICT
    }
    given = {_triple(vote) for vote in standing.values()}
    for name, vote in standing.items():
        yield _Act(
            reviewer=name,
            seconds=seconds_to_verdict(version, name),
            duration=durations[_episode(version)],
            watched=most_watched(version, name),
            vote=vote,
            is_disputed=len(given) > 1,
        )


def _is_half_watched(act: _Act) -> bool:
    return act.watched is not None and act.watched < ENOUGH_WATCHED


def _hurried(acts: Sequence[_Act]) -> Iterator[_Act]:
    timed = [
        (act, math.log(max(act.seconds, 0.1) / max(act.duration, 0.1)))
        for act in acts
        if act.seconds is not None
    ]
    middle = median(pace for _, pace in timed) if timed else 0.0
    spread = median(abs(pace - middle) for _, pace in timed) if timed else 0.0
    for act, pace in timed:
        is_outlier = spread > 0 and _MAD_TO_SD * (pace - middle) / spread < LEAST_Z
        if pace < 0 or is_outlier:
            yield act


def _early(version: ReviewedVersion) -> set[str]:
    """Return who committed a blind answer without having watched enough."""
    return {
        name
        for name, own in version.answers.items()
        if _is_known(own) and not own.is_unblinded and own.watched < ENOUGH_WATCHED
    }


def _blind_matches(version: ReviewedVersion) -> Iterator[tuple[str, bool]]:
    form = version.item.format
    for name, own in version.answers.items():
        if form.is_choice and not own.is_unblinded:
            yield name, same_choice(form, version.item.revealed.answer, own.answer)


def _never_varies(acts: Sequence[_Act]) -> bool:
    is_enough = len(acts) >= ENOUGH_VERDICTS and any(act.is_disputed for act in acts)
    return is_enough and len({_triple(act.vote) for act in acts}) == 1


def _far_below(own: Sequence[bool], others: Sequence[bool]) -> bool:
    mine, theirs = _share(own), _share(others)
    if mine is None or theirs is None or len(own) < ENOUGH_VERDICTS:
        return False
    return theirs - mine >= FAR_BELOW


def _share(matches: Sequence[bool]) -> float | None:
    return sum(matches) / len(matches) if matches else None


def _skips(version: ReviewedVersion, reviewer: str) -> bool:
    vote = version.standing().get(reviewer)
    return vote is not None and vote.kind is VoteKind.SKIP


def _triple(vote: Vote) -> tuple[str | None, ...]:
    return tuple(vote.verdicts.get(verdict) for verdict in Verdict)


def _episode(version: ReviewedVersion) -> EpisodeKey:
    return version.item.episode_id, version.item.preparation
