"""Dossiers for the tests of the candidates page, written by hand."""

from pathlib import Path

from construction.audits.desk import audit_subjects
from construction.audits.results import share
from construction.audits.sources import Subject, proposed
from construction.coverage import CoverageReport, Outcome, coverage
from construction.gates import GatePolicy
from construction.leakage.decision import Decision
from construction.leakage.filtering import Verdict
from construction.leakage.probes import Probe
from construction.leakage.report import CompositionRow, LeakageReport, ProbeRow
from construction.plan import Target
from construction.quality import Quality, ScreenedClip
from construction.screening.rules import Reason
from construction.screening.verdicts import Standing
from psychemme.episode import Episode, HistoryEntry, Interval, Signals, Utterance
from psychemme.items import (
    Critique,
    Cue,
    Defect,
    IndependentAnswer,
    KeyPoint,
    Option,
    Question,
    Reference,
)
from psychemme.vocabulary import (
    CandidateState,
    Capability,
    DurationBand,
    Format,
    LookAgain,
    ScreeningMaker,
)
from state.values import (
    CandidateOutcome,
    CandidateTarget,
    ClipRecord,
    Dossier,
    EpisodeRecord,
    RoundRecord,
    RunRecord,
)

DURATION = 12.0
HOSTILE = '</script><script>window.owned=1</script><img src=x onerror="window.owned=1">\'"{{7*7}}'
MODELS = {"question": "signal", "answer": "signal", "critic": "signal"}


def clip(path: str = "clips/coffee.mp4", **changes: object) -> ClipRecord:
    facts = {
        "id": "0123456789abcdef",
        "sha256": "0" * 64,
        "path": path,
        "size": 1,
        "modified_at": 0,
        "status": "prepared",
        "duration": DURATION,
        "source": "sample",
        "source_group": "sample",
        "source_video_id": "coffee",
        "recording_group": "coffee",
        "verified": False,
        "source_start": 0.0,
        "licence": "CC0-1.0",
        "consent": "synthetic",
        "added_at": 1,
    }
    return ClipRecord.model_validate(facts | changes)


def episode(hostile: str = "", number: int = 0) -> EpisodeRecord:
    start = 100.0 * number
    content = Episode(
        duration=DURATION,
        public_context=f"Two colleagues meet at the coffee machine. {hostile}",
        transcript=(
            Utterance(start=0.5, end=2.6, text=f"Would you like a coffee? {hostile}"),
            Utterance(start=3.4, end=5.2, text="No, thank you. I am trying to sleep better."),
            Utterance(start=6.1, end=8.0, text="I'm sorry I'm sorry", flags=("repetition",)),
            Utterance(start=9.0, end=11.2, text="Then I will make you a tea."),
        ),
        signals=Signals(
            pauses=(
                Interval(start=2.6, end=3.4),
                Interval(start=5.2, end=6.1),
                Interval(start=8.0, end=9.0),
            )
        ),
        history=(HistoryEntry(before=40.0, text=f"I prefer tea in the evening. {hostile}"),),
    )
    return EpisodeRecord(
        id=f"0123456789abcdef-{round(start * 1000)}-{round((start + DURATION) * 1000)}",
        clip_id="0123456789abcdef",
        preparation=1,
        start=start,
        end=start + DURATION,
        content=content,
    )


