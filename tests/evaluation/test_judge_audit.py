"""The audit of a judge: what it alters, and that it tells a reader of cues from a flatterer."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.bootstrap import DRAWS, SEED
from evaluation.judge import Case, Judgement, judge_request
from evaluation.judge_audit import (
    alter,
    donor_of,
    sample_of,
    with_cues_of,
    with_hidden_reference,
    with_permuted_fields,
)
from evaluation.judge_shifts import FILE_NAME, Labelled, Variant, read_audits, variant_shifts
from evaluation.responses import Response, parse_response
from evaluation.score import score_folder
from evaluation.store import RunStore
from psychemme.cli import judge  # noqa: F401
from psychemme.cli.app import app
from psychemme.errors import RunError
from psychemme.release.read import Release, read_release
from psychemme.vocabulary import Capability
from tests.support.judges import (
    audit_through,
    evaluated_run,
    flatterer,
    halo,
    have_judged,
    honest,
    judge_through,
    make_cued_release,
)
from tests.support.model_server import ModelServer
from tests.support.releases import make_release

ITEMS = 24


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return read_release(make_cued_release(tmp_path_factory.mktemp("cued"), ITEMS))


def case(release: Release, name: str, told: dict[str, str]) -> Case:
    question = release.questions[name]
    answer = ["A"] if question.format == "multiple" else "A"
    raw = json.dumps({"answer": answer} | dict.fromkeys("GWNTSAMR") | told)
    parsed = parse_response(raw, "stop", question.format, question.options)
    who = {"item_id": name, "model": "m", "condition": "full"}
    response = Response.model_validate(vars(parsed) | who)
    return Case(question, release.references()[name], response)


def prompt(case: Case) -> str:
    return judge_request(case.question, case.reference, case.response).user


def test_a_hidden_reference_leaves_the_cues(release: Release) -> None:
    name = next(n for n, q in release.questions.items() if q.format == "open")
    whole = case(release, name, {"G": "told"})
    hidden = with_hidden_reference(whole)
    assert "PRIVATE-POINT" in prompt(whole)
    assert "PRIVATE-POINT" not in prompt(hidden)
    assert "<reference_answer>\nnot shown\n" in prompt(hidden)
    assert whole.reference.cues == hidden.reference.cues


def test_foreign_cues_replace_the_cues_and_nothing_else(release: Release) -> None:
    references = release.references()
    whole = case(release, "q0000", {"G": "told"})
    foreign = with_cues_of(whole, references["q0008"])
    own, other = (references[n].cues[0].description for n in ("q0000", "q0008"))
    assert prompt(foreign) == prompt(whole).replace(own, other)


@pytest.mark.parametrize("seed", range(5))
def test_a_donor_is_of_the_capability_and_elsewhere(release: Release, seed: int) -> None:
    references = release.references()
    for item in release.questions.values():
        donor = release.questions[donor_of(release, references, item, seed)]
        assert donor.capability is item.capability
        groups = {release.episodes[row.episode_id].recording_group for row in (item, donor)}
        assert len(groups) == 2


def test_a_donor_of_another_capability_is_better_than_none(tmp_path: Path) -> None:
    few = read_release(make_cued_release(tmp_path / "few", 6))
    references = few.references()
    donors = {n: donor_of(few, references, q, 1) for n, q in few.questions.items()}
    assert all(
        few.questions[d].episode_id != few.questions[n].episode_id for n, d in donors.items()
    )


def test_items_with_the_same_cues_are_no_donors(tmp_path: Path) -> None:
    alike = read_release(make_release(tmp_path / "alike", 12))
    cases = [case(alike, "q0000", {"G": "told"})]
    assert alter(alike, cases, 1)[Variant.FOREIGN_CUES] == []


@given(st.sets(st.sampled_from("GWNTSAMR"), min_size=1), st.integers(0, 99))
def test_no_informative_field_keeps_its_name(release: Release, names: set[str], seed: int) -> None:
    told = {name: f"told under {name} at length" for name in names}
    whole = case(release, "q0000", told)
    moved = with_permuted_fields(whole, seed).response.rationales
    assert sorted(filter(None, moved.values())) == sorted(told.values())
    assert all(moved[Capability(name)] != text for name, text in told.items())
    if len(names) > 1:
        assert {str(name) for name, text in moved.items() if text} == names


def test_a_larger_sample_holds_a_smaller_one() -> None:
    names = [f"q{n}" for n in range(50)]
    assert sample_of(names, 20, 7)[:10] == sample_of(reversed(names), 10, 7)
    assert sample_of(names, 99, 7) != sample_of(names, 99, 8)
    assert len(sample_of(names, 99, 7)) == 50


def label(support: str, logic: str) -> Judgement:
    reasons = {"evidence_reason": "x", "logic_reason": "y"}
    return Judgement(evidence_support=support, logical_integrity=logic, **reasons)


def test_shifts_by_hand_and_by_a_naive_loop() -> None:
    good, bad = label("strong", "acceptable"), label("insufficient", "weak")
    pairs = [
        Labelled("e0", Capability.GROUNDING, good, bad),
        Labelled("e0", Capability.NEED, good, good),
        Labelled("e1", Capability.GROUNDING, bad, good),
        Labelled("e2", Capability.GROUNDING, good, bad),
    ]
    found = variant_shifts(Variant.FOREIGN_CUES, 5, 4, pairs, tuple(Capability))
    assert (found.sampled, found.altered, found.labelled, found.episodes) == (5, 4, 4, 3)
    overall, grounding, need = found.shifts
    assert [(s.capability, s.n) for s in found.shifts] == [(None, 4), ("G", 3), ("N", 1)]
    assert overall.support.point == pytest.approx((-1.2 + 0 + 1.2 - 1.2) / 4)
    assert overall.logic.point == pytest.approx((-0.2 + 0 + 0.2 - 0.2) / 4)
    assert (overall.support_changed.point, overall.support_fell.point) == (0.75, 0.5)
    assert grounding.support_fell.point == pytest.approx(2 / 3)
    assert (need.support.low, need.support.high, need.logic_changed.point) == (0, 0, 0)
    # An episode with nothing of N leaves the figure undefined in the draws without e0.
    assert need.support.excluded == pytest.approx((2 / 3) ** 3, abs=0.02)
    assert found.support_before == {"strong": 3, "insufficient": 1}
    assert found.logic_after == {"weak": 2, "acceptable": 2}
    changes = {0: [-1.2, 0.0], 1: [1.2], 2: [-1.2]}
    drawn = np.random.default_rng(SEED).integers(0, 3, (DRAWS, 3))
    means = [np.mean([c for unit in draw for c in changes[unit]]) for draw in drawn.tolist()]
    low, high = np.percentile(means, (2.5, 97.5))
    assert (overall.support.low, overall.support.high) == pytest.approx((low, high))


async def test_the_audit_tells_a_reader_of_cues_from_a_flatterer(tmp_path: Path) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    for name, replies in (("honest", honest), ("flatterer", flatterer), ("halo", halo)):
        await have_judged(run, replies, name)
    before = score_folder(run, judge="honest")
    judgements = (run / "judgements.jsonl").read_bytes()
    found = {}
    for name, replies in (("honest", honest), ("flatterer", flatterer), ("halo", halo)):
        with ModelServer(replies) as server:
            found[name] = await audit_through(run, server, name)
            assert server.count("judge") == 3 * ITEMS
    shifts = {
        (name, variant.variant): variant.shifts[0]
        for name, audit in found.items()
        for variant in audit.variants
    }
    foreign = shifts["honest", "foreign_cues"].support
    assert foreign.high < -0.5
    assert shifts["honest", "foreign_cues"].support_fell.point > 0.9
    assert shifts["honest", "reference_hidden"].support_changed.point == 0
    assert shifts["honest", "fields_permuted"].support_changed.point == 0
    assert shifts["flatterer", "foreign_cues"].support.point == 0
    assert shifts["halo", "reference_hidden"].support.high < 0
    assert found["honest"].warnings == ()
    assert "does not fall" in found["flatterer"].warnings[0]
    assert "does not fall" in found["halo"].warnings[0]
    assert score_folder(run, judge="honest") == before
    assert (run / "judgements.jsonl").read_bytes() == judgements
    assert [each.judge for each in read_audits(run)] == ["flatterer", "halo", "honest"]
    assert read_audits(run)[2] == found["honest"]


async def test_an_audit_goes_on_where_it_ended(tmp_path: Path) -> None:
    run = await evaluated_run(tmp_path, ITEMS)
    with ModelServer(honest) as server:
        with pytest.raises(RunError, match="without --audit first"):
            await audit_through(run, server)
        await judge_through(run, server)
    with ModelServer(honest, fault=lambda call: "rejected" if call.number % 2 else None) as server:
        broken = await audit_through(run, server, sample=8, seed=3)
    labelled = sum(variant.labelled for variant in broken.variants)
    assert 0 < labelled < 24
    assert "have no label" in broken.warnings[0]
    with ModelServer(honest) as server:
        whole = await audit_through(run, server, sample=8, seed=3)
        assert server.count() == 24 - labelled
        again = await audit_through(run, server, sample=8, seed=3)
        assert server.count() == 24 - labelled
        await audit_through(run, server, sample=16, seed=3)
        assert server.count() == 24 - labelled + 24
    assert again == whole
    assert [variant.labelled for variant in whole.variants] == [8, 8, 8]
    with RunStore(run) as store:
        assert store.spent()[0] == 120 * (2 * ITEMS + 3 * 16)
        assert len(store.audits("judge")) == 3 * 16
    assert len((run / "judgements.jsonl").read_text().splitlines()) == ITEMS


def test_a_broken_audit_file_is_named(tmp_path: Path) -> None:
    assert read_audits(tmp_path) == ()
    (tmp_path / FILE_NAME).write_text('{"schema_version": 1, "audits": [{}]}')
    with pytest.raises(RunError, match="cannot be read"):
        read_audits(tmp_path)
    (tmp_path / FILE_NAME).write_text('{"schema_version": 9}')
    with pytest.raises(RunError, match="schema version 9"):
        read_audits(tmp_path)


def test_the_verb_prints_tables_and_json(tmp_path: Path) -> None:
    import asyncio

    run = asyncio.run(evaluated_run(tmp_path, 8))
    with ModelServer(flatterer) as server:
        words = ["judge", str(run), "--model", "flatterer", "--base-url", server.url]
        assert CliRunner().invoke(app, words).exit_code == 0
        said = CliRunner().invoke(app, [*words, "--audit", "--sample", "6"], env={"COLUMNS": "160"})
        assert said.exit_code == 0, said.output
        assert "foreign cues" in said.stdout
        assert "does not fall" in said.stdout
        shown = CliRunner().invoke(app, [*words, "--audit", "--sample", "6", "--json"])
    with ModelServer(flatterer, fault=lambda call: "rejected") as server:
        words[-1] = server.url
        failed = CliRunner().invoke(app, [*words, "--audit", "--sample", "4", "--seed", "7"])
    assert failed.exit_code == 3
    assert "have no label" in failed.stdout
    (audit,) = json.loads(shown.stdout)["audits"]
    assert (audit["sample"], audit["explained"]) == (6, 8)
    assert CliRunner().invoke(app, [*words, "--sample", "6"]).exit_code == 2
