"""How far a report's judge can be trusted: its audits, its peers, and its own words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluation.bootstrap import Estimate
from evaluation.contradictions import Contradiction, contradictions
from evaluation.judge_agreement import Agreement, Agreements, Board, JudgedRun, agreements_of
from evaluation.judge_shifts import Audit, Shift, Variant
from evaluation.report.cohorts import Shown
from evaluation.report.formats import FLAG, FLAGGED, MINUS, NONE, Cell, Table
from evaluation.report.runs import ReportRun
from psychemme.release.read import Release

EXPLAINED = {
    Contradiction.SUPPORT_DENIED: "support granted, evidence denied in words",
    Contradiction.SUPPORT_CONTRADICTED: "strong support, conflict with the cues in words",
    Contradiction.SUPPORT_PRAISED: "support refused, full support in words",
    Contradiction.LOGIC_DENIED: "coherent, conflict or no reasoning in words",
    Contradiction.LOGIC_PRAISED: "incoherent, coherence in words",
}
"""What each flag means, label first."""

ALTERED = {
    Variant.REFERENCE_HIDDEN: "reference hidden",
    Variant.FOREIGN_CUES: "another item's cues",
    Variant.FIELDS_PERMUTED: "rationale fields permuted",
}


@dataclass(frozen=True)
class Flags:
    """Of `judged` judgements of one run, the items of those that contradict their own text."""

    run: str
    judge: str
    judged: int
    items: Mapping[Contradiction, tuple[str, ...]]

    @property
    def total(self) -> int:
        """How many flags there are."""
        return sum(map(len, self.items.values()))


@dataclass(frozen=True)
class JudgeChecks:
    """Everything that bears on trust in judges; `audits` are by run name."""

    flags: tuple[Flags, ...]
    audits: tuple[tuple[str, Audit], ...]
    agreements: Agreements


def judge_checks(release: Release, runs: Sequence[ReportRun]) -> JudgeChecks:
    """Return what is known of the judges of `runs`."""
    judged = [JudgedRun(run.name, run.responses, run.judged, run.is_ranked) for run in runs]
    first = next((run.judge for run in runs if run.judge), None)
    audits = [(run.name, audit) for run in runs for audit in run.audits]
    return JudgeChecks(
        flags=tuple(_flags(run) for run in runs if run.judgements),
        audits=tuple(sorted(audits, key=lambda pair: pair[1].judge != first)),
        agreements=agreements_of(release, judged, first),
    )


def _flags(run: ReportRun) -> Flags:
    found: dict[Contradiction, list[str]] = defaultdict(list)
    for name, judgement in sorted(run.judgements.items()):
        for flag in contradictions(judgement):
            found[flag].append(name)
    items = {flag: tuple(found[flag]) for flag in Contradiction if found[flag]}
    return Flags(run.name, run.judge or "", len(run.judgements), items)


def judge_tables(checks: JudgeChecks) -> list[Table]:
    """Return the tables of what there is; none holds an item."""
    found = []
    if any(flags.total for flags in checks.flags):
        found.append(_flag_table(checks.flags))
    if checks.audits:
        found.append(_audit_table(checks.audits))
    if checks.agreements.agreements:
        found.append(_agreement_table(checks.agreements.agreements))
        found += _rank_tables(checks.agreements.boards)
    return found


def _flag_table(found: Sequence[Flags]) -> Table:
    return Table(
        name="judge-contradictions",
        title="Judgements that contradict their own text",
        columns=("run", "judge", "judged", *map(str, Contradiction)),
        rows=tuple(
            (one.run, one.judge, one.judged, *(len(one.items.get(f, ())) for f in Contradiction))
            for one in found
        ),
        note="Counts, by a fixed set of rules over wording; they change no score.",
    )


def _audit_table(found: Sequence[tuple[str, Audit]]) -> Table:
    shares = ("support changed", "support fell", "logic changed", "logic fell")
    return Table(
        name="judge-audit",
        title="Audit of the judge: label shifts on altered requests",
        columns=(
            *("run", "judge", "altered", "capability", "n", "support change", "logic change"),
            *shares,
        ),
        rows=tuple(
            (run, audit.judge, ALTERED[variant.variant], *_shift(shift))
            for run, audit in found
            for variant in audit.variants
            for shift in variant.shifts
        ),
        note=(
            "Changes of the factors e and l, shares in percent; 95% intervals (paired episode "
            f"bootstrap over the sampled responses' episodes). {FLAGGED}"
        ),
    )


def _shift(one: Shift) -> Iterator[Cell]:
    yield from (str(one.capability or "overall"), one.n, change(one.support), change(one.logic))
    yield from map(
        share, (one.support_changed, one.support_fell, one.logic_changed, one.logic_fell)
    )


def _agreement_table(found: Sequence[Agreement]) -> Table:
    return Table(
        name="judge-agreement",
        title="Agreement of judges and of their repeats",
        columns=("judges", "subject", "n", "raw", "kappa", "alpha", "undefined"),
        rows=tuple(
            (
                " / ".join(one.raters),
                str(one.subject),
                one.n,
                *(figure(value) for value in (one.raw, one.kappa, one.alpha)),
                "; ".join(f"{name}: {why}" for name, why in one.why.items()) or None,
            )
            for one in found
        ),
        note=(
            "raw: fraction of equal labels; kappa: Cohen, quadratic weights; alpha: Krippendorff, "
            "ordinal."
        ),
    )


def _rank_tables(boards: Sequence[Board]) -> Iterator[Table]:
    for number, board in enumerate(boards, 1):
        yield Table(
            name="judge-ranks" if number == 1 else f"judge-ranks-{number}",
            title=f"The leaderboard under each judge (n = {board.n})",
            columns=("judge", *board.runs, "tau", "undefined"),
            rows=tuple(
                (
                    ranking.rater,
                    *(ranking.ranks.get(run) for run in board.runs),
                    figure(ranking.tau),
                    None if ranking.why is None else str(ranking.why),
                )
                for ranking in board.rankings
            ),
            note="Ranks by Verified; tau: Kendall's tau-b against the first judge.",
        )


def figure(value: float | None, *, signed: bool = False) -> str:
    """Return a coefficient with two decimals; what rounds to 0 has no sign."""
    if value is None:
        return NONE
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def share(estimate: Estimate) -> Shown:
    """Return a share of responses as a cell."""
    return Shown.model_validate(estimate.model_dump())


def change(estimate: Estimate) -> str:
    """Return the change of a factor with its interval, flagged where draws are undefined."""
    ends = [figure(end, signed=True) for end in (estimate.point, estimate.low, estimate.high)]
    interval = "" if estimate.low is None else f" [{ends[1]}, {ends[2]}]"
    return f"{ends[0]}{interval}{FLAG if estimate.is_flagged else ''}"
