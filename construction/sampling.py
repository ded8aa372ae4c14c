"""Which episode is asked for what next: deficit-weighted, yield-aware, seeded.

Batch k is picked from the results of batches up to k - lag. Later picks count as in flight at
their cell's estimated yield, whatever became of them, so neither concurrency nor a kill changes
what is picked. With a cell's yield y = (accepted + 1) / (attempts + 2), its weight is what is
missing / max(y, 0.05): the number of candidates it is still expected to need. Slots fall on cells
in proportion to weight, spread evenly by a golden-ratio sequence; within a cell the least used
episode is taken, ties in an order drawn from the seed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from construction.coverage import Outcome, Tally, by_cell
from construction.plan import Cell, Plan, Target, home
from psychemme.canonical import digest
from psychemme.episode import Value
from psychemme.vocabulary import CandidateState, Capability, DurationBand, Format

LEAST_YIELD = 0.05
_GOLDEN = 0.6180339887498949
_NOISE = 1e-9


class EpisodeFacts(Value):
    """What the sampler knows of an episode."""

    id: str
    source_group: str
    source_video_id: str
    duration_band: DurationBand
    has_history: bool = False
    has_speech: bool = True


class Pick(Value):
    """A candidate to start; `index` counts the picks of a run from 0."""

    index: int
    batch: int
    episode_id: str
    capability: Capability
    format: Format
    cell: Cell


class CellState(StrEnum):
    """Where a cell stands."""

    MET = "met"
    OPEN = "open"
    INFEASIBLE = "infeasible"


class Closed(StrEnum):
    """Why a cell is infeasible."""

    NO_ACCEPTANCE = "no_acceptance"
    LOW_YIELD = "low_yield"
    FAILING = "failing"
    NO_EPISODE = "no_episode"
    NO_HISTORY = "no_history"
    CAPS_REACHED = "caps_reached"


class CellStatus(Value):
    """A target's state; `reason` is given for infeasible cells."""

    target: Target
    state: CellState
    reason: Closed | None = None


def pick_batch(
    plan: Plan,
    targets: Sequence[Target],
    episodes: Sequence[EpisodeFacts],
    outcomes: Sequence[Outcome],
    batch: int,
    seed: int,
) -> tuple[Pick, ...]:
    """Return the picks of `batch`, given the outcomes of all earlier ones in any order.

    At most `plan.sampling.batch` picks, fewer where those in flight are expected to suffice.
    Raises `ValueError` where a batch up to `batch` - lag has not finished.
    """
    seen = [_as_seen(o, batch - plan.sampling.lag) for o in outcomes if o.batch < batch]
    board = _Board(plan, targets, episodes, seen, seed)
    picks: list[Pick] = []
    for index in range(len(seen), len(seen) + plan.sampling.batch):
        cell = _draw(board.weights(), (_unit(seed) + index * _GOLDEN) % 1)
        if cell is None:
            break
        episode = board.take(cell)
        chosen = {"episode_id": episode.id, "capability": cell.capability, "format": cell.format}
        picks.append(Pick(index=index, batch=batch, cell=cell, **chosen))
    return tuple(picks)


def is_last(plan: Plan, outcomes: Sequence[Outcome], batch: int) -> bool:
    """Return whether `batch`, if it came out empty, ends the run: no result was hidden from it."""
    return all(outcome.batch <= batch - plan.sampling.lag for outcome in outcomes)


def cell_statuses(
    plan: Plan,
    targets: Sequence[Target],
    episodes: Sequence[EpisodeFacts],
    outcomes: Sequence[Outcome],
) -> tuple[CellStatus, ...]:
    """Return where every target stands, with the reason of each infeasible one.

    For reporting: stopping on it would let the arrival order of results change a run.
    """
    board = _Board(plan, targets, episodes, outcomes, seed=0)
    return tuple(board.status(target) for target in targets)