def single_rounds(hostile: str = "") -> tuple[RoundRecord, ...]:
    """A Timing question that is answered, revised and accepted in round 1."""
    options = tuple(
        Option(id=letter, text=f"{text} {hostile}")
        for letter, text in zip(
            "ABCD",
            (
                "At 1.0 s, during the offer",
                "At 5.6 s, in the pause",
                "At 7.0 s",
                "At 10.2 s",
            ),
            strict=True,
        )
    )
    cues = (
        Cue(start=3.4, end=5.2, modality="speech", description=f"The offer is declined. {hostile}"),
        Cue(start=4.9, end=6.1, modality="speech", description="The refusal has just ended."),
        Cue(start=5.2, end=6.1, modality="prosody", description="A pause of 0.9 s."),
        Cue(start=5.3, end=6.0, modality="visual", description="Both mouths are still."),
    )
    question = Question(
        subcategory="turn_entry",
        question=f"When can the colleague first speak without interrupting? {hostile}",
        options=options,
        decision_time=5.2,
    )
    first = RoundRecord(
        round=0,
        question=question.model_copy(update={"question": "When should she speak?"}),
        reference=Reference(answer="A", cues=cues[:1], rationale="The offer stands."),
        independent=IndependentAnswer(answer="B", rationale="The pause is free."),
        order=("C", "A", "D", "B"),
        critique=Critique(
            cue_support=False,
            logical_coherence=True,
            capability_alignment=True,
            proposal_defects=(
                Defect(code="unsupported_premise", cue_index=0),
                Defect(code="option_defect", option_id="A"),
            ),
            comment="The cue lies in speech.",
        ),
        steps={
            "propose": "proposed",
            "check": "sound",
            "answer": "answered",
            "critique": "criticised",
            "route": "revise_question: unsupported_premise",
        },
    )
    second = RoundRecord(
        round=1,
        question=question,
        reference=Reference(
            answer="B", cues=cues, rationale=f"Nobody speaks from 5.2 to 6.1 s. {hostile}"
        ),
        independent=IndependentAnswer(answer="B", rationale=f"First free pause. {hostile}"),
        order=("B", "D", "A", "C"),
        critique=Critique(
            cue_support=True,
            logical_coherence=True,
            capability_alignment=True,
            comment=f"The pause is audible. {hostile}",
        ),
        question_feedback=(Defect(code="unsupported_premise", cue_index=0),),
        steps={
            "propose": "proposed",
            "check": "sound",
            "answer": "answered",
            "critique": "criticised",
            "route": f"accept: agreed {hostile}",
        },
    )
    return first, second


def open_rounds() -> tuple[RoundRecord, ...]:
    """A Need question that stays unresolved."""
    record = RoundRecord(
        round=2,
        question=Question(subcategory="stated_need", question="What does the second speaker need?"),
        reference=Reference(
            answer="To be left without coffee, because sleep matters to them.",
            cues=(Cue(start=3.4, end=5.2, modality="speech", description="They decline."),),
            key_points=(
                KeyPoint(text="no coffee"),
                KeyPoint(text="better sleep"),
                KeyPoint(text="politeness", required=False),
            ),
        ),
        independent=IndependentAnswer(answer="To rest."),
        critique=Critique(
            cue_support=True,
            logical_coherence=True,
            capability_alignment=True,
            reference_given_answer=0.5,
            answer_given_reference=1.0,
            reasoning_defects=("ignored_speech",),
        ),
        answer_feedback=(LookAgain.CHECK_SPEECH,),
        steps={
            "propose": "proposed",
            "check": "sound",
            "answer": "answered",
            "critique": "criticised",
            "route": "discard: ignored_speech",
        },
    )
    return (record,)


def multiple_rounds() -> tuple[RoundRecord, ...]:
    """A Memory question with a flag instead of an answer."""
    options = tuple(
        Option(id=letter, text=text)
        for letter, text in zip("ABC", ("Tea", "No sugar", "Black coffee"), strict=True)
    )
    record = RoundRecord(
        round=0,
        question=Question(
            subcategory="preference", question="Which preferences still apply?", options=options
        ),
        reference=Reference(
            answer=["A", "B"],
            cues=(
                Cue(start=9.0, end=11.2, modality="speech", description="Tea is offered."),
                Cue(start=0, end=12, modality="history", description="Tea was preferred."),
                Cue(start=0, end=3, modality="context", description="At the coffee machine."),
            ),
        ),
        independent=IndependentAnswer(flag="ambiguous", rationale="Sugar is never named."),
        critique=Critique(cue_support=True, logical_coherence=False, capability_alignment=True),
        steps={"propose": "proposed", "check": "sound", "answer": "answered"},
    )
    return (record,)


def dossier(
    pick: int,
    capability: str,
    form: str,
    state: CandidateState,
    rounds: tuple[RoundRecord, ...],
    of_clip: ClipRecord,
    of_episode: EpisodeRecord,
    reason: str | None = None,
) -> Dossier:
    target = CandidateTarget(
        key=f"1-c{pick:015d}",
        id=f"c{pick:015d}",
        run=1,
        batch=0,
        pick=pick,
        episode_id=of_episode.id,
        preparation=1,
        capability=capability,
        format=form,
        cell_json="{}",
    )
    at = max((record.round for record in rounds), default=0)
    outcome = CandidateOutcome(
        target=target, state=state, reason=reason, round=at, answers=1, reference_flip=at == 1
    )
    return Dossier(outcome=outcome, clip=of_clip, episode=of_episode, rounds=rounds, models=MODELS)


