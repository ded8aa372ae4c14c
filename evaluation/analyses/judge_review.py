"""What experts say of a judge: their own blind labels beside its labels, and what they endorse.

A case is one response with one judge's labels, a review one expert's look at a case. Intervals
redraw episodes with all their cases and reviews. A review endorses where the expert endorses every
decision of the case; cases with a planted decision are no part of that (paper, Appendix L).

Shapes: U cases, S labels in their order, b draws.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evaluation.analyses.agreeing import (
    HELD_FIXED,
    LEAST_FOR_MAJORITY,
    coefficient,
    coincidences,
    joint_counts,
    kappa_of,
    majority,
    ordinal_alpha_of,
    raw_of,
    spearman_of,
    why_undefined,
)
from evaluation.analyses.drawing import intervals
from evaluation.analyses.endorsements import Case, case_of, endorsed_table, planted_table, words
from evaluation.analyses.estimating import episode_sums, estimated, shown
from evaluation.analyses.values import Analysis, Drawing, NotApplicable, Study, run_of
from evaluation.bootstrap import Floats
from evaluation.judge import Judgement, covered
from evaluation.people.files import People, refuse_unlike
from evaluation.people.rows import LEVELS, Decision, Draw, EndorseRow, LabelRow
from evaluation.report.cohorts import Shown
from evaluation.report.formats import FLAGGED, Cell, Table
from evaluation.scoring import E, L, ScoringError

FACTOR = "factor e·l"
JUDGE, MAJORITY = "judge", "majority of experts"
_FACTORS = tuple(sorted({round(e * ell, 6) for e in E.values() for ell in L.values()})[::-1])


def analyse(study: Study) -> Analysis:
    """Return agreement of experts with the judge, and what they endorse and catch.

    Raises NotApplicable where no expert said anything, ScoringError where experts reviewed several
    judges, a response of no run at hand or one that its judge did not label, or were shown other
    than what the judge decided.
    """
    people = study.people
    if people is None or not (people.labels or people.endorsements):
        raise NotApplicable(
            "No expert reviewed a judge.", "Give a file of `psychemme people export` with --people."
        )
    if len(judges := sorted(_judges(people))) > 1:
        raise ScoringError(
            f"Experts reviewed {len(judges)} judges: {', '.join(judges)}.",
            "Give the files of one judge with --people.",
        )
    shown_by = _judgements(study, people.endorsements)
    for row in people.endorsements:
        refuse_unlike(row, shown_by[case_of(row)][0])
    tables: list[Table] = []
    drawings: list[Drawing] = []
    if people.labels:
        tables += _blind_tables(study, people.labels)
        rows = [row for row in tables[0].rows if str(row[0]).endswith(f"/ {JUDGE}")]
        drawings.append(
            intervals(
                "judge-review-agreement",
                "Share of blind labels equal to the judge's, with 95% intervals, of each expert "
                "and of their majority.",
                "same label (%)",
                _by_name((row[0], row[1], row[3]) for row in rows),
            )
        )
    if people.endorsements:
        tables.append(endorsed_table(study, people.endorsements))
        drawings.append(
            intervals(
                "judge-review-endorsed",
                "Share of reviews and decisions that experts endorse, with 95% intervals.",
                "endorsed (%)",
                _by_name((row[0], "endorsed", row[3]) for row in tables[-1].rows),
            )
        )
        tables.append(planted_table(study, people.endorsements))
    return Analysis(
        name="judge-review",
        title="Experts' reviews of the judge",
        unit="a review: one expert's look at one response with one judge's labels",
        denominator=(
            "reviews of cases without a planted decision, and single decisions in them; of catch "
            "rates, the planted ones"
        ),
        tables=tuple(tables),
        drawings=tuple(drawings),
        notes=(HELD_FIXED, *_draw_notes(people)),
    )


def _judges(people: People) -> set[str]:
    return {row.judge for row in people.labels} | {row.judge for row in people.endorsements}


_DRAWS = {
    Draw.EVEN: (
        "The cases were drawn evenly over capabilities and Evidence Support labels: figures over "
        "all of them say how the judge does across labels, not on the benchmark's own mix."
    ),
    Draw.RANDOM: "The cases were drawn at random, so that they have the benchmark's own mix.",
    None: (
        "The files do not say how the cases were drawn: unless at random, figures over all of them "
        "are not those of the benchmark's own mix."
    ),
}


def _draw_notes(people: People) -> Iterator[str]:
    draws = {row.draw for row in people.labels} | {row.draw for row in people.endorsements}
    if len(draws) > 1:
        yield "Cases of several studies that drew them in different ways are together here."
    yield from (note for draw, note in _DRAWS.items() if draw in draws)


def _by_name(cells: Iterable[tuple[Cell, Cell, Cell]]) -> dict[str, dict[str, Shown]]:
    """Return figures by row and series."""
    found: dict[str, dict[str, Shown]] = defaultdict(dict)
    for label, series, cell in cells:
        if isinstance(cell, Shown):
            found[str(label)][str(series)] = cell
    return found


@dataclass(frozen=True)
class _Subject:
    """What is labelled: `size` labels, their places by case for each rater."""

    name: str
    size: int
    places: Mapping[str, Mapping[Case, int]]

    @property
    def experts(self) -> list[str]:
        return sorted(self.places.keys() - {JUDGE, MAJORITY})


def _blind_tables(study: Study, rows: Sequence[LabelRow]) -> Iterator[Table]:
    subjects = _subjects(study, rows)
    yield Table(
        name="judge-review-agreement",
        title="Blind labels of experts beside the judge's",
        columns=("raters", "subject", "cases", "same", "kappa", "alpha", "Spearman", "undefined"),
        rows=tuple(row for subject in subjects for row in _agreements(study, subject)),
        note=(
            "same: share of equal labels, in percent; kappa: Cohen, quadratic weights; alpha: "
            "Krippendorff, ordinal; Spearman: rank correlation of labels in their order, and of "
            "the factor e·l. kappa and Spearman compare two raters. The majority is the label that "
            f"more experts gave than any other, of {LEAST_FOR_MAJORITY} or more; without one a "
            f"case is left out, which leaves those that experts agree on: {_left_out(subjects)}. "
            f"95% intervals (episode bootstrap). {FLAGGED}"
        ),
    )
    for decision in Decision:
        if subject := next((one for one in subjects if one.name == decision.value), None):
            yield _confusion_table(subject, decision)


def _subjects(study: Study, rows: Sequence[LabelRow]) -> list[_Subject]:
    """Return the places of the labels that count, of every subject somebody labelled."""
    held: dict[str, dict[str, dict[Case, int]]] = defaultdict(lambda: defaultdict(dict))
    judgements = _judgements(study, rows)
    for row in rows:
        case = case_of(row)
        judgement, is_covered = judgements[case]
        for name, own, given in _labels(row, judgement, is_covered):
            held[name][f"expert {row.expert}"][case] = own
            held[name][JUDGE][case] = given
    order = [*(decision.value for decision in Decision), FACTOR]
    sizes = {decision.value: len(LEVELS[decision]) for decision in Decision}
    sizes[FACTOR] = len(_FACTORS)
    for by_rater in held.values():
        if decided := _majority([p for name, p in by_rater.items() if name != JUDGE]):
            by_rater[MAJORITY] = decided
    return [_Subject(name, sizes[name], held[name]) for name in order if name in held]


def _judgements(
    study: Study, rows: Iterable[LabelRow | EndorseRow]
) -> dict[Case, tuple[Judgement, bool]]:
    """Return the judge's labels of each case, and whether they count beside an answer's credit."""
    found = {}
    for case in sorted({case_of(row) for row in rows}):
        judge, model, condition, item = case
        run = run_of(study, model, condition)
        judged = run.judged.get((judge, 0), {}) if run else {}
        if run is None or item not in judged:
            raise ScoringError(
                f"Experts reviewed {model} ({condition}) on item {item}, which {judge} did not "
                "label in the runs at hand.",
                "Name every run whose responses experts reviewed.",
            )
        is_covered = covered(run.responses[item], study.release.questions[item]) == 1
        found[case] = (judged[item], is_covered)
    return found


def _labels(
    row: LabelRow, judgement: Judgement, is_covered: bool
) -> Iterator[tuple[str, int, int]]:
    """Yield each subject with the expert's and the judge's place; labels of c = 0 do not count."""
    for decision in Decision:
        own, given = getattr(row, decision), getattr(judgement, decision)
        counts = is_covered or decision is Decision.ANSWER_CREDIT
        if counts and own is not None and given is not None:
            levels = LEVELS[decision]
            yield decision.value, levels.index(own), levels.index(given)
    if is_covered:
        yield FACTOR, _factor(row), _factor(judgement)


def _factor(labels: LabelRow | Judgement) -> int:
    return _FACTORS.index(round(E[labels.evidence_support] * L[labels.logical_integrity], 6))


def _majority(raters: Sequence[Mapping[Case, int]]) -> dict[Case, int]:
    """Return the place that most experts chose, of each case with labels enough and no tie."""
    found = {}
    for case in sorted({case for places in raters for case in places}):
        given = [places[case] for places in raters if case in places]
        if len(given) >= LEAST_FOR_MAJORITY and (place := majority(given)) is not None:
            found[case] = place
    return found


def _left_out(subjects: Sequence[_Subject]) -> str:
    """Return of how many cases each subject lacks a majority."""
    counts = [
        (one.name, len(one.places[JUDGE]), len(one.places.get(MAJORITY, ()))) for one in subjects
    ]
    return ", ".join(f"{words(name)} {n - decided} of {n}" for name, n, decided in counts)


def _agreements(study: Study, subject: _Subject) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each two raters and one for all experts, all on the same draws."""
    experts, size = subject.experts, subject.size
    cases = sorted({case for places in subject.places.values() for case in places})
    labels = {
        rater: np.array([places.get(case, np.nan) for case in cases], dtype=float)
        for rater, places in subject.places.items()
    }
    pairs = [(rater, JUDGE) for rater in (MAJORITY, *experts) if rater in labels]
    if subject.name != FACTOR:
        pairs += list(combinations(experts, 2))
    joint = [joint_counts(labels[one], labels[other], size) for one, other in pairs]
    among = coincidences(np.array([labels[rater] for rater in experts]), size)
    # Two raters' coincidences are their joint counts in either order.
    stacked = np.stack([*joint, among], axis=1)

    def of(totals: Floats) -> Floats:
        found = totals.reshape(len(totals), -1, size, size)
        flat = found[:, :-1].reshape(-1, size, size)
        both = np.concatenate([flat + flat.swapaxes(1, 2), found[:, -1]])
        raw, alpha = raw_of(both), ordinal_alpha_of(both)
        two = len(flat)
        parts = [raw[:two], kappa_of(flat), alpha[:two], spearman_of(flat)]
        each = np.stack(parts, axis=1).reshape(len(totals), -1)
        return np.concatenate([each, raw[two:, None], alpha[two:, None]], axis=1)

    episodes = [study.release.questions[case[-1]].episode_id for case in cases]
    sums = episode_sums(zip(episodes, stacked.reshape(len(cases), -1).tolist(), strict=True))
    found = estimated(sums, of, study.draws, study.seed)
    counts = [int(one.sum()) for one in joint]
    name = subject.name.replace("_", " ")
    for nth, (one, other) in enumerate(pairs):
        raw, kappa, alpha, rho = found[4 * nth : 4 * nth + 4]
        is_factor = subject.name == FACTOR
        cells = (None, None) if is_factor else (coefficient(kappa), coefficient(alpha))
        why = why_undefined(raw, kappa, alpha, rho)
        yield f"{one} / {other}", name, counts[nth], shown(raw), *cells, coefficient(rho), why
    if len(experts) > 1 and subject.name != FACTOR:
        raw, alpha = found[-2:]
        n = int((among.sum(axis=(1, 2)) > 0).sum())
        among_all = (None, coefficient(alpha), None)
        yield "between experts", name, n, shown(raw), *among_all, why_undefined(raw, alpha)


def _confusion_table(subject: _Subject, decision: Decision) -> Table:
    """Return how many reviews gave each label, by the judge's label."""
    levels = [words(level) for level in LEVELS[decision]]
    counts = Counter(
        (subject.places[JUDGE][case], place)
        for expert in subject.experts
        for case, place in subject.places[expert].items()
    )
    return Table(
        name=f"judge-review-confusion-{decision.replace('_', '-')}",
        title=f"{words(decision).capitalize()}: experts' labels by the judge's label",
        columns=("judge", *levels),
        rows=tuple(
            (f"judge: {label}", *(counts[row, column] for column in range(subject.size)))
            for row, label in enumerate(levels)
        ),
        note="Counts of reviews.",
    )
