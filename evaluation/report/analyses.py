"""The analyses of a report: which runs each is of, and those that do not apply with the reason."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.analyses.registry import ANALYSES, Over, find
from evaluation.analyses.values import Analysis, Study
from evaluation.baselines import BASELINES
from evaluation.bootstrap import DRAWS, SEED
from evaluation.error_categories import read_error_files
from evaluation.people.files import read_people
from evaluation.report.runs import ReportRun
from evaluation.report.tables import write_tables
from psychemme.errors import UserError
from psychemme.release.read import Release


@dataclass(frozen=True)
class Section:
    """An analysis with the runs it is of, or `why` there is none."""

    name: str
    line: str
    runs: tuple[ReportRun, ...]
    analysis: Analysis | None = None
    why: str = ""


def make_study(
    release: Release,
    runs: Sequence[ReportRun],
    people: Sequence[Path] = (),
    errors: Sequence[Path] = (),
    classifier: str | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Study:
    """Return what analyses are run on.

    `people` are files of what people said, `errors` of the categories that models gave to
    failures, of which those of `classifier` are taken. Raises ScoringError where a file is faulty.
    """
    labels = read_error_files(errors, release)
    return Study(
        release=release,
        runs=tuple(runs),
        draws=draws,
        seed=seed,
        people=read_people(people, release) if people else None,
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
        return replace(section, analysis=find(name)(replace(study, runs=runs)))
    except UserError as error:
        return replace(section, why=f"{error.problem} {error.action}")


def runs_for(name: str, runs: Sequence[ReportRun]) -> tuple[ReportRun, ...]:
    """Return those of `runs` that the analysis called `name` is of.

    Runs of files under a condition of another tool take no part where conditions are compared.
    """
    over = ANALYSES[name].over
    if over is Over.ALL:
        return tuple(runs)
    if over is Over.CONDITIONS:
        return tuple(run for run in runs if run.manifest.policy.label == run.manifest.condition)
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
