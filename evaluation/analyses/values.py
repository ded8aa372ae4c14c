"""What analyses take and give: a study of runs, and tables with drawings that say what they count.

An analysis is a function `analyse(study) -> Analysis` in a module of this package, named in
`evaluation.analyses.registry`. It reads no file and asks no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.bootstrap import DRAWS, SEED
from evaluation.error_categories import ErrorLabel
from evaluation.people.files import People
from evaluation.report.formats import Table
from evaluation.report.runs import ReportRun
from evaluation.score import FILL_FILES, FILL_RUN, refuse_unscored
from evaluation.scoring import ItemScore, ScoringError
from psychemme.episode import Value
from psychemme.release.read import Release
from psychemme.vocabulary import Capability


class NotApplicable(ScoringError):
    """These runs do not hold what an analysis is about; a full report leaves it out and says so."""


@dataclass(frozen=True)
class Study:
    """Runs of one release, each with a name of its own, and how intervals are drawn.

    `people` is what people said of its items and responses, `errors` are the categories that a
    model gave to failures.
    """

    release: Release
    runs: tuple[ReportRun, ...]
    draws: int = DRAWS
    seed: int = SEED
    people: People | None = None
    errors: tuple[ErrorLabel, ...] = ()

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
    reader must know, such as a subset whose episodes alone are redrawn. `runs` names those that
    took part, none where all did.
    """

    name: str
    title: str
    unit: str
    denominator: str
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


def scores_of(run: ReportRun) -> Mapping[str, ItemScore]:
    """Return a run's scores by item id; raise ScoringError where an item is unscored."""
    refuse_unscored([run.scored], _fill(run), has_bounds=False)
    return {item.item_id: item for item in run.scored.items}


FILL_HUMAN = (
    "Judge open answers, have the annotator finish and import again with --fresh, or leave that "
    "annotator out"
)


def _fill(run: ReportRun) -> str:
    if not run.is_from_file:
        return FILL_HUMAN if run.manifest.is_human else FILL_RUN
    if not run.manifest.is_human:
        return FILL_FILES
    return (
        "Add its row to the file, or its `credit` where it is open; or make a run of it with "
        "`psychemme people import` and judge that"
    )


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


def run_of(study: Study, model: str, condition: str) -> ReportRun | None:
    """Return the run of a model under a condition, None where there is none.

    Raises ScoringError where there are several.
    """
    key = (model, condition)
    found = [r for r in study.runs if (r.manifest.model, r.manifest.condition) == key]
    if len(found) > 1:
        raise ScoringError(
            f"{len(found)} runs are of {model} ({condition}); which one is unclear.",
            "Name one of them.",
        )
    return found[0] if found else None
