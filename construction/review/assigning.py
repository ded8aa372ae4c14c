"""Who reviews which item, and in which order: pure and seeded.

Each item goes to N distinct reviewers, those with the least work first; a share of the items (the
overlap) goes to everybody, so that agreement is known across the whole pool. Every reviewer has an
order of their own. Who saw the reference of an earlier version comes last, and is marked. Who
skipped an item for distress is never asked about it again, and who has a conflict of interest about
no item of the recording.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from construction.review.unanimity import revoked, voters
from psychemme.canonical import now
from psychemme.errors import ReviewError
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import AssignmentRecord, Board, Changes


@dataclass
class Pool:
    """The reviewers that can be asked, and what they have been asked so far."""

    reviewers: Sequence[str]
    load: Counter[str] = field(default_factory=Counter)
    saw: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Candidate key -> reviewers who saw the reference of some version of it."""
    barred: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Candidate key -> reviewers who are not to be asked about it."""

    def least_busy(
        self, key: str, count: int, without: Collection[str], draw: random.Random
    ) -> list[str]:
        """Return up to `count` reviewers for a candidate, none of `without`, and give them work."""
        barred = {*without, *self.barred.get(key, ())}
        free = [name for name in sorted(self.reviewers) if name not in barred]
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
            "Invite more, renew links that expired, or name a smaller --reviewers.",
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


def pool_of(board: Board, recording_of: Mapping[str, str] | None = None) -> Pool:
    """Return the reviewers who can be asked now, with the open work they have and what they saw.

    Whoever is revoked, or whose link has expired, can not be asked. `recording_of` are the
    recording groups of candidates, by key, that are not on the board yet.
    """
    moment = now()
    able = [
        one.id
        for one in board.reviewers
        if one.revoked_at is None and one.expires_at > moment and not one.is_demonstration
    ]
    load = Counter(a.reviewer_id for v in board.versions for a in v.assigned if v.closing is None)
    saw: dict[str, set[str]] = {}
    for version in board.versions:
        saw.setdefault(version.item.candidate_key, set()).update(version.answers)
    barred = {key: _conflicted(board, group) for key, group in (recording_of or {}).items()}
    for version in board.versions:
        barred.setdefault(version.item.candidate_key, set()).update(version.declined)
    return Pool(able, load, saw, barred)


def _conflicted(board: Board, recording: str) -> set[str]:
    """Return who has a conflict of interest about a recording."""
    return {
        name
        for version in board.versions
        if version.recording == recording
        for name in version.conflicted
    }


def next_positions(board: Board) -> dict[str, int]:
    """Return the first free place in each reviewer's order."""
    taken: dict[str, int] = {}
    for version in board.versions:
        for a in version.assigned:
            taken[a.reviewer_id] = max(taken.get(a.reviewer_id, 0), a.position + 1)
    return taken


def wanting(board: Board) -> dict[Place, int]:
    """Return how many reviewers each open version lacks, where it lacks any.

    Who skipped, or was revoked before voting, is to be replaced. Once a set has been discussed no
    vote on it counts, so that it lacks nobody.
    """
    gone = revoked(board)
    lacking = {}
    for version in board.versions:
        of_set = board.sets[version.set_name]
        if version.closing is not None or of_set.discussed_at is not None:
            continue
        missing = of_set.reviewers_per_item - len(voters(version, of_set, gone))
        if missing > 0:
            lacking[version.item.candidate_key, version.item.version] = missing
    return lacking


def fill(desk: ReviewDesk, seed: int = 0) -> tuple[AssignmentRecord, ...]:
    """Give every open version the reviewers it lacks, and return what was assigned.

    A version that nobody is left for stays short; whoever is invited later is found by the next
    call. Safe at any time and from several processes at once.
    """
    return desk.change(lambda board: _filled(board, wanting(board), seed)).assignments


def replace_skip(desk: ReviewDesk, place: Place, seed: int = 0) -> tuple[AssignmentRecord, ...]:
    """Give one version the reviewers it lacks, and return what was assigned.

    After a conflict of interest so are the other items of the recording, which it leaves short as
    well. For the page to call once a skip is committed: the skip stands whatever becomes of this,
    and the next `fill` makes up for it. The reviewer who skipped must not be told what it returns.
    """

    def plan(board: Board) -> Changes:
        by_place = {(v.item.candidate_key, v.item.version): v for v in board.versions}
        skipped = by_place.get(place)
        conflict = skipped.recording if skipped and skipped.conflicted else None
        lacking = {
            at: number
            for at, number in wanting(board).items()
            if at == place or by_place[at].recording == conflict
        }
        return _filled(board, lacking, seed)

    return desk.change(plan).assignments


def _filled(board: Board, lacking: Mapping[Place, int], seed: int) -> Changes:
    pool, first = pool_of(board), next_positions(board)
    draw = random.Random(seed)  # noqa: S311 - an order, no secret
    added: list[AssignmentRecord] = []
    for version in board.versions:
        place = version.item.candidate_key, version.item.version
        asked = {a.reviewer_id for a in version.assigned}
        for name in pool.least_busy(place[0], lacking.get(place, 0), asked, draw):
            added.extend(_in_own_order(name, [place], pool, first.get(name, 0), draw))
            first[name] = first.get(name, 0) + 1
    return Changes(assignments=tuple(added))
