"""People's answers: Raw of each annotator and of all together, beside models on the same items.

Micro pools responses; macro is the unweighted mean of the pooled accuracy within each declared
capability (paper, Appendix K; Tables 27 and 28). What an annotator could not answer has no credit
and stays in the denominator.

Shapes: I items, C declared capabilities, P annotators, M models, b draws.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from evaluation.analyses.agreeing import HELD_FIXED, nominal_cells
from evaluation.analyses.drawing import intervals
from evaluation.analyses.estimating import (
    EpisodeEstimate,
    episode_sums,
    estimated,
    quotient,
    shown,
)
from evaluation.analyses.values import (
    Analysis,
    Drawing,
    NotApplicable,
    Study,
    same_items,
    scores_of,
)
from evaluation.bootstrap import Floats
from evaluation.rater_agreement import Undefined
from evaluation.report.formats import FLAGGED, Cell, Table
from evaluation.report.runs import ReportRun
from evaluation.responses import Outcome, Response
from evaluation.scoring import ScoringError
from psychemme.answers import option_set
from psychemme.release.rows import QuestionRow


def analyse(study: Study) -> Analysis:
    """Return people's accuracy, the models' on the same items, and how far people agree.

    Raises NotApplicable without a person's run, ScoringError where annotators answered different
    items or a model of their condition lacks some of them.
    """
    people = [run for run in study.runs if run.manifest.is_human]
    if not people:
        raise NotApplicable(
            "No run is of a person.",
            "Give a baseline's file with --people, or import it with `psychemme people import`.",
        )
    items = same_items(people)
    models = _models(study.runs, people[0].manifest.condition, items)
    rows = _figures(study, people, models, items)
    figures, gaps = rows[: 1 + len(people) + len(models)], rows[1 + len(people) + len(models) :]
    everyone = f"people ({len(people)})"
    heads = _heads(study, items)
    answered = [sum(_has_answered(run, name) for name in items) for run in people + models]
    counts: list[tuple[int, int]] = [
        (len(items) * len(people), len(items) * len(people) - sum(answered[: len(people)])),
        *((len(items), len(items) - count) for count in answered),
    ]
    names = [everyone, *(run.name for run in people + models)]
    return Analysis(
        name="humans",
        title="People and models on the same items",
        unit="a response of one annotator or model to one item",
        denominator=(
            f"all {len(items)} items of each annotator and model; {everyone} pools "
            f"{len(items) * len(people)} responses"
        ),
        tables=(
            _raw_table(names, counts, figures, heads),
            *_gap_table(models, gaps, heads, everyone),
            _agreement_table(study, people, items),
        ),
        drawings=(_drawing(names, figures),),
        notes=(
            "Only the episodes of these items are redrawn; people and models share the draws.",
            HELD_FIXED,
            "What an annotator could not answer, and a reply without an answer, count as 0.",
            "n is how many distinct items a capability has.",
        ),
    )


def _models(runs: Sequence[ReportRun], condition: str, items: Sequence[str]) -> list[ReportRun]:
    """Return the models' runs with people's inputs; raises ScoringError where one lacks items."""
    found = [r for r in runs if not r.manifest.is_human and r.manifest.condition == condition]
    for run in found:
        if missing := sorted(set(items) - run.responses.keys()):
            raise ScoringError(
                f"{run.name} lacks {len(missing)} of people's items, such as {missing[0]}.",
                "Compare runs over all items that people answered, and leave others out.",
            )
    return found


def _has_answered(run: ReportRun, name: str) -> bool:
    return run.responses[name].outcome is Outcome.OK


def _heads(study: Study, items: Sequence[str]) -> tuple[str, ...]:
    held = [study.release.questions[name].capability for name in items]
    return ("micro", "macro", *(f"{c} (n = {held.count(c)})" for c in study.declared))


def _figures(
    study: Study, people: Sequence[ReportRun], models: Sequence[ReportRun], items: Sequence[str]
) -> list[list[EpisodeEstimate]]:
    """Return micro, macro and each capability for people together, each person and each model.

    Then the same of each model less people together.
    """
    scores = [scores_of(run) for run in (*people, *models)]
    declared, persons = list(study.declared), len(people)
    rows = []
    for name in items:
        place = declared.index(study.release.questions[name].capability)
        row = np.zeros((1 + len(scores), len(declared)))
        row[:, place] = [1.0, *(each[name].symbols[0] for each in scores)]
        rows.append((study.release.questions[name].episode_id, row.ravel().tolist()))

    def of(totals: Floats) -> Floats:
        sums = totals.reshape(len(totals), -1, len(declared))
        together = sums[:, 1 : 1 + persons].sum(axis=1, keepdims=True)
        credit = np.concatenate([together, sums[:, 1:]], axis=1)
        n = np.repeat(sums[:, :1], credit.shape[1], axis=1)
        n[:, 0] *= persons
        each = quotient(credit, n)
        micro = quotient(credit.sum(axis=2), n.sum(axis=2))
        found = np.concatenate([micro[..., None], each.mean(axis=2)[..., None], each], axis=2)
        gaps = found[:, 1 + persons :] - found[:, :1]
        return np.concatenate([found, gaps], axis=1).reshape(len(totals), -1)

    flat = estimated(episode_sums(rows), of, study.draws, study.seed)
    width = 2 + len(declared)
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def _raw_table(
    names: Sequence[str],
    counts: Sequence[tuple[int, int]],
    figures: Sequence[Sequence[EpisodeEstimate]],
    heads: tuple[str, ...],
) -> Table:
    return Table(
        name="humans-raw",
        title="Raw of people and models on the same items",
        columns=("", "responses", "no answer", *heads),
        rows=tuple(
            (name, *count, *map(shown, row))
            for name, count, row in zip(names, counts, figures, strict=True)
        ),
    )


def _drawing(names: Sequence[str], figures: Sequence[Sequence[EpisodeEstimate]]) -> Drawing:
    return intervals(
        "humans-raw",
        "Raw with 95% intervals of people together, each annotator and each model on the "
        "same items, as micro and as macro mean.",
        "Raw (%)",
        {
            name: {"micro": shown(row[0]), "macro": shown(row[1])}
            for name, row in zip(names, figures, strict=True)
        },
    )


def _gap_table(
    models: Sequence[ReportRun],
    gaps: Sequence[Sequence[EpisodeEstimate]],
    heads: tuple[str, ...],
    everyone: str,
) -> tuple[Table, ...]:
    if not models:
        return ()
    return (
        Table(
            name="humans-differences",
            title=f"Raw of models less that of {everyone}, paired",
            columns=("model less people", *heads),
            rows=tuple(
                (run.name, *(shown(gap, is_difference=True) for gap in row))
                for run, row in zip(models, gaps, strict=True)
            ),
        ),
    )


def _agreement_table(study: Study, people: Sequence[ReportRun], items: Sequence[str]) -> Table:
    rows = [study.release.questions[name] for name in items]
    choice = [row for row in rows if row.format.is_choice]
    groups = [("all choice items", choice)]
    groups += [(c, [row for row in choice if row.capability is c]) for c in study.declared]
    return Table(
        name="humans-agreement",
        title="Agreement between annotators",
        columns=("items", "n", "same answer", "alpha", "undefined"),
        rows=tuple((label, len(held), *_agreement(study, people, held)) for label, held in groups),
        note=(
            "Over choice items, an answer being its complete option set; no answer is a gap. same "
            "answer: share of equal answers, in percent; alpha: Krippendorff, nominal. 95% "
            f"intervals (episode bootstrap). {FLAGGED}"
        ),
    )


def _agreement(
    study: Study, people: Sequence[ReportRun], items: Sequence[QuestionRow]
) -> tuple[Cell, ...]:
    """Return the share of equal answers, alpha, and why one is undefined."""
    given = [[_option_ids(run.responses[row.id]) for row in items] for run in people]
    codes = {one: float(code) for code, one in enumerate(sorted({*chain(*given)} - {""}))}
    if not codes:
        return None, None, Undefined.NOTHING_SHARED
    table = np.array([[codes.get(one, np.nan) for one in row] for row in given])
    return nominal_cells(study, [row.episode_id for row in items], table, len(codes))


def _option_ids(response: Response) -> str:
    return "" if response.answer is None else "+".join(sorted(option_set(response.answer)))
