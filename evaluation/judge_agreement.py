"""Whether judges agree with each other and with themselves, and what the leaderboard owes them.

A rater is one repeat of one judge. Raters label the same responses with ordered labels: Evidence
Support and Logical Integrity of responses with an informative rationale (others have no label that
counts), and the answer credit of open items. Judges are compared by their first repeats, and the
repeats of a judge among themselves.

The figures are those of `evaluation.rater_agreement`; what is undefined is None and says why.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path

import numpy as np

from evaluation.exports import read_responses
from evaluation.judge import Judgement, covered
from evaluation.judged import Judged, Rater, read_judgements
from evaluation.manifest import read_manifest, refuse_other_release, release_of
from evaluation.rater_agreement import (
    Undefined,
    kendall_tau,
    ordinal_alpha,
    raw_agreement,
    weighted_kappa,
)
from evaluation.responses import Response
from evaluation.score import ScoredRun, score_responses
from evaluation.scoring import EvidenceSupport, LogicalIntegrity, score_run
from evaluation.store import RunStore
from psychemme.episode import Value
from psychemme.release.read import Release

_CREDITS = (1.0, 0.5, 0.0)


class Subject(StrEnum):
    """What raters label."""

    SUPPORT = "Evidence Support"
    LOGIC = "Logical Integrity"
    CREDIT = "open answer credit"


@dataclass(frozen=True)
class JudgedRun:
    """A run with all its judges' labels; `name` tells it from other runs."""

    name: str
    responses: Mapping[str, Response]
    judged: Judged
    is_ranked: bool = True


class Agreement(Value):
    """How far `raters` agree about one subject over the `n` responses that two of them labelled.

    `why` names the reason of each figure that is None.
    """

    subject: Subject
    raters: tuple[str, ...]
    n: int
    raw: float | None
    kappa: float | None
    alpha: float | None
    why: Mapping[str, Undefined]


class Ranking(Value):
    """The leaderboard under one rater: Verified (a fraction) and rank, 1 the best, by run.

    `tau` compares with the first rater over the runs both rank; None says `why`.
    """

    rater: str
    verified: Mapping[str, float]
    ranks: Mapping[str, int]
    tau: float | None
    why: Undefined | None


class Board(Value):
    """The leaderboards of runs over the same `n` items, under every rater."""

    n: int
    runs: tuple[str, ...]
    rankings: tuple[Ranking, ...]


class Agreements(Value):
    """Agreement and leaderboards of all raters; empty where there is only one."""

    raters: tuple[str, ...]
    agreements: tuple[Agreement, ...]
    boards: tuple[Board, ...]


def read_judged_runs(
    folders: Sequence[Path], release: Path | None = None
) -> tuple[Release, list[JudgedRun]]:
    """Return the release and the runs at `folders`, each called by its folder.

    Raises RunError where a folder is no run, ReleaseError where runs are about different releases.
    """
    found = release_of(read_manifest(folders[0]), release)
    runs = []
    for folder in folders:
        manifest = read_manifest(folder)
        refuse_other_release(manifest, found)
        with RunStore(folder, for_reading=True) as store:
            responses = read_responses(manifest, found, store)
            judged = read_judgements(manifest, found, store)
        runs.append(JudgedRun(folder.resolve().name, responses, judged, manifest.is_ranked))
    return found, runs


def agreements_of(
    release: Release, runs: Sequence[JudgedRun], first: str | None = None
) -> Agreements:
    """Return how far the raters of `runs` agree, over all runs together.

    The judge `first` comes first, then who judged the most runs.
    """
    judged = Counter(rater for run in runs for rater in run.judged)
    raters = sorted(judged, key=lambda rater: (rater[0] != first, -judged[rater], rater))
    if len(raters) < 2:
        return Agreements(raters=tuple(map(_name, raters)), agreements=(), boards=())
    labels = {subject: _labels(release, runs, subject) for subject in Subject}
    return Agreements(
        raters=tuple(map(_name, raters)),
        agreements=tuple(
            _agreement(subject, group, labels[subject])
            for group in _groups(raters)
            for subject in Subject
        ),
        boards=tuple(_boards(release, runs, raters)),
    )


def _name(rater: Rater) -> str:
    judge, repeat = rater
    return f"{judge} (repeat {repeat})" if repeat else judge