class _Board:
    """The counts one batch is picked from; `take` enters each pick as in flight."""

    def __init__(
        self,
        plan: Plan,
        targets: Sequence[Target],
        episodes: Sequence[EpisodeFacts],
        outcomes: Sequence[Outcome],
        seed: int,
    ) -> None:
        self.rules, self.targets = plan.sampling, targets
        held = by_cell(targets, outcomes)
        self.tallies = {target.cell: Tally.of(held[target.cell]) for target in targets}
        self.taken = Counter({target.cell: 0 for target in targets})
        self.members = _members(plan, targets, sorted(episodes, key=lambda e: _unit(seed, e.id)))
        self.video_of = {episode.id: episode.source_video_id for episode in episodes}
        self.uses = Counter(o.episode_id for o in outcomes)
        self.video_uses = Counter(self.video_of.get(o.episode_id) for o in outcomes)
        self.cell_uses = Counter((c, o.episode_id) for c, group in held.items() for o in group)

    def weights(self) -> dict[Cell, float]:
        """Return how many candidates each cell is expected to need yet, 0 where it is closed."""
        open_ = (t for t in self.targets if next(self._free(t.cell), None))
        return {target.cell: self._needed(target) for target in open_}

    def take(self, cell: Cell) -> EpisodeFacts:
        """Enter a pick for `cell` and return its episode."""
        episode = min(self._free(cell), key=lambda e: (self.cell_uses[cell, e.id], self.uses[e.id]))
        self.taken[cell] += 1
        self.uses[episode.id] += 1
        self.video_uses[episode.source_video_id] += 1
        self.cell_uses[cell, episode.id] += 1
        return episode

    def status(self, target: Target) -> CellStatus:
        """Return where `target` stands."""
        tally = self.tallies[target.cell]
        if tally.accepted >= target.count:
            return CellStatus(target=target, state=CellState.MET)
        reason = None if tally.pending else self._closed(target)
        state = CellState.INFEASIBLE if reason else CellState.OPEN
        return CellStatus(target=target, state=state, reason=reason)

    def _needed(self, target: Target) -> float:
        tally = self.tallies[target.cell]
        in_flight = tally.pending + self.taken[target.cell]
        estimate = max((tally.accepted + 1) / (tally.attempts + 2), LEAST_YIELD)
        needed = (target.count - tally.accepted) / estimate - in_flight
        left = self._limit(target) - max(tally.attempts, tally.failed) - in_flight
        return needed if min(needed, left) > _NOISE else 0

    def _limit(self, target: Target) -> int:
        """Return after how many attempts, or as many failures, a cell closes."""
        if not self.tallies[target.cell].accepted:
            return self.rules.close_after
        return max(self.rules.close_after, self.rules.low_yield_factor * target.count)

    def _closed(self, target: Target) -> Closed | None:
        tally, limit = self.tallies[target.cell], self._limit(target)
        if tally.attempts >= limit:
            return Closed.LOW_YIELD if tally.accepted else Closed.NO_ACCEPTANCE
        if tally.failed >= limit:
            return Closed.FAILING
        if not self.members[target.cell]:
            memory = target.capability is Capability.MEMORY
            return Closed.NO_HISTORY if memory else Closed.NO_EPISODE
        return None if next(self._free(target.cell), None) else Closed.CAPS_REACHED

    def _free(self, cell: Cell) -> Iterator[EpisodeFacts]:
        """Return the cell's episodes under both caps, in seeded order."""
        per_source = self.rules.per_source
        return (
            e
            for e in self.members[cell]
            if self.uses[e.id] < self.rules.per_episode
            and (per_source is None or self.video_uses[e.source_video_id] < per_source)
        )


def _members(
    plan: Plan, targets: Sequence[Target], episodes: Sequence[EpisodeFacts]
) -> dict[Cell, list[EpisodeFacts]]:
    """Return each cell's eligible episodes: those whose candidates coverage would count in it."""
    members: dict[Cell, list[EpisodeFacts]] = {target.cell: [] for target in targets}
    homes: dict[tuple[str, DurationBand], set[Cell]] = {}
    for episode in episodes:
        where = (episode.source_group, episode.duration_band)
        if where not in homes:
            homes[where] = _homes(targets, *where)
        for cell in homes[where]:
            if _suits(plan, episode, cell):
                members[cell].append(episode)
    return members


def _homes(targets: Sequence[Target], source_group: str, band: DurationBand) -> set[Cell]:
    """Return the cells that candidates from one source group and duration band count in."""
    here = {"source_group": source_group, "duration_band": band}
    places = (target.cell.model_copy(update=here) for target in targets)
    return {home(targets, place) for place in places} & {target.cell for target in targets}


def _suits(plan: Plan, episode: EpisodeFacts, cell: Cell) -> bool:
    remembers = episode.has_history or cell.capability is not Capability.MEMORY
    return remembers and (episode.has_speech or not plan.episodes.require_speech)


def _as_seen(outcome: Outcome, last: int) -> Outcome:
    """Return `outcome`, pending unless its batch is at most `last`."""
    if outcome.batch > last:
        return outcome.model_copy(update={"state": CandidateState.PENDING})
    if outcome.state is CandidateState.PENDING:
        raise ValueError(f"batch {outcome.batch} has not finished; results up to {last} are needed")
    return outcome


def _draw(weights: dict[Cell, float], position: float) -> Cell | None:
    """Return the cell at `position` (0 to 1) of the weights laid end to end, None without any."""
    drawn = None
    left = position * sum(weights.values())
    for cell, weight in weights.items():
        if weight:
            drawn, left = cell, left - weight
            if left < 0:
                break
    return drawn


def _unit(*key: object) -> float:
    """Return a number in [0, 1) drawn from `key`."""
    return int(digest(key)[:13], 16) / 16**13
