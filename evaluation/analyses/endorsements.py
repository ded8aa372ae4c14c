"""What experts endorse of a judge's decisions, and what they catch of planted wrong ones."""

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from statistics import NormalDist

from evaluation.analyses.agreeing import rates
from evaluation.analyses.estimating import shown
from evaluation.analyses.values import Study
from evaluation.people.rows import LEVELS, Decision, EndorseRow, LabelRow
from evaluation.report.cohorts import Shown
from evaluation.report.formats import FLAGGED, NONE, Table

Case = tuple[str, str, str, str]
"""Judge, model, condition and item."""

_TWO_SIDED_95 = NormalDist().inv_cdf(0.975)


def case_of(row: LabelRow | EndorseRow) -> Case:
    """Return the case that a row is about."""
    return row.judge, row.model, row.condition, row.item_id


def words(level: str | float) -> str:
    """Return a label or credit as a reader sees it."""
    return f"{level:g}" if isinstance(level, float) else str(level).replace("_", " ")


def endorsed_table(study: Study, rows: Sequence[EndorseRow]) -> Table:
    """Return the share endorsed of what is not planted: of reviews, and of single decisions."""
    genuine, every = _genuine(rows), {*map(case_of, rows)}
    careful = {expert for expert, (caught, n) in _caught(rows).items() if n and 2 * caught >= n}
    strata: dict[tuple[str, str], list[tuple[Case, bool]]] = {}
    reviews: dict[tuple[Case, str], bool] = {}
    for row in genuine:
        key = case_of(row), row.expert
        reviews[key] = reviews.get(key, True) and row.endorses
    strata["all reviews", "review"] = [(case, yes) for (case, _), yes in reviews.items()]
    strata["experts who catch at least half of what is planted", "review"] = [
        (case, yes) for (case, expert), yes in reviews.items() if expert in careful
    ]
    for name, given in _kinds(study, genuine):
        strata[name, "decision"] = [(case_of(row), row.endorses) for row in given]
    known = {key: found for key, found in strata.items() if found or key[1] == "review"}
    shares = rates(study, list(known.values()))
    return Table(
        name="judge-review-endorsed",
        title="What experts endorse of the judge's decisions as they are",
        columns=("of", "unit", "n", "endorsed", "cases"),
        rows=tuple(
            (name, unit, len(found), shown(rate), len({case for case, _ in found}))
            for ((name, unit), found), rate in zip(known.items(), shares, strict=True)
        ),
        note=(
            f"Left out: {len(every) - len({*map(case_of, genuine)})} of {len(every)} cases, which "
            "hold a planted decision. Shares in percent with 95% intervals (episode bootstrap). "
            f"{FLAGGED}"
        ),
    )


def _genuine(rows: Sequence[EndorseRow]) -> list[EndorseRow]:
    """Return the rows of cases without a planted decision, which would colour the others."""
    planted = {case_of(row) for row in rows if row.planted}
    return [row for row in rows if case_of(row) not in planted]


def _kinds(study: Study, rows: Sequence[EndorseRow]) -> Iterator[tuple[str, list[EndorseRow]]]:
    """Yield decisions by subject, by capability and by label."""
    for decision in Decision:
        yield words(decision), [row for row in rows if row.decision is decision]
    asked = study.release.questions
    for code in study.declared:
        yield f"capability {code}", [row for row in rows if asked[row.item_id].capability is code]
    for decision in Decision:
        for level in LEVELS[decision]:
            given = [row for row in rows if row.decision is decision and row.shown == level]
            yield f"{words(decision)}: {words(level)}", given


def _caught(rows: Iterable[EndorseRow]) -> dict[str, tuple[int, int]]:
    """Return how many planted decisions each expert did not endorse, of how many."""
    found: dict[str, tuple[int, int]] = {row.expert: (0, 0) for row in rows}
    for row in rows:
        if row.planted:
            caught, n = found[row.expert]
            found[row.expert] = (caught + (not row.endorses), n + 1)
    return dict(sorted(found.items()))


def planted_table(study: Study, rows: Sequence[EndorseRow]) -> Table:
    """Return what each expert caught of what was planted, and endorses where nothing was."""
    by_expert = _caught(rows)
    kept = _genuine(rows)
    genuine = {
        expert: [(case_of(row), row.endorses) for row in kept if row.expert == expert]
        for expert in by_expert
    }
    shares = iter(rates(study, [found for found in genuine.values() if found]))
    endorsed = {expert: shown(next(shares)) if found else None for expert, found in genuine.items()}
    caught, planted = (sum(counts) for counts in zip(*by_expert.values(), strict=True))
    return Table(
        name="judge-review-planted",
        title="Planted wrong decisions that experts caught",
        columns=("expert", "planted", "caught", "catch rate", "others", "endorsed", "note"),
        rows=(
            ("all", planted, caught, wilson(caught, planted), None, None, NONE),
            *(
                (
                    *(expert, n, caught, wilson(caught, n), len(genuine[expert])),
                    endorsed[expert],
                    _note(caught, n),
                )
                for expert, (caught, n) in by_expert.items()
            ),
        ),
        note=(
            "others: decisions of cases without a planted one. Shares in percent. 95% intervals: "
            "of catch rates Wilson's, which takes decisions for independent and ignores that some "
            "share an expert, a response or an episode, so that it is too narrow where those are "
            f"alike; of endorsement the episode bootstrap. {FLAGGED}"
        ),
    )


def _note(caught: int, n: int) -> str:
    if n == 0:
        return "saw nothing planted"
    return "catches fewer than half" if 2 * caught < n else NONE


def wilson(count: int, n: int) -> Shown:
    """Return count / n with Wilson's 95% interval (1927); undefined where n is 0."""
    if n == 0:
        return Shown()
    p, z = count / n, _TWO_SIDED_95
    centre = p + z**2 / (2 * n)
    half = z * sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return Shown(point=p, low=(centre - half) / scale, high=(centre + half) / scale)
