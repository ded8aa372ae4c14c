"""What kinds of failures each model has, as a classifier sorted them and as people confirmed.

A failure is a response with less than full answer credit. Parsed ones have the classifier's
category, others their outcome, which nobody was asked about.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.analyses.agreeing import (
    HELD_FIXED,
    LEAST_FOR_MAJORITY,
    majority,
    nominal_cells,
    rates,
)
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

    A run all of whose failures are outcomes needs nobody to sort them.

    Raises NotApplicable where nobody sorted failures, ScoringError where several classifiers or
    schemes did, and on an unscored item.
    """
    labels = one_set(study.errors)
    by_failure = {(one.model, one.condition, one.item_id): one.category for one in labels}
    held = frozenset((one.model, one.condition) for one in labels)
    if not any(_key(run) in held for run in study.runs):
        raise NotApplicable("No failure of these runs was sorted.", _RUN)
    sorted_runs = list(_sorted_runs(study, by_failure, held))
    known = scheme(labels[0].scheme)
    occurring = {kind for one in sorted_runs for kind in one.kinds.values()}
    kinds = [*known.ids, *sorted(occurring - {*known.ids, UNSORTED})]
    kinds += [UNSORTED] if UNSORTED in occurring else []
    tables = [_distribution(study, sorted_runs, kinds, "errors-distribution", "Failures by kind")]
    said = study.people.errors if study.people else ()
    proposed = {
        (*_key(one.run), item): kind
        for one in sorted_runs
        for item, kind in one.kinds.items()
        if kind in known.ids
    }
    confirmed = [
        row
        for row in said
        if proposed.get(_case(row)) == row.proposed and row.category in known.ids
    ]
    if confirmed:
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
            *_unsorted_note(study, sorted_runs),
            *_people_notes(len(confirmed), len(said)),
        ),
    )


def _key(run: ReportRun) -> tuple[str, str]:
    return run.manifest.model, run.manifest.condition


def _unsorted_note(study: Study, runs: Sequence[_Sorted]) -> Iterator[str]:
    kept = {one.run.name for one in runs}
    if names := [run.name for run in study.runs if run.name not in kept]:
        yield f"Left out, for nobody sorted their failures: {', '.join(names)}."


def _people_notes(kept: int, said: int) -> Iterator[str]:
    if kept:
        yield HELD_FIXED
        yield (
            "A study draws the failures that people see evenly over capabilities and categories: "
            "what they confirm of all of them is not a share of the runs' own mix."
        )
    if said > kept:
        yield (
            f"Left out: {said - kept} of {said} reviews by people, of other failures, of what "
            "another classifier proposed, or under another scheme."
        )


def _sorted_runs(
    study: Study, by_failure: Mapping[Failure, str], held: frozenset[tuple[str, str]]
) -> Iterator[_Sorted]:
    for run in study.runs:
        is_held = _key(run) in held
        if is_held:
            run_of(study, *_key(run))  # Refuses two runs of one name.
        one = _sorted(run, by_failure)
        if is_held or (one.kinds and UNSORTED not in one.kinds.values()):
            yield one


def _sorted(run: ReportRun, by_failure: Mapping[Failure, str]) -> _Sorted:
    key = _key(run)
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
    study: Study,
    runs: Sequence[_Sorted],
    kinds: Sequence[str],
    name: str,
    title: str,
    reviewed: frozenset[Failure] | None = None,
) -> Table:
    """Return each run's share of failures by kind, all on the same draws of episodes.

    `reviewed` are counted, where people reviewed any.
    """
    width = len(kinds)
    seen, counted = reviewed or frozenset(), ("reviewed",) if reviewed else ()
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
        columns=("run", "items", "failures", *counted, *map(_words, kinds)),
        rows=tuple(
            (
                *(one.run.name, one.items, len(one.kinds)),
                *(sum((*_key(one.run), item) in seen for item in one.kinds) for _ in counted),
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
    after = [
        replace(
            one,
            kinds={
                name: decided.get((*_key(one.run), name), kind) for name, kind in one.kinds.items()
            },
        )
        for one in runs
    ]
    title = "Failures by kind, where reviewed as people decided"
    reviewed = frozenset(map(_case, rows))
    return [
        _confirmation(study, rows),
        _distribution(study, after, kinds, "errors-confirmed-distribution", title, reviewed),
        _agreement(study, rows),
    ]


def _decided(rows: Sequence[ErrorsRow], least: int = 1) -> dict[Failure, str]:
    """Return what more people chose than any other, of failures with `least` reviews and no tie."""
    chosen: dict[Failure, list[str]] = defaultdict(list)
    for row in rows:
        chosen[_case(row)].append(row.category)
    best = {failure: majority(given) for failure, given in chosen.items() if len(given) >= least}
    return {failure: category for failure, category in best.items() if category is not None}


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
        note=f"Shares of reviews in percent; 95% intervals (episode bootstrap). {FLAGGED}",
    )


def _agreement(study: Study, rows: Sequence[ErrorsRow]) -> Table:
    """Return how far people agree with the classifier, by majority, and among themselves."""
    failures = sorted({_case(row) for row in rows})
    codes = {
        c: n for n, c in enumerate(sorted({c for r in rows for c in (r.proposed, r.category)}))
    }
    given = {(row.person, _case(row)): codes[row.category] for row in rows}
    proposed = {_case(row): codes[row.proposed] for row in rows}
    decided = {
        failure: codes[category] for failure, category in _decided(rows, LEAST_FOR_MAJORITY).items()
    }
    people = sorted({row.person for row in rows})
    pair: list[list[int | None]] = [
        [decided.get(one) for one in failures],
        [proposed[one] for one in failures],
    ]
    among = [[given.get((person, one)) for one in failures] for person in people]
    raters = {"majority of people / classifier": pair} if decided else {}
    raters |= {"between people": among}
    episodes = [study.release.questions[failure[-1]].episode_id for failure in failures]
    return Table(
        name="errors-agreement",
        title=f"Agreement about the categories of {len(failures)} failures",
        columns=("raters", "same", "alpha", "undefined"),
        rows=tuple(
            (name, *nominal_cells(study, episodes, np.array(labels, dtype=float), len(codes)))
            for name, labels in raters.items()
        ),
        note=(
            "same: share of equal categories, in percent; alpha: Krippendorff, nominal. A majority "
            f"is of {LEAST_FOR_MAJORITY} people or more without a tie, as {len(decided)} failures "
            "have, on which people agree more than on others. 95% intervals (episode bootstrap). "
            f"{FLAGGED}"
        ),
    )
