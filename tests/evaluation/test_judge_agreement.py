"""Agreement of judges with each other and themselves, and the leaderboard under each."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from typer.testing import CliRunner

from evaluation.judge import Judgement
from evaluation.judge_agreement import (
    Agreements,
    JudgedRun,
    Subject,
    agreements_of,
    read_judged_runs,
)
from evaluation.judge_shifts import Audit, Labelled, Variant, audit_of, variant_shifts
from evaluation.rater_agreement import (
    Undefined,
    kendall_tau,
    ordinal_alpha,
    raw_agreement,
    weighted_kappa,
)
from evaluation.report.page import write_report
from evaluation.scoring import EvidenceSupport
from psychemme.cli import judges  # noqa: F401
from psychemme.cli.app import app
from psychemme.release.read import Release
from psychemme.vocabulary import Capability
from tests.support.judges import evaluated_run, flatterer, halo, have_judged, honest
from tests.support.report_runs import HOSTILE, release_of, report_run

NAN = float("nan")


def test_kappa_by_hand() -> None:
    # Observed squared distances sum to 1, those of the margins to 3.
    assert weighted_kappa(np.array([[0.0, 1, 2], [0, 1, 1]]), 3) == pytest.approx(1 - 1 / 3)
    assert weighted_kappa(np.array([[0.0, 4, 2], [0, 4, 2]]), 5) == 1
    assert weighted_kappa(np.array([[0.0, 0, 1, 1], [0, 1, 0, 1]]), 2) == 0


def test_alpha_of_the_published_example() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D: ordinal 0.815.
    table = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ]
    )
    assert ordinal_alpha(table - 1, 5) == pytest.approx(0.815, abs=5e-4)
    shared = table[:, ~np.isnan(table).any(axis=0)][:2]
    assert raw_agreement(shared) == 7 / 8


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    wanted = kendalltau(one, other).statistic
    found = kendall_tau(one, other)
    assert found is None if np.isnan(wanted) else found == pytest.approx(wanted)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release_of(tmp_path_factory.mktemp("release"))


def shifted(judgements: dict[str, Judgement], **changes: str) -> dict[str, Judgement]:
    """Return the judgements with the labels of every third changed."""
    return {
        name: judgement.model_copy(update=changes) if place % 3 == 0 else judgement
        for place, (name, judgement) in enumerate(sorted(judgements.items()))
    }


def judged_run(release: Release, model: str, skill: float, raters: dict) -> JudgedRun:
    run = report_run(release, model, skill)
    return JudgedRun(
        model,
        run.responses,
        {rater: change(run.judgements) for rater, change in raters.items()},
    )


def same(judgements: dict) -> dict:
    return judgements


def of(found: Agreements, subject: Subject, *raters: str):
    (one,) = [a for a in found.agreements if a.subject == subject and a.raters == raters]
    return one


def test_identical_judges_agree_and_order_alike(release: Release) -> None:
    raters = {("a", 0): same, ("b", 0): same}
    runs = [judged_run(release, name, skill, raters) for name, skill in (("x", 0.8), ("y", 0.4))]
    found = agreements_of(release, runs)
    assert found.raters == ("a", "b")
    for subject in Subject:
        one = of(found, subject, "a", "b")
        assert (one.raw, one.kappa, one.alpha, one.why) == (1, 1, 1, {})
    labelled = sum(len(run.judged["a", 0]) for run in runs)
    assert of(found, Subject.SUPPORT, "a", "b").n == labelled
    (board,) = found.boards
    assert board.runs == ("x", "y")
    assert [ranking.tau for ranking in board.rankings] == [1, 1]
    assert board.rankings[0].ranks == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("who", "is_ranked"), [("is_human", False), ("is_self", False), ("x", True)]
)
def test_people_and_who_made_the_items_take_no_rank(release: Release, who, is_ranked) -> None:
    manifest = report_run(release, "x", 0.8).manifest.model_copy(update={who: True})
    assert manifest.is_ranked is is_ranked
    raters = {("a", 0): same, ("b", 0): same}
    run = replace(judged_run(release, "x", 0.8, raters), is_ranked=manifest.is_ranked)
    (board,) = agreements_of(release, [run]).boards
    assert ("x" in board.rankings[0].ranks) is is_ranked


def test_a_third_of_changed_labels_shows(release: Release) -> None:
    def stricter(judgements: dict) -> dict:
        return shifted(judgements, evidence_support="insufficient")

    raters = {("a", 0): same, ("b", 0): stricter}
    run = judged_run(release, "x", 0.9, raters)
    found = agreements_of(release, [run])
    support, logic = (of(found, s, "a", "b") for s in (Subject.SUPPORT, Subject.LOGIC))
    labels = [run.judged["a", 0][name].evidence_support for name in sorted(run.judged["a", 0])]
    changed = sum(label != "insufficient" for label in labels[::3])
    assert support.raw == pytest.approx(1 - changed / len(labels))
    assert 0 < support.kappa < 1
    assert 0 < support.alpha < 1
    assert logic.kappa == 1
    (board,) = found.boards
    assert board.rankings[1].tau is None
    assert board.rankings[1].why is Undefined.FEW_RUNS
    assert board.rankings[1].verified["x"] < board.rankings[0].verified["x"]


def test_repeats_are_compared_within_their_judge(release: Release) -> None:
    raters = {("a", 0): same, ("a", 1): same, ("b", 0): same, ("c", 0): same}
    found = agreements_of(release, [judged_run(release, "x", 0.7, raters)])
    groups = {one.raters for one in found.agreements}
    assert groups == {
        ("a", "b", "c"),
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("a", "a (repeat 1)"),
    }
    whole = of(found, Subject.SUPPORT, "a", "b", "c")
    assert (whole.kappa, whole.why) == (None, {"kappa": Undefined.SEVERAL_RATERS})
    assert whole.alpha == 1


def test_what_is_undefined_says_why(release: Release) -> None:
    def strong(judgements: dict) -> dict:
        return {
            name: each.model_copy(update={"evidence_support": "strong"})
            for name, each in judgements.items()
        }

    def nothing(judgements: dict) -> dict:
        return {}

    found = agreements_of(
        release,
        [judged_run(release, "x", 0.7, {("a", 0): strong, ("b", 0): strong, ("c", 0): nothing})],
    )
    one = of(found, Subject.SUPPORT, "a", "b")
    assert (one.raw, one.kappa, one.alpha) == (1, None, None)
    assert one.why == dict.fromkeys(("kappa", "alpha"), Undefined.ONE_LABEL)
    none = of(found, Subject.SUPPORT, "a", "c")
    assert (none.n, none.raw) == (0, None)
    assert set(none.why.values()) == {Undefined.NOTHING_SHARED}
    assert found.boards[0].rankings[2].ranks == {}


def test_one_judge_alone_has_nothing_to_agree_with(release: Release) -> None:
    found = agreements_of(release, [judged_run(release, "x", 0.7, {("a", 0): same})])
    assert (found.raters, found.agreements, found.boards) == (("a",), (), ())


def test_labels_of_what_explains_nothing_do_not_count(release: Release) -> None:
    run = report_run(release, "x", 0.7, explains=False)
    judged = {("a", 0): run.judgements, ("b", 0): run.judgements}
    found = agreements_of(release, [JudgedRun("x", run.responses, judged)])
    assert of(found, Subject.SUPPORT, "a", "b").n == 0
    assert of(found, Subject.CREDIT, "a", "b").n > 0


def test_runs_over_other_items_have_a_board_of_their_own(release: Release) -> None:
    raters = {("a", 0): same, ("b", 0): same}
    whole = judged_run(release, "x", 0.7, raters)
    part = judged_run(release, "y", 0.7, raters)
    some = dict(list(part.responses.items())[:24])
    fewer = JudgedRun("y", some, {r: {n: j for n, j in found.items() if n in some}
                                  for r, found in part.judged.items()})  # fmt: skip
    boards = agreements_of(release, [fewer, whole]).boards
    assert [(board.n, board.runs) for board in boards] == [(48, ("x",)), (24, ("y",))]


def test_the_verb_reads_run_folders(tmp_path: Path) -> None:
    async def judged() -> list[Path]:
        runs = [await evaluated_run(tmp_path, 16, model) for model in ("one", "two")]
        for run in runs:
            await have_judged(run, honest, "honest", repeats=2)
            await have_judged(run, halo, "halo")
        await have_judged(runs[0], flatterer, "flatterer")
        return runs

    runs = asyncio.run(judged())
    release, read = read_judged_runs(runs)
    found = agreements_of(release, read)
    assert of(found, Subject.SUPPORT, "honest", "honest (repeat 1)").raw == 1
    assert of(found, Subject.SUPPORT, "halo", "honest").raw == pytest.approx(0.5)
    words = ["judges", *map(str, runs)]
    said = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert said.exit_code == 0, said.output
    assert "honest (repeat 1)" in said.stdout
    assert "compares two raters only" in said.stdout
    shown = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    # Who judged one run of two comes last; both runs hold the same replies.
    assert shown["raters"] == ["halo", "honest", "honest (repeat 1)", "flatterer"]
    reasons = [ranking["why"] for ranking in shown["boards"][0]["rankings"]]
    assert reasons == [Undefined.TIED] * 3 + [Undefined.FEW_RUNS]


def audited(judge: str) -> Audit:
    label = {"evidence_reason": "x", "logic_reason": "y", "logical_integrity": "acceptable"}
    good, bad = (Judgement(**label, evidence_support=s) for s in ("strong", "insufficient"))
    pairs = [Labelled(f"e{n}", Capability.GROUNDING, good, (good, bad)[n % 2]) for n in range(6)]
    same_cues = [pair._replace(after=good) for pair in pairs]
    variants = [
        variant_shifts(Variant.REFERENCE_HIDDEN, 6, 6, pairs, tuple(Capability)),
        variant_shifts(Variant.FOREIGN_CUES, 6, 6, same_cues, tuple(Capability)),
        variant_shifts(Variant.FIELDS_PERMUTED, 6, 0, [], tuple(Capability)),
    ]
    return audit_of(judge, 42, 40, 6, variants)


def test_the_report_shows_what_bears_on_the_judge(release: Release, tmp_path: Path) -> None:
    one, two = (report_run(release, name, skill) for name, skill in (("x", 0.8), ("y", 0.4)))
    name = next(iter(one.judgements))
    words = {
        "evidence_support": EvidenceSupport.STRONG,
        "evidence_reason": "No cue supports the claims.",
    }
    judgements = one.judgements | {name: one.judgements[name].model_copy(update=words)}
    runs = [
        replace(
            run,
            judgements=judgements if run is one else run.judgements,
            judged={("judge-27b", 0): run.judgements, (HOSTILE, 0): run.judgements},
            audits=(audited(HOSTILE),) if run is one else (),
        )
        for run in (one, two)
    ]
    public = write_report(release, runs, tmp_path / "public", draws=100)
    page = public.read_text()
    for said in ("does not fall", "support granted, evidence denied", "Agreement of judges"):
        assert said in page, said
    assert page.count("<script") == 2
    assert f'items mono">{name}' not in page
    private = write_report(release, runs, tmp_path / "p", draws=100, with_references=True)
    assert f'items mono">{name}' in private.read_text()
    assert '"flags":["support_denied"]' in private.read_text().replace(" ", "")
    tables = {path.stem for path in (public.parent / "tables").glob("judge-*.md")}
    assert tables == {"judge-agreement", "judge-audit", "judge-contradictions", "judge-ranks"}
    audit = (public.parent / "tables" / "judge-audit.csv").read_text().splitlines()
    assert 'reference hidden,overall,6,"−0.60 [' in audit[1]


def test_a_report_with_one_unaudited_judge_has_no_such_sections(
    release: Release, tmp_path: Path
) -> None:
    page = write_report(release, [report_run(release, "x", 0.8)], tmp_path, draws=100).read_text()
    assert 'id="audit"' not in page
    assert 'id="agree"' not in page
    assert "says the opposite of its label" in page
