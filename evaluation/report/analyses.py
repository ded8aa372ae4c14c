"""The analyses of a report: which runs each is of, and those that do not apply with the reason."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.analyses.registry import ANALYSES, Over, find
from evaluation.analyses.values import Analysis, NotApplicable, Study
from evaluation.baselines import BASELINES
from evaluation.bootstrap import DRAWS, SEED
from evaluation.error_categories import read_error_files
from evaluation.people.files import read_people, refuse_unproposed
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Number, Table
from evaluation.report.runs import ReportRun, of_people
from evaluation.report.tables import write_tables
from psychemme.errors import UserError
from psychemme.release.read import Release

FEW = 20
"""Episodes below which a percentile interval is known to be too narrow."""
UNADJUSTED = (
    "Exploratory: intervals are not adjusted for how many figures and differences are looked at."
)


@dataclass(frozen=True)
class Section:
    """An analysis with the runs it is of, or `why` there is none.

    One that is `left_out` applies to the runs, but something is missing or wrong.
    """

    name: str
    line: str
    runs: tuple[ReportRun, ...]
    analysis: Analysis | None = None
    why: str = ""
    left_out: bool = False


def make_study(
    release: Release,
    runs: Sequence[ReportRun],
    people: Sequence[Path] = (),
    errors: Sequence[Path] = (),
    classifier: str | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Study:
    """Return what analyses are run on; annotators in files of people are runs too.

    `people` are files of what people said, `errors` of the categories that models gave to
    failures, of which those of `classifier` are taken. Raises ScoringError where a file is faulty.
    """
    labels = read_error_files(errors, release)
    said = read_people(people, release) if people else None
    if said is not None:
        proposed: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for one in labels:
            proposed[one.model, one.condition, one.item_id].add(one.category)
        known = {(run.manifest.model, run.manifest.condition) for run in runs}
        refuse_unproposed(said.errors, known, proposed)
    present = {run.manifest.model for run in runs if run.manifest.is_human}
    annotators = of_people(release, said.baseline) if said else []
    return Study(
        release=release,
        runs=(*runs, *(run for run in annotators if run.manifest.model not in present)),
        draws=draws,
        seed=seed,
        people=said,
        errors=tuple(one for one in labels if classifier in (None, one.classifier)),
    )


def sections(study: Study) -> list[Section]:
    """Return every analysis of `study`, each over the runs it is of."""
    return [section_of(name, study) for name in ANALYSES]


def section_of(name: str, study: Study) -> Section:
    """Return one analysis of `study`, or why it does not apply."""
    runs = runs_for(name, study.runs)
    section = Section(name, ANALYSES[name].line, runs)
    try:
        found = analysed(name, replace(study, runs=runs))
        used = tuple(run for run in runs if run.name in found.runs)
        return replace(section, runs=used, analysis=found)
    except UserError as error:
        is_fault = not isinstance(error, NotApplicable)
        return replace(section, why=f"{error.problem} {error.action}", left_out=is_fault)


def analysed(name: str, study: Study) -> Analysis:
    """Return the analysis called `name` of all runs of `study`, with what is true of every one."""
    found = find(name)(study)
    tables = tuple(map(_cautioned, found.tables))
    runs = found.runs or tuple(run.name for run in study.runs)
    added = {"tables": tables, "notes": (*found.notes, UNADJUSTED), "runs": runs}
    return found.model_copy(update=added)


def _cautioned(table: Table) -> Table:
    """Return the table; its note says how many figures have an interval that promises too much."""
    known = [
        cell
        for row in table.rows
        for cell in row
        if isinstance(cell, Shown | Number) and cell.low is not None
    ]
    few = sum(cell.episodes is not None and cell.episodes < FEW for cell in known)
    flat = sum(cell.low == cell.high for cell in known)
    said = [
        f"{few} of {len(known)} intervals rest on fewer than {FEW} episodes and are too narrow.",
        f"{flat} of {len(known)} intervals have no width: all draws agree, which is no certainty.",
    ]
    notes = [one for one, count in zip(said, (few, flat), strict=True) if count]
    return table.model_copy(update={"note": " ".join([table.note, *notes])})


def runs_for(name: str, runs: Sequence[ReportRun]) -> tuple[ReportRun, ...]:
    """Return those of `runs` that the analysis called `name` is of.

    Runs of files under a condition of another tool take no part where conditions are compared.
    """
    over = ANALYSES[name].over
    if over is Over.ALL:
        return tuple(runs)
    if over is Over.CONDITIONS:
        models = (run for run in runs if not run.manifest.is_human)
        return tuple(run for run in models if run.manifest.policy.label == run.manifest.condition)
    people = (run for run in runs if run.manifest.is_human and over is Over.WITH_PEOPLE)
    return (*of_one_condition(runs), *people)


def of_one_condition(runs: Iterable[ReportRun]) -> tuple[ReportRun, ...]:
    """Return the models' runs over the most items, of the condition that most of them share.

    Baselines, which may have made the items, are left out unless there is no other; of conditions
    that equally many share, full comes first.
    """
    models = [run for run in runs if not run.manifest.is_human]
    others = [run for run in models if run.manifest.model not in BASELINES]
    found = others or models
    most = max((len(run.responses) for run in found), default=0)
    widest = [run for run in found if len(run.responses) == most]
    shared = Counter(run.manifest.condition for run in widest)
    best = min(shared, key=lambda name: (-shared[name], name != "full", name), default="")
    return tuple(run for run in widest if run.manifest.condition == best)


def write_analysis(analysis: Analysis, tables: Path, figures: Path) -> None:
    """Write its tables to `tables` as Markdown, LaTeX and CSV, and its drawings to `figures`."""
    write_tables(analysis.tables, tables)
    figures.mkdir(parents=True, exist_ok=True)
    for drawing in analysis.drawings:
        (figures / f"{drawing.name}.svg").write_text(drawing.svg, encoding="utf-8")
