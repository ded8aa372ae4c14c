"""Judgements whose reason contradicts their label: a hand-written table, both ways."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation.contradictions import LONGEST, contradictions, count_contradictions
from evaluation.judge import Judgement
from evaluation.score import score_folder
from evaluation.score_json import as_json
from psychemme.cli import score  # noqa: F401
from psychemme.cli.app import app
from tests.support.judges import evaluated_run, halo, have_judged

SUPPORT = "cues bear on it"
STEP = "each step is there"

# Label of Evidence Support, reason, flag.
OF_SUPPORT = [
    ("strong", "There is no evidence for the claims.", "support_denied"),
    ("strong", "There is no direct evidence to support these rationales.", "support_denied"),
    ("normal", "None of the claims is supported by the cues.", "support_denied"),
    ("strong", "Nothing in the rationales can be verified against the cues.", "support_denied"),
    ("strong", "The claims are entirely unsupported.", "support_denied"),
    ("normal", "No cue supports the explanation.", "support_denied"),
    ("strong", "The cues do not support any of the claims.", "support_denied"),
    ("strong", "The wording is vivid, but the claims are without any evidence.", "support_denied"),
    ("strong", "解释没有得到线索的支持。", "support_denied"),
    ("normal", "没有任何证据能够支持这些论断。", "support_denied"),
    ("strong", "表述很详细，但是线索并不支持该解释。", "support_denied"),
    ("strong", "The cue directly contradicts the rationale.", "support_contradicted"),
    ("strong", "The explanation is contradicted by the evidence.", "support_contradicted"),
    ("strong", "The claims conflict with the cues.", "support_contradicted"),
    ("strong", "论断与线索直接矛盾。", "support_contradicted"),
    ("strong", "线索与模型的解释相悖。", "support_contradicted"),
    ("insufficient", "All claims are supported by the cues.", "support_praised"),
    ("insufficient", "The rationale is fully supported by the cue at 3 s.", "support_praised"),
    ("contradicted", "The cues strongly support the explanation.", "support_praised"),
    ("contradicted", "Every claim is grounded in the cues.", "support_praised"),
    ("insufficient", "Terse, but the claims are well supported by the cues.", "support_praised"),
    ("insufficient", "The claims are fully supported; no contradiction.", "support_praised"),
    ("insufficient", "理由得到了线索的充分支持。", "support_praised"),
    ("contradicted", "线索完全支持该解释。", "support_praised"),
    # What the label agrees with.
    ("insufficient", "There is no evidence for the claims.", None),
    ("contradicted", "The cue directly contradicts the rationale.", None),
    ("weak", "None of the claims is supported by the cues.", None),
    ("strong", "All claims are supported by the cues.", None),
    ("insufficient", "线索与解释无关，没有任何证据支持论断。", None),
    # Negations of a fault.
    ("strong", "The claims are not without evidence.", None),
    ("strong", "The rationale has no contradiction with the cues.", None),
    ("strong", "Nothing in the cues contradicts the rationale.", None),
    ("strong", "The cues do not contradict the explanation.", None),
    ("strong", "None of the claims is contradicted by the cues.", None),
    ("strong", "No claim is unsupported.", None),
    ("strong", "The cue backs the request and doesn't conflict with the claims.", None),
    ("strong", "There is no evidence against the claims.", None),
    ("strong", "论断与线索没有矛盾。", None),
    ("strong", "这些解释并非没有依据，线索都提到了。", None),
    ("strong", "线索与解释不矛盾。", None),
    # Negations of praise.
    ("insufficient", "The claims are not fully supported by the cues.", None),
    ("contradicted", "The cues hardly support the explanation.", None),
    ("insufficient", "It is far from true that all claims are supported.", None),
    ("insufficient", "解释没有得到线索的充分支持。", None),
    ("contradicted", "理由未得到线索的有力支持。", None),
    # A part, a turn, a concession, another subject, a quotation, a supposition.
    ("normal", "A minor detail has no support, the claims are otherwise borne out.", None),
    ("strong", "One of the claims is unsupported.", None),
    ("strong", "There is no evidence for the second claim.", None),
    ("strong", "No cue supports the claims about tone, yet what matters is well supported.", None),
    ("contradicted", "The first claim is fully supported. The second contradicts a cue.", None),
    ("contradicted", "All claims are supported, but the decisive one conflicts with a cue.", None),
    ("insufficient", "Although the rationale is fully supported in tone, it says little.", None),
    ("strong", "The model rightly says there is no evidence for the claims of option B.", None),
    ("strong", "The cue contradicts option C, as the rationale says.", None),
    ("insufficient", "The reference answer is fully supported by the cues.", None),
    ("contradicted", "The cues fully support the answer that the rationale rejects.", None),
    ("strong", 'The person says "there is no evidence for the claims", as told.', None),
    ("insufficient", "The rationale would be fully supported if the cue named her.", None),
    ("normal", "There is no evidence for the claims about prosody.", None),
    ("normal", "The claims are unsupported in their timing.", None),
    ("insufficient", "All of the claims are supported by common sense.", None),
    ("strong", "The evidence contradicts the explanation of the visitor, as told.", None),
    ("contradicted", "The rationale is clearly grounded in an event after the decision.", None),
    ("strong", "解释中的次要部分没有得到线索的支持。", None),
    ("contradicted", "第一个论断得到线索的充分支持，第二个与线索矛盾。", None),
    ("strong", "虽然没有证据支持论断，语气却是对的。", None),
    ("normal", "线索支持解释，只是没有提到语气。", None),
]

# Label of Logical Integrity, reason, flag.
OF_LOGIC = [
    ("fully_coherent", "The rationales contradict each other.", "logic_denied"),
    ("acceptable", "The explanation contradicts the final answer.", "logic_denied"),
    ("fully_coherent", "The reasoning is self-contradictory.", "logic_denied"),
    ("fully_coherent", "There is no reasoning to assess.", "logic_denied"),
    ("acceptable", "The rationales do not support the answer.", "logic_denied"),
    ("fully_coherent", "这些理由自相矛盾。", "logic_denied"),
    ("fully_coherent", "解释与最终答案相矛盾。", "logic_denied"),
    ("contradictory", "The rationales are coherent and support the answer.", "logic_praised"),
    ("unevaluable", "The reasoning is fully consistent and leads to the answer.", "logic_praised"),
    ("contradictory", "理由前后一致并支持最终答案。", "logic_praised"),
    ("contradictory", "解释连贯，支持所选答案。", "logic_praised"),
    # What is no contradiction.
    ("fully_coherent", "The rationales do not contradict each other.", None),
    ("fully_coherent", "No rationale contradicts the answer.", None),
    ("fully_coherent", "There is no contradiction and the steps lead to the answer.", None),
    ("fully_coherent", "The reasoning is free of inconsistent steps.", None),
    ("fully_coherent", "理由之间没有矛盾。", None),
    ("contradictory", "The rationales are coherent and lead to option A, the answer is B.", None),
    ("contradictory", "The reasoning is not consistent and does not lead to the answer.", None),
    ("contradictory", "The rationales contradict each other.", None),
    ("weak", "The explanation is coherent and supports the answer.", None),
    ("acceptable", "A step is missing, and one rationale is slightly inconsistent.", None),
    ("unevaluable", "There is no reasoning to assess.", None),
    ("unevaluable", "没有可评估的推理。", None),
]


def judgement(**changes: str) -> Judgement:
    fields = {
        "evidence_support": "weak",
        "evidence_reason": SUPPORT,
        "logical_integrity": "weak",
        "logic_reason": STEP,
    }
    return Judgement(**fields | changes)


@pytest.mark.parametrize(("label", "reason", "flag"), OF_SUPPORT)
def test_evidence_support(label: str, reason: str, flag: str | None) -> None:
    found = contradictions(judgement(evidence_support=label, evidence_reason=reason))
    assert found == ((flag,) if flag else ())


@pytest.mark.parametrize(("label", "reason", "flag"), OF_LOGIC)
def test_logical_integrity(label: str, reason: str, flag: str | None) -> None:
    found = contradictions(judgement(logical_integrity=label, logic_reason=reason))
    assert found == ((flag,) if flag else ())


def test_case_width_and_spacing_do_not_matter() -> None:
    reason = "THE  ＣＬＡＩＭＳ\nare entirely unsupported"
    assert contradictions(judgement(evidence_support="strong", evidence_reason=reason))


def test_flags_are_counted_by_kind() -> None:
    denied = judgement(evidence_support="strong", evidence_reason="No cue supports the claims.")
    both = judgement(
        evidence_support="strong",
        evidence_reason="No cue supports the claims.",
        logical_integrity="fully_coherent",
        logic_reason="The rationales contradict each other.",
    )
    assert count_contradictions([denied, both, judgement()]) == {
        "support_denied": 2,
        "logic_denied": 1,
    }


@pytest.mark.parametrize("words", ["the ", "very ", "no ", "'a", '"', "没有", "the cues fully "])
def test_a_reason_of_any_length_is_read_in_no_time(words: str) -> None:
    began = time.perf_counter()
    for reason in (words * 50_000, (words * LONGEST)[: LONGEST - 20] + " claims are "):
        for label in ("strong", "insufficient"):
            contradictions(judgement(evidence_support=label, evidence_reason=reason))
    assert time.perf_counter() - began < 2


def test_flags_reach_the_scores_and_change_none(tmp_path: Path) -> None:
    run = asyncio.run(evaluated_run(tmp_path, 8))
    asyncio.run(have_judged(run, halo))
    scored = score_folder(run)
    assert scored.flagged == {"support_denied": 4}
    assert as_json(scored)["flagged_judgements"] == {"support_denied": 4}
    plain = replace(scored, flagged={})
    assert "flagged_judgements" not in as_json(plain)
    assert {**as_json(scored), "flagged_judgements": 0} == {
        **as_json(plain),
        "flagged_judgements": 0,
    }
    said = CliRunner().invoke(app, ["score", str(run)])
    assert "flagged judgements: support_denied 4" in said.stdout
