"""What kinds of failures each model has, as a classifier sorted them and as people confirmed.

A failure is a response with less than full answer credit. Parsed ones have the classifier's
category, others their outcome, which nobody was asked about.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.analyses.agreeing import nominal_cells, rates
from evaluation.analyses.drawing import stacks
from evaluation.analyses.estimating import episode_sums, estimated, quotient, shown
from evaluation.analyses.values import Analysis, NotApplicable, Study, run_of, scores_of
from evaluation.bootstrap import Floats
from evaluation.error_categories import one_set, scheme
from evaluation.people.rows import ErrorsRow
from evaluation.report.formats import FLAGGED, Table
from evaluation.report.runs import ReportRun
from evaluation.responses import Outcome

Failure = tuple[str, str, str]
"""Model, condition and item."""

UNSORTED = "not sorted"
_RUN = "Run `psychemme errors RUN --model NAME` first, or give files like errors.jsonl."


@dataclass(frozen=True)
class _Sorted:
    """The kinds of a run's failures, by item; `items` is how many were asked."""

    run: ReportRun
    items: int
    kinds: Mapping[str, str]


def analyse(study: Study) -> Analysis:
    """Return how failures distribute over kinds, for each run whose failures were sorted.

    Raises NotApplicable where nobody sorted failures, ScoringError where several classifiers or
    schemes did, and on an unscored item.
    """
    labels = one_set(study.errors)
    by_failure = {(one.model, one.condition, one.item_id): one.category for one in labels}
    named = dict.fromkeys((run.manifest.model, run.manifest.condition) for run in study.runs)
    held = {(one.model, one.condition) for one in labels}
    found = [run_of(study, *key) for key in named if key in held]
    sorted_runs = [_sorted(run, by_failure) for run in found if run]
    if not sorted_runs:
        raise NotApplicable("No failure of these runs was sorted.", _RUN)
    known = scheme(labels[0].scheme)
    occurring = {kind for one in sorted_runs for kind in one.kinds.values()}
    kinds = [*known.ids, *sorted(occurring - {*known.ids, UNSORTED})]
    kinds += [UNSORTED] if UNSORTED in occurring else []
    tables = [_distribution(study, sorted_runs, kinds, "errors-distribution", "Failures by kind")]
    said = study.people.errors if study.people else ()
    if confirmed := [row for row in said if _case(row) in by_failure]:
        tables += _confirmed_tables(study, sorted_runs, kinds, confirmed)
    return Analysis(
        name="errors",
        title="Kinds of failures",
        unit="a failure: a model's response with less than full answer credit",
        denominator="all failures of a run; of confirmation, reviews by people",
        tables=tuple(tables),
        drawings=(
            stacks(
                "errors-distribution",
                "The failures of each run, divided by kind.",
                "share of failures (%)",
                {one.run.name: _shares(one, known.ids) for one in sorted_runs},
            ),
        ),
        notes=(
            f"Sorted by {labels[0].classifier} under the scheme {known.label} ({known.source}).",
            *(f"{each.name}: {each.definition}" for each in known.categories),
            "Kinds that the scheme does not name are outcomes of replies without an answer.",
        ),
    )


def _sorted(run: ReportRun, by_failure: Mapping[Failure, str]) -> _Sorted:
    key = run.manifest.model, run.manifest.condition
    kinds = {}
    for name, score in scores_of(run).items():
        if score.symbols[0] < 1:
            outcome = run.responses[name].outcome
            is_parsed = outcome is Outcome.OK
            kinds[name] = by_failure.get((*key, name), UNSORTED) if is_parsed else str(outcome)
    return _Sorted(run, len(run.responses), kinds)


def _case(row: ErrorsRow) -> Failure:
    return row.model, row.condition, row.item_id


