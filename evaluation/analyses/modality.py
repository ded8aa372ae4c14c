"""What each input is worth: one model under several conditions (paper, Table 3 and Appendix I)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluation.analyses.conditions import COLUMNS, Row, by_model, compared, policy_of
from evaluation.analyses.drawing import intervals
from evaluation.analyses.grid import Grid, counts, named
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study
from evaluation.inputs import Condition
from evaluation.report.cohorts import Shown
from evaluation.report.formats import Table
from evaluation.report.runs import ReportRun

Column = tuple[str, Condition]


def analyse(study: Study) -> Analysis:
    """Return scores by condition and their changes from full, by model and capability.

    Raises NotApplicable unless a model has full and another condition; ScoringError where two runs
    are of one model and condition, where items differ or are unscored.
    """
    found = by_model(study.runs, _place)
    compare = {
        model: runs for model, runs in found.items() if Condition.FULL in runs and len(runs) > 1
    }
    if not compare:
        raise NotApplicable(
            "No model has a run under the condition full and one under another.",
            "Evaluate a model with --condition full and, say, --condition question-only.",
        )
    columns = [(model, c) for model, runs in compare.items() for c in Condition if c in runs]
    runs = tuple(compare[model][condition] for model, condition in columns)
    grid = Grid.of(replace(study, runs=runs))
    members = grid.by_capability()
    found_rows = compared(
        grid,
        members,
        np.eye(len(runs)),
        [
            None if condition is Condition.FULL else columns.index((model, Condition.FULL))
            for model, condition in columns
        ],
    )
    rows = dict(zip(columns, found_rows, strict=True))
    return Analysis(
        name="modality",
        title="What each input is worth",
        unit="an item answered by one model under each of its conditions",
        denominator="all items; every model answered the same ones under every condition",
        tables=(
            Table(
                name="modality-overall",
                title="Macro scores by condition, and changes from full",
                columns=("Model", "Condition", "n", *COLUMNS),
                rows=tuple(
                    (model, str(condition), len(grid.items), *whole)
                    for (model, condition), (whole, *_) in rows.items()
                ),
            ),
            Table(
                name="modality-capabilities",
                title="Scores by condition and capability, and changes from full",
                columns=("Model", "Condition", "Capability", "n", *COLUMNS),
                rows=tuple(
                    (model, str(condition), named(capability), n, *row)
                    for (model, condition), (_, *parts) in rows.items()
                    for capability, n, row in zip(
                        study.declared, counts(members), parts, strict=True
                    )
                ),
            ),
        ),
        drawings=(_drawing(rows),),
        notes=_notes(study.runs, compare),
        runs=grid.runs,
    )


def _place(run: ReportRun) -> Column | None:
    policy = policy_of(run)
    if policy is None or policy.label != policy.condition:
        return None
    return run.manifest.model, policy.condition


def _drawing(rows: Mapping[Column, Sequence[Row]]) -> Drawing:
    found: dict[str, dict[str, Shown]] = {str(c): {} for c in Condition}
    for (model, condition), ((*_, change, _), *_) in rows.items():
        if change is not None:
            found[condition][model] = change
    return intervals(
        "modality-changes",
        "Change of the Raw macro score from full, by condition and model.",
        "Raw, change from full (points)",
        {condition: changes for condition, changes in found.items() if changes},
        zero=True,
    )


def _notes(
    runs: Sequence[ReportRun], compare: Mapping[str, Mapping[Condition, ReportRun]]
) -> tuple[str, ...]:
    notes = []
    for model, found in compare.items():
        card = found[Condition.FULL].manifest.card
        if native := [kind for kind in ("video", "audio") if card.get(f"native_{kind}")]:
            notes.append(
                f"{model} took native {' and '.join(native)} under full and frames and transcript "
                "under the others, so that its changes hold that difference too."
            )
        elif not card:
            notes.append(f"Whether {model} took native media under full is not known.")
    others = sorted({run.manifest.model for run in runs} - set(compare))
    if others:
        notes.append(f"Left out without full or without another condition: {', '.join(others)}.")
    return tuple(notes)
