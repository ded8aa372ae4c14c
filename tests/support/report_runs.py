"""Synthetic runs for the evaluation report: seeded numbers, and hostile words wherever possible."""

import json
from pathlib import Path
from random import Random

from evaluation.inputs import InputPolicy
from evaluation.judge import Judgement
from evaluation.manifest import Decoding, RunManifest, release_name
from evaluation.report.runs import ReportRun
from evaluation.responses import Outcome, Response
from evaluation.score import score_responses
from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from psychemme.release.read import Release, read_release
from psychemme.vocabulary import Capability, Format
from tests.support.releases import make_release

HOSTILE = "</script><script>window.owned=1</script><img src=x onerror=window.owned=1>{{7*7}}\u202e"
REASON = "PRIVATE-REASON of the judge"
NAMES = ("ardent-9b", "brook_7b & <b>|co</b>", "=cmd|' /C calc'!A0", "delta-video-32b-instruct")


def release_of(root: Path, count: int = 48, **facts: object) -> Release:
    """Return a synthetic release on disk; `profile` gives the domains."""
    return read_release(make_release(root, count, **({"profile": "psychemme8"} | facts)))


def report_run(
    release: Release,
    model: str,
    skill: float,
    *,
    failing: float = 0.05,
    unanswered: int = 0,
    only: frozenset[Capability] = frozenset(Capability),
    notes: tuple[str, ...] = (),
    is_self: bool = False,
    explains: bool = True,
    seed: int = 7,
) -> ReportRun:
    """Return a run whose answers are right with probability `skill`; the seed fixes everything."""
    chance = Random(f"{seed}:{model}")
    names = [name for name, row in release.questions.items() if row.capability in only]
    responses, judgements = {}, {}
    for place, name in enumerate(names):
        response = _response(release, name, model, chance, skill, failing, explains)
        if place < unanswered:
            facts = {"outcome": Outcome.API_ERROR, "reason": "timeout", "answer": None}
            response = response.model_copy(update=facts | {"raw": None, "extractor": None})
        responses[name] = response
        if response.answer is not None:
            judgements[name] = _judgement(release, name, chance, skill)
    scored = score_responses(release, responses, judgements)
    return ReportRun(
        name=scored.name,
        manifest=_manifest(release, model, tuple(names), is_self),
        scored=scored.__class__(**(vars(scored) | {"is_self": is_self})),
        responses=responses,
        judgements=judgements,
        sent={name: {"media": [], "transcript_lines": 2} for name in names},
        judge="judge-27b",
        judge_prompts=("f" * 64,),
        notes=notes,
    )


def runs_of(release: Release) -> list[ReportRun]:
    """Return four models, a self-made baseline and a guessing one."""
    skills = (0.82, 0.64, 0.5, 0.7)
    models = [report_run(release, name, skill) for name, skill in zip(NAMES, skills, strict=True)]
    mine = report_run(
        release,
        "signal",
        0.9,
        failing=0,
        is_self=True,
        explains=False,
        notes=("self: made these items, unranked", "baseline without a language model"),
    )
    guess = ("baseline without a language model",)
    random = report_run(release, "random", 0.25, failing=0, explains=False, notes=guess)
    return [*models, mine, random]


def _response(
    release: Release,
    name: str,
    model: str,
    chance: Random,
    skill: float,
    failing: float,
    explains: bool,
) -> Response:
    who = {"item_id": name, "model": model, "condition": "full"}
    form = release.questions[name].format
    if chance.random() < failing:
        text = f"I cannot help with that. {HOSTILE}"
        return Response(**who, outcome=Outcome.REFUSAL, reason="refusal", raw=text)
    right = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: f"hold {HOSTILE}"}
    wrong = {Format.SINGLE: "C", Format.MULTIPLE: ["B", "C"], Format.OPEN: "leave at once"}
    answer = (right if chance.random() < skill else wrong)[form]
    told = f"At second {chance.randrange(20)} one person leans on the ladder. {HOSTILE}"
    rationales = dict.fromkeys(Capability) | ({Capability.GROUNDING: told} if explains else {})
    raw = json.dumps({"answer": answer} | {str(k): v for k, v in rationales.items()})
    return Response(
        **who, outcome=Outcome.OK, answer=answer, rationales=rationales, extractor="json", raw=raw
    )


def _judgement(release: Release, name: str, chance: Random, skill: float) -> Judgement:
    spread = (skill, 1.0, 0.6, 0.3, 0.2)
    is_open = not release.questions[name].format.is_choice
    return Judgement(
        evidence_reason=f"{REASON} {HOSTILE}",
        logic_reason=REASON,
        evidence_support=chance.choices(list(EvidenceSupport), spread)[0],
        logical_integrity=chance.choices(list(LogicalIntegrity), spread)[0],
        answer_credit=chance.choices((1.0, 0.5, 0.0), (skill, 0.3, 0.3))[0] if is_open else None,
    )


def _manifest(release: Release, model: str, names: tuple[str, ...], is_self: bool) -> RunManifest:
    return RunManifest(
        model=model,
        family="test",
        condition="full",
        release=release_name(release),
        release_path=str(release.root),
        policy=InputPolicy(),
        card={"name": model},
        prompts={"evaluated": "e" * 64},
        decoding=Decoding(),
        items=names,
        is_self=is_self,
        versions={"psychemme": "0.1.0"},
    )
