"""Who reviews which item, and in which order: pure and seeded.

Each item goes to N distinct reviewers, those with the least work first; a share of the items (the
overlap) goes to everybody, so that agreement is known across the whole pool. Every reviewer has an
order of their own. Who saw the reference of an earlier version comes last, and is marked.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from psychemme.errors import ReviewError
from psychemme.vocabulary import VoteKind
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import AssignmentRecord, ReviewedVersion


@dataclass
class Pool:
    """The reviewers that can be asked, and what they have been asked so far."""

    reviewers: Sequence[str]
    load: Counter[str] = field(default_factory=Counter)
    saw: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Candidate key -> reviewers who saw the reference of some version of it."""

    def least_busy(
        self, key: str, count: int, without: Collection[str], draw: random.Random
    ) -> list[str]:
        """Return up to `count` reviewers for a candidate, none of `without`, and give them work."""
        free = [name for name in sorted(self.reviewers) if name not in without]
        draw.shuffle(free)
        seen = self.saw.get(key, ())
        free.sort(key=lambda name: (name in seen, self.load[name]))
        chosen = free[:count]
        self.load.update(chosen)
        return chosen


def assign(
    places: Sequence[Place],
    pool: Pool,
    per_item: int,
    *,
    overlap: float = 0.0,
    seed: int = 0,
    first: Mapping[str, int] | None = None,
) -> list[AssignmentRecord]:
    """Return the assignments of `places` to `per_item` reviewers each, `overlap` of them to all.

    `first` maps a reviewer to the first free place of their order. Raises ReviewError where the
    pool is too small.
    """
    if len(pool.reviewers) < per_item:
        raise ReviewError(
            f"{per_item} reviewers are needed for each item, {len(pool.reviewers)} can be asked.",
            "Invite more with `psychemme review invite`, or name a smaller --reviewers.",
        )
    draw = random.Random(seed)  # noqa: S311 - an order, no secret
    shuffled = draw.sample(sorted(places), len(places))
    for_all = round(overlap * len(places))
    work: dict[str, list[Place]] = {name: [] for name in pool.reviewers}
    for number, place in enumerate(shuffled):
        count = len(pool.reviewers) if number < for_all else per_item
        for name in pool.least_busy(place[0], count, (), draw):
            work[name].append(place)
    return [
        record
        for name, own in sorted(work.items())
        for record in _in_own_order(name, own, pool, (first or {}).get(name, 0), draw)
    ]


def _in_own_order(
    name: str, places: Sequence[Place], pool: Pool, first: int, draw: random.Random
) -> list[AssignmentRecord]:
    return [
        AssignmentRecord(
            candidate_key=key,
            version=version,
            reviewer_id=name,
            position=first + number,
            is_unblinded=name in pool.saw.get(key, ()),
        )
        for number, (key, version) in enumerate(draw.sample(sorted(places), len(places)))
    ]


def read_pool(desk: ReviewDesk, versions: Sequence[ReviewedVersion]) -> Pool:
    """Return the reviewers who can be asked now, with the work they have and what they saw."""
    active = [r.id for r in desk.reviewers() if r.revoked_at is None and not r.is_demonstration]
    load = Counter(a.reviewer_id for v in versions for a in v.assigned if v.closing is None)
    saw: dict[str, set[str]] = {}
    for version in versions:
        saw.setdefault(version.item.candidate_key, set()).update(version.answers)
    return Pool(active, load, saw)


def next_positions(versions: Sequence[ReviewedVersion]) -> dict[str, int]:
    """Return the first free place in each reviewer's order."""
    taken: dict[str, int] = {}
    for version in versions:
        for a in version.assigned:
            taken[a.reviewer_id] = max(taken.get(a.reviewer_id, 0), a.position + 1)
    return taken


def fill(desk: ReviewDesk, seed: int = 0) -> list[AssignmentRecord]:
    """Give every open version as many reviewers as its set asks for; a skip is replaced.

    Returns what was assigned. A version that nobody is left for stays short, and is assigned when
    somebody is invited.
    """
    versions = desk.versions()
    needed = {record.name: record.reviewers_per_item for record in desk.sets()}
    pool, first = read_pool(desk, versions), next_positions(versions)
    draw = random.Random(seed)  # noqa: S311 - an order, no secret
    added = []
    for version in versions:
        missing = needed[version.set_name] - len(_still_asked(version))
        if version.closing is not None or missing <= 0:
            continue
        key, number = version.item.candidate_key, version.item.version
        asked = {a.reviewer_id for a in version.assigned}
        for name in pool.least_busy(key, missing, asked, draw):
            place = [(key, number)]
            added.extend(_in_own_order(name, place, pool, first.get(name, 0), draw))
            first[name] = first.get(name, 0) + 1
    desk.assign(added)
    return added


def _still_asked(version: ReviewedVersion) -> set[str]:
    skipped = {n for n, vote in version.standing().items() if vote.kind is VoteKind.SKIP}
    return {a.reviewer_id for a in version.assigned} - skipped