def _groups(raters: Sequence[Rater]) -> Iterator[Sequence[Rater]]:
    """Yield the raters to compare: all judges, each judge's repeats, and the pairs of more."""
    by_judge: dict[str, list[Rater]] = defaultdict(list)
    for rater in raters:
        by_judge[rater[0]].append(rater)
    for group in ([own[0] for own in by_judge.values()], *by_judge.values()):
        if len(group) > 1:
            yield group
        if len(group) > 2:
            yield from combinations(group, 2)


Labels = Mapping[Rater, Mapping[tuple[str, str], int]]
"""The place of each rater's label in the order of labels, by run and item."""


def _labels(release: Release, runs: Sequence[JudgedRun], subject: Subject) -> Labels:
    found: dict[Rater, dict[tuple[str, str], int]] = defaultdict(dict)
    for run in runs:
        named = {name for judgements in run.judged.values() for name in judgements}
        counted = {name for name in named if _counts(release, run, name, subject)}
        for rater, judgements in run.judged.items():
            for name in judgements.keys() & counted:
                found[rater][run.name, name] = _place(judgements[name], subject)
    return found


def _counts(release: Release, run: JudgedRun, name: str, subject: Subject) -> bool:
    question = release.questions[name]
    if subject is Subject.CREDIT:
        return not question.format.is_choice
    return covered(run.responses[name], question) == 1


def _place(judgement: Judgement, subject: Subject) -> int:
    if subject is Subject.CREDIT:
        # Judging refuses an open judgement without credit.
        return _CREDITS.index(judgement.answer_credit or 0.0)
    if subject is Subject.SUPPORT:
        return list(EvidenceSupport).index(judgement.evidence_support)
    return list(LogicalIntegrity).index(judgement.logical_integrity)


def _agreement(subject: Subject, raters: Sequence[Rater], labels: Labels) -> Agreement:
    size = len(_CREDITS) if subject is Subject.CREDIT else len(EvidenceSupport)
    rows = [labels.get(rater, {}) for rater in raters]
    shared = sorted(
        unit for unit in {u for row in rows for u in row} if sum(unit in row for row in rows) > 1
    )
    table = np.array([[row.get(unit, np.nan) for unit in shared] for row in rows], dtype=float)
    why: dict[str, Undefined] = {}
    if not shared:
        why = dict.fromkeys(("raw", "kappa", "alpha"), Undefined.NOTHING_SHARED)
    elif len(np.unique(table[~np.isnan(table)])) == 1:
        why = dict.fromkeys(("kappa", "alpha"), Undefined.ONE_LABEL)
    if len(raters) > 2:
        why["kappa"] = Undefined.SEVERAL_RATERS
    return Agreement(
        subject=subject,
        raters=tuple(map(_name, raters)),
        n=len(shared),
        raw=None if "raw" in why else raw_agreement(table),
        kappa=None if "kappa" in why else weighted_kappa(table, size),
        alpha=None if "alpha" in why else ordinal_alpha(table, size),
        why=why,
    )


def _boards(
    release: Release, runs: Sequence[JudgedRun], raters: Sequence[Rater]
) -> Iterator[Board]:
    groups: dict[tuple[str, ...], list[JudgedRun]] = defaultdict(list)
    for run in runs:
        groups[tuple(sorted(run.responses))].append(run)
    for items, members in sorted(groups.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        verified = {rater: _verified(release, members, rater) for rater in raters}
        first = verified[raters[0]]
        rankings = [_ranking(_name(rater), scores, first) for rater, scores in verified.items()]
        names = tuple(run.name for run in members)
        yield Board(n=len(items), runs=names, rankings=tuple(rankings))


def _verified(release: Release, runs: Sequence[JudgedRun], rater: Rater) -> dict[str, float]:
    """Return the Verified score of each run that has one under `rater` and is to be ranked."""
    found = {}
    for run in runs:
        scored: ScoredRun = score_responses(release, run.responses, run.judged.get(rater, {}))
        if not run.is_ranked or scored.unscored:
            continue
        verified = score_run(scored.items, scored.declared).verified
        if verified is not None:
            found[run.name] = verified
    return found


def _ranking(rater: str, scores: Mapping[str, float], first: Mapping[str, float]) -> Ranking:
    shared = sorted(scores.keys() & first.keys())
    tau = kendall_tau([first[run] for run in shared], [scores[run] for run in shared])
    why = Undefined.FEW_RUNS if len(shared) < 2 else Undefined.TIED
    return Ranking(
        rater=rater,
        verified=scores,
        ranks={
            run: 1 + sum(other > own for other in scores.values()) for run, own in scores.items()
        },
        tau=tau,
        why=None if tau is not None else why,
    )
