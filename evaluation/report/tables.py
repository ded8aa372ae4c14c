"""The tables of a report, from its cohorts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evaluation.comparisons import Measure
from evaluation.report.cohorts import LOSSES, Cohort, Row, Shown, differences
from evaluation.report.formats import (
    FLAGGED,
    NOTE,
    Cell,
    Table,
    as_csv,
    as_latex,
    as_markdown,
    text,
)
from evaluation.scoring import EvidenceSupport, LogicalIntegrity

SYMBOLS = (
    "a: answer credit, 0, 0.5 or 1. c: 1 with an informative rationale, else 0. ẽ and l̃: the "
    "weights e and l of Evidence Support and Logical Integrity (1.2, 1, 0.8, 0.5 and 0 from the "
    "best label to the worst), each divided by 1.2. v = a c ẽ l̃: Verified credit."
)
_FORMATS = {"md": as_markdown, "tex": as_latex, "csv": as_csv}
_COUNTS = ("planned", "ok", "failed", "unscored")


def make_tables(cohorts: Sequence[Cohort]) -> list[Table]:
    """Return every table; those of the second cohort on have its number in their names."""
    return [
        table.model_copy(update={"name": f"{table.name}-{number}"}) if number > 1 else table
        for number, cohort in enumerate(cohorts, 1)
        for table in _tables(cohort)
    ]


def files_of(tables: Sequence[Table]) -> list[str]:
    """Return the names of the files that hold `tables`."""
    return [f"{table.name}.{end}" for table in tables for end in _FORMATS]


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write each table to `folder` as Markdown, LaTeX and CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for end, form in _FORMATS.items():
            (folder / f"{table.name}.{end}").write_text(form(table), encoding="utf-8")


def _tables(cohort: Cohort) -> Iterator[Table]:
    yield leaderboard(cohort)
    for measure in Measure:
        yield capabilities(cohort, measure)
    yield losses(cohort)
    yield labels(cohort, "evidence-support", EvidenceSupport)
    yield labels(cohort, "logical-integrity", LogicalIntegrity)
    if cohort.pairs:
        yield paired_differences(cohort)
    if any(row.by_group for row in cohort.rows):
        yield sensitivity(cohort)


def leaderboard(cohort: Cohort) -> Table:
    """Return Raw, Verified and retention of every run, with ranks and every denominator."""
    return Table(
        name="leaderboard",
        title=f"Leaderboard: macro averages over {cohort.extent} capabilities",
        columns=(
            *("run", "condition", *_COUNTS, "Raw", "Verified", "retention"),
            *("Raw rank", "Verified rank", "notes"),
        ),
        rows=tuple(_leading(row) for row in cohort.rows),
        note=f"{NOTE} {ranks_note(cohort)}",
    )


def ranks_note(cohort: Cohort) -> str:
    """Return what ranks are among."""
    return (
        "Ranks are 95% intervals among the ranked runs of one condition, each condition apart: "
        f"{text(cohort.competing)}."
    )


def _leading(row: Row) -> tuple[Cell, ...]:
    counts = (row.planned, row.ok, row.failed, row.unscored)
    figures = (row.figures[measure, None] for measure in Measure)
    ranks = (rank_text(row, measure) for measure in (Measure.RAW, Measure.VERIFIED))
    notes = "; ".join(row.run.notes)
    return (row.run.name, row.run.scored.condition, *counts, *figures, *ranks, notes)


def rank_text(row: Row, measure: Measure) -> str | None:
    """Return a rank or the interval of ranks, None where a run is not ranked."""
    found = row.ranks.get(measure)
    if found is None:
        return None
    return f"{found[0]}" if found[0] == found[1] else f"{found[0]} to {found[1]}"


def capabilities(cohort: Cohort, measure: Measure) -> Table:
    """Return one measure by capability."""
    return Table(
        name=f"capabilities-{measure}",
        title=f"{measure.capitalize()} by capability",
        columns=("run", *(f"{name} (n={n})" for name, n in cohort.n.items())),
        rows=tuple(
            (row.run.name, *(row.figures[measure, name] for name in cohort.n))
            for row in cohort.rows
        ),
    )


def losses(cohort: Cohort) -> Table:
    """Return the credit lost at each stage and what is left; a row sums to 100."""
    return Table(
        name="stage-losses",
        title="Credit lost at each stage, and Verified credit",
        columns=("run", "n", *LOSSES),
        rows=tuple(
            (row.run.name, row.planned, *_shares(row.losses or [None] * len(LOSSES)))
            for row in cohort.rows
        ),
        note=(
            "Percent, macro averages: 1 - a, a(1 - c), ac(1 - e/1.2), ac(e/1.2)(1 - l/1.2), v; "
            "they sum to 100. a: answer credit; c: 1 with an informative rationale, else 0; e, l: "
            "weights of Evidence Support and Logical Integrity, 1.2 to 0; v: Verified credit."
        ),
    )


def _shares(values: Sequence[float | None]) -> Iterator[Shown]:
    return (Shown(point=value) for value in values)


def labels(
    cohort: Cohort, name: str, kind: type[EvidenceSupport] | type[LogicalIntegrity]
) -> Table:
    """Return how often the judge gave each label, over the responses it labelled."""
    title = name.replace("-", " ").capitalize()
    return Table(
        name=f"labels-{name}",
        title=f"{title}: labels of explained responses",
        columns=("run", "labelled", *(label.replace("_", " ") for label in kind)),
        rows=tuple(
            (row.run.name, row.labelled, *(_counts(row, kind).get(label, 0) for label in kind))
            for row in cohort.rows
        ),
        note="Counts. A response without an informative rationale has no label.",
    )


def _counts(row: Row, kind: type[EvidenceSupport] | type[LogicalIntegrity]) -> Mapping[str, int]:
    return row.support if kind is EvidenceSupport else row.logic


def paired_differences(cohort: Cohort) -> Table:
    """Return all pairs of runs, overall and by capability, each once."""
    names = [row.run.name for row in cohort.rows]
    return Table(
        name="differences",
        title="Paired differences between runs",
        columns=("run", "less", "capability", "measure", "difference", "p", "Holm p"),
        rows=tuple(
            (
                *(one.run, one.against, str(one.figure.capability or "overall")),
                *(str(one.figure.measure), one.shown, one.p, one.p_holm),
            )
            for place, against in enumerate(names)
            for one in differences(cohort, against)
            if names.index(one.run) < place
        ),
        note=(
            "Percentage points with 95% intervals (paired episode bootstrap). Exploratory; Holm "
            f"over all pairs of one figure. {FLAGGED}"
        ),
    )


def sensitivity(cohort: Cohort) -> Table:
    """Return the overall figures with intervals that resample recording groups."""
    return Table(
        name="sensitivity",
        title=f"Intervals from {cohort.groups} recording groups",
        columns=("run", *(measure.capitalize() for measure in Measure)),
        rows=tuple(
            (row.run.name, *(row.by_group[measure, None] for measure in Measure))
            for row in cohort.rows
            if row.by_group
        ),
        note=f"As the leaderboard, with recording groups resampled in place of episodes. {FLAGGED}",
    )
