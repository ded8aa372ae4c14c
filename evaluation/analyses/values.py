"""What analyses take and give: a study of runs, and tables with drawings that say what they count.

An analysis is a function `analyse(study) -> Analysis` in a module of this package, named in
`evaluation.analyses.registry`. It reads no file and asks no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.bootstrap import DRAWS, SEED
from evaluation.report.formats import Table
from evaluation.report.runs import ReportRun
from evaluation.scoring import ItemScore, ScoringError
from psychemme.episode import Value
from psychemme.release.read import Release
from psychemme.vocabulary import Capability


class NotApplicable(ScoringError):
    """These runs do not hold what an analysis is about; a full report leaves it out and says so."""


@dataclass(frozen=True)
class Study:
    """Runs of one release, each with a name of its own, and how intervals are drawn."""

    release: Release
    runs: tuple[ReportRun, ...]
    draws: int = DRAWS
    seed: int = SEED

    @property
    def declared(self) -> tuple[Capability, ...]:
        """The capabilities that the release declares."""
        return self.release.manifest.capabilities


class Drawing(Value):
    """A figure as SVG without anything remote; `alt` says what it shows to who cannot see it."""

    name: str
    alt: str
    svg: str


class Analysis(Value):
    """Tables and drawings of one analysis.

    `unit` is what one observation is; `denominator` is what rates are over; `notes` are what a
    reader must know, such as a subset whose episodes alone are redrawn.
    """

    name: str
    title: str
    unit: str
    denominator: str
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()


def scores_of(run: ReportRun) -> Mapping[str, ItemScore]:
    """Return a run's scores by item id; raise ScoringError where an item is unscored."""
    for item in run.scored.items:
        if not item.scored:
            raise ScoringError(
                f"{run.name}: item {item.item_id} is unscored.",
                "Resume the run or judge it to fill the gap.",
            )
    return {item.item_id: item for item in run.scored.items}


def same_items(runs: Sequence[ReportRun]) -> tuple[str, ...]:
    """Return the item ids that all `runs` hold, in ascending order.

    Raises ScoringError where they hold different items, NotApplicable where there is no run.
    """
    if not runs:
        raise NotApplicable("There is no run to analyse.", "Name at least one.")
    held = [frozenset(run.responses) for run in runs]
    for run, items in zip(runs, held, strict=True):
        if apart := sorted(items ^ held[0]):
            raise ScoringError(
                f"{runs[0].name} and {run.name} differ in {len(apart)} items, such as {apart[0]}.",
                "Analyse runs over the same items together, others apart.",
            )
    return tuple(sorted(held[0]))