def dossiers(path: str = "clips/coffee.mp4", hostile: str = "") -> list[Dossier]:
    """Four candidates: accepted, discarded, failed, pending; the third has another episode."""
    states = CandidateState
    here, there = clip(path), clip(f"{path}{hostile}", licence=hostile or None)
    one, two = episode(hostile), episode(hostile, number=1)
    return [
        dossier(0, "T", "single", states.ACCEPTED, single_rounds(hostile), here, one),
        dossier(1, "N", "open", states.DISCARDED, open_rounds(), here, one, "ignored_speech"),
        dossier(2, "M", "multiple", states.FAILED, multiple_rounds(), there, two, "truncated"),
        dossier(3, "G", "single", states.PENDING, (), here, one),
    ]


def coverage_of(found: list[Dossier]) -> CoverageReport:
    outcomes = [
        Outcome(
            episode_id=d.episode.id,
            capability=d.outcome.target.capability,
            format=d.outcome.target.format,
            source_group="sample",
            duration_band=DurationBand.SHORT,
            state=d.outcome.state,
            reason=d.outcome.reason,
        )
        for d in found
    ]
    targets = [
        Target(capability=capability, format=form, count=count)
        for capability, form, count in (
            ("G", "single", 2),
            ("T", "single", 1),
            ("N", "open", 1),
            ("M", "multiple", 2),
            ("M", "open", 1),
        )
    ]
    return coverage(targets, outcomes)


def run(models: dict[str, str] | None = None) -> RunRecord:
    return RunRecord(
        ordinal=1,
        seed=7,
        count=4,
        preparation=1,
        models=models or MODELS,
        pins={"prompts": "a" * 64, "knowledge": "b" * 64},
        plan_json="{}",
        created_at=1,
    )


def cut_nothing(source: Path, target: Path, start: float, end: float) -> None:
    target.write_bytes(b"not a video")


def leakage(key: str, hostile: str = "") -> LeakageReport:
    """Return the report of a filter that found the item `key` leaking, and another one not."""
    single = {"capability": Capability.TIMING, "format": Format.SINGLE}
    counts = {"before": 2, "leaking": 1, "undecided": 0, "not_run": 0, "expected": 0.08}
    leak = Verdict(key=key, version=1, decision=Decision.LEAKS, right=4, asked=5, needed=4)
    passed = Verdict(key="1-other", version=1, decision=Decision.PASSES, asked=3, needed=4)
    return LeakageReport(
        models=("one", f"other{hostile}"),
        hold_out=f"third{hostile}",
        items=2,
        leaking=1,
        passing=1,
        undecided=0,
        not_run=0,
        expected=0.08,
        trials=8,
        failed=0,
        composition=(CompositionRow.model_validate(single | counts),),
        probes=(
            ProbeRow(
                probe=Probe.QUESTION,
                model=f"third{hostile}",
                group="kept",
                share=share(3, 14, 0.25),
                failed=0,
            ),
        ),
        verdicts=(leak, passed),
        notes=(f"one filters and is also an agent. {hostile}",),
    )


def quality(found: list[Dossier], hostile: str = "") -> Quality:
    """Return what was checked: a clip refused for two reasons, all audits, and a leakage report."""
    reasons = (
        Reason(rule="least_speech", measure=f"0.4 s {hostile}", threshold="2.0 s"),
        Reason(rule="duplicate", measure="of c1", threshold="0.9", detail=f"the same {hostile}"),
    )
    standing = Standing(is_refused=True, decided_by=ScreeningMaker.RULES, reasons=reasons)
    asked = [(dossier, proposed(dossier)) for dossier in found]
    subjects = [Subject(item, 1, 1, under_review=False) for _, item in asked if item]
    return Quality(
        clips=3,
        refused=(ScreenedClip("c0", f"still.mp4{hostile}", standing),),
        audit=audit_subjects(subjects, {1: GatePolicy()}),
        leakage=leakage(found[0].outcome.target.key, hostile),
    )