def _shares(one: _Sorted, known: Sequence[str]) -> dict[str, float]:
    """Return the shares of a drawing, which has no colours for each outcome."""
    counts = Counter(
        kind if kind in (*known, UNSORTED) else "no answer" for kind in one.kinds.values()
    )
    parts = [*known, "no answer", *([UNSORTED] if counts[UNSORTED] else [])]
    return {_words(kind): counts[kind] / max(1, len(one.kinds)) for kind in parts}


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _distribution(
    study: Study, runs: Sequence[_Sorted], kinds: Sequence[str], name: str, title: str
) -> Table:
    """Return each run's share of failures by kind, all on the same draws of episodes."""
    width = len(kinds)
    held: dict[str, list[float]] = {}
    for place, one in enumerate(runs):
        for item in one.run.responses:
            episode = study.release.questions[item].episode_id
            sums = held.setdefault(episode, [0.0] * (width * len(runs)))
            if item in one.kinds:
                sums[place * width + kinds.index(one.kinds[item])] += 1

    def of(totals: Floats) -> Floats:
        counts = totals.reshape(len(totals), -1, width)
        shares = quotient(counts, counts.sum(axis=2, keepdims=True))
        return np.asarray(shares.reshape(len(totals), -1))

    found = estimated(episode_sums(held.items()), of, study.draws, study.seed)
    return Table(
        name=name,
        title=title,
        columns=("run", "items", "failures", *map(_words, kinds)),
        rows=tuple(
            (
                *(one.run.name, one.items, len(one.kinds)),
                *(shown(found[place * width + nth]) for nth in range(width)),
            )
            for place, one in enumerate(runs)
        ),
        note=f"Shares of a run's failures in percent; 95% intervals (episode bootstrap). {FLAGGED}",
    )


def _confirmed_tables(
    study: Study, runs: Sequence[_Sorted], kinds: Sequence[str], rows: Sequence[ErrorsRow]
) -> list[Table]:
    decided = _decided(rows)
    after = [_Sorted(one.run, one.items, {**one.kinds, **_of_run(one, decided)}) for one in runs]
    extra = sorted({kind for one in after for kind in one.kinds.values()} - set(kinds))
    title = "Failures by kind, after people's decisions"
    return [
        _confirmation(study, rows),
        _distribution(study, after, [*kinds, *extra], "errors-confirmed-distribution", title),
        _agreement(study, rows),
    ]


def _decided(rows: Sequence[ErrorsRow]) -> dict[Failure, str]:
    """Return the category that more people chose than any other; none where two tie."""
    chosen: dict[Failure, Counter[str]] = defaultdict(Counter)
    for row in rows:
        chosen[_case(row)][row.category] += 1
    ranked = {failure: counts.most_common(2) for failure, counts in chosen.items()}
    return {
        failure: best[0][0]
        for failure, best in ranked.items()
        if len(best) == 1 or best[0][1] > best[1][1]
    }


def _of_run(one: _Sorted, decided: Mapping[Failure, str]) -> dict[str, str]:
    key = one.run.manifest.model, one.run.manifest.condition
    return {name: decided[*key, name] for name in one.kinds if (*key, name) in decided}


def _confirmation(study: Study, rows: Sequence[ErrorsRow]) -> Table:
    """Return how often people confirm the proposed category, over all and by category."""
    names = ["all", *sorted({row.proposed for row in rows})]
    groups = [rows, *([row for row in rows if row.proposed == name] for name in names[1:])]
    found = rates(
        study,
        [[(_case(row), row.category == row.proposed) for row in g] for g in groups],
    )
    return Table(
        name="errors-confirmed",
        title="Categories that people confirmed",
        columns=("proposed", "reviews", "failures", "confirmed"),
        rows=tuple(
            (_words(name), len(group), len({_case(row) for row in group}), shown(share))
            for name, group, share in zip(names, groups, found, strict=True)
        ),
        note=f"Shares of reviews in percent; 95% intervals redraw failures. {FLAGGED}",
    )


def _agreement(study: Study, rows: Sequence[ErrorsRow]) -> Table:
    """Return how far people agree with the classifier, by majority, and among themselves."""
    failures = sorted({_case(row) for row in rows})
    codes = {
        c: n for n, c in enumerate(sorted({c for r in rows for c in (r.proposed, r.category)}))
    }
    given = {(row.person, _case(row)): codes[row.category] for row in rows}
    proposed = {_case(row): codes[row.proposed] for row in rows}
    decided = {failure: codes[category] for failure, category in _decided(rows).items()}
    people = sorted({row.person for row in rows})
    pair: list[list[int | None]] = [
        [decided.get(one) for one in failures],
        [proposed[one] for one in failures],
    ]
    among = [[given.get((person, one)) for one in failures] for person in people]
    raters = {"majority of people / classifier": pair, "between people": among}
    units = list(map("\n".join, failures))
    return Table(
        name="errors-agreement",
        title=f"Agreement about the categories of {len(failures)} failures",
        columns=("raters", "same", "alpha", "undefined"),
        rows=tuple(
            (name, *nominal_cells(study, units, np.array(labels, dtype=float), len(codes)))
            for name, labels in raters.items()
        ),
        note=(
            "same: share of equal categories, in percent; alpha: Krippendorff, nominal. A tie has "
            f"no majority. 95% intervals redraw failures. {FLAGGED}"
        ),
    )
