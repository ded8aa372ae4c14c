"""Put cues, target, options and both answers to the test, and name what is wrong."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rapidfuzz import fuzz

from psychemme.clients.signal.critic.cues import holds
from psychemme.clients.signal.critic.measure import Bench, Measured, measure, silence_is_clear
from psychemme.clients.signal.critic.premise import presupposed, triggers
from psychemme.clients.signal.critic.timeline import Timeline
from psychemme.clients.signal.facts import normal, tokens
from psychemme.items import Answer, Critique, Cue, Defect, IndependentAnswer, Option, Reference
from psychemme.vocabulary import (
    AnswerFlag,
    Format,
    Modality,
    ProposalDefect,
    ReasoningDefect,
)

_TARGETS = {
    "G": r"\bsaid\b|\bsay|\bvoice|\bspeak|\bwho\b|\bvisible|\bface|\bdoes\b|\bdoing\b",
    "W": r"\bfeel|\bthink|\bwhy\b|\bstate\b|\bintend|\bbelie|\bemotion",
    "N": r"\bneed|\brequest|\bask(?:s|ed)?\b|\brefus|\bdown\b|\bwant|\bsupport",
    "T": r"\bmoment|\bwhen\b|\bpause|\btime\b",
    "S": r"\brepl|\brespon|\bsay",
    "A": r"\baction|\bdo\b|\bnext\b",
    "M": r"\bearlier|\bbefore this|\bhistory|\bremember|\bprefer",
    "R": r"\bboundar|\brespect|\bconsent|\brisk|\bsafe|\bprivacy",
}
_BEYOND_GROUNDING = re.compile(r"\bwhy\b|\bfeel|\bemotion|\bshould\b")
_ALIKE = 92.0
_EMPTY_WORDS = """
a an the i me my we us our you your they them their he she it its to of for with at on in and or
that this is am are be do did please can could would will may should so just dont want need
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_UNHEARD = {ProposalDefect.CUE_DEFECT, ProposalDefect.UNSUPPORTED_PREMISE}
_RESPONDING = ("S", "A", "R")
_LATEST_CUE = 0.05
_INCOHERENT = {ProposalDefect.ANSWER_DEFECT, ProposalDefect.OPTION_DEFECT}


def criticise(inputs: Mapping[str, Any]) -> Critique:
    """Return the critique of one proposal and one independent answer."""
    bench = Bench(
        episode=inputs["episode"],
        timeline=Timeline.of(inputs["episode"]),
        norms=tuple(inputs["norms"]),
        question=inputs["question"],
        code=str(inputs["card"].code),
    )
    reference: Reference = inputs["reference"]
    independent: IndependentAnswer = inputs["independent"]
    measured = measure(bench)
    defects = _defects(bench, measured, reference)
    found = {defect.code for defect in defects}
    credit = _credits(inputs["format"], reference.answer, independent)
    agreed = inputs["agreement"] if credit is None else min(credit) == 1.0
    faults: tuple[ReasoningDefect, ...] = ()
    if independent.flag is not None:
        defects.append(Defect(code=_flagged(bench, independent.flag)))
    elif not agreed and not defects:
        faults = _faults(bench, measured, independent.answer)
        defects += [] if faults else [Defect(code=ProposalDefect.NOT_REPRODUCED)]
    return Critique(
        cue_support=not found & _UNHEARD,
        logical_coherence=not found & _INCOHERENT,
        capability_alignment=ProposalDefect.MISALIGNED_CAPABILITY not in found,
        reference_given_answer=credit[0] if credit else None,
        answer_given_reference=credit[1] if credit else None,
        proposal_defects=tuple(defects),
        reasoning_defects=faults,
        comment=_comment(measured, coherent=not found & _INCOHERENT),
    )


def _defects(bench: Bench, measured: Measured | None, reference: Reference) -> list[Defect]:
    """Return what is wrong with the proposal whatever the independent answer says."""
    defects = [
        Defect(code=ProposalDefect.CUE_DEFECT, cue_index=index)
        for index, cue in enumerate(reference.cues)
        if not holds(cue, bench.episode, bench.timeline) or _is_late(cue, bench)
    ]
    if not reference.cues:
        defects.append(Defect(code=ProposalDefect.CUE_DEFECT))
    if not _aligned(bench):
        defects.append(Defect(code=ProposalDefect.MISALIGNED_CAPABILITY))
    if not _is_triggered(bench, reference.answer):
        defects.append(Defect(code=ProposalDefect.UNSUPPORTED_PREMISE))
    if not _is_clear(bench):
        defects.append(Defect(code=ProposalDefect.AMBIGUOUS_REFERENT))
    if not _coherent(bench, measured, reference.answer):
        defects.append(Defect(code=ProposalDefect.ANSWER_DEFECT))
    return defects + _alike(bench.question.options) + _rivals(bench, measured, reference.answer)


def _is_late(cue: Cue, bench: Bench) -> bool:
    """Tell whether `cue` shows the outcome of what is to be decided."""
    moment = bench.question.decision_time
    if bench.code not in _RESPONDING or moment is None or cue.modality is Modality.HISTORY:
        return False
    return cue.end > moment + _LATEST_CUE


def _is_triggered(bench: Bench, answer: Answer) -> bool:
    """Tell whether what happens calls for the ready-made texts that `answer` chooses, if any."""
    if bench.code not in _RESPONDING:
        return True
    chosen = _texts(bench.question.options, answer)
    claims = [presupposed(text, bench.norms, bench.code) for text in sorted(chosen)]
    heard = triggers(bench.quoted, bench.question.decision_time, bench.episode)
    return all(not claim or claim & heard for claim in claims)


def _is_clear(bench: Bench) -> bool:
    """Tell whether the longest pause, where it is asked about, is plainly the longest."""
    return bench.code != "G" or "longest pause" not in bench.plain or silence_is_clear(bench)


def _coherent(bench: Bench, measured: Measured | None, answer: Answer) -> bool:
    """Tell whether the reference survives the critic's own measurement.

    A choice reference must be what was measured; an open one must be heard, now or in the past.
    """
    if not bench.question.options:
        past = normal(" ".join(entry.text for entry in bench.episode.history))
        text = answer if isinstance(answer, str) else " ".join(answer)
        heard = bench.timeline.places(text) or fuzz.partial_ratio(normal(text), past) >= 85
        return bool(heard) or _credit(bench.timeline.text, measured_against=text) == 1.0
    if measured is None:
        return True
    chosen = _texts(bench.question.options, answer)
    if isinstance(answer, str):
        return chosen <= measured.supported
    return not chosen & measured.refuted and measured.supported <= chosen


def _flagged(bench: Bench, flag: AnswerFlag) -> ProposalDefect:
    """Return the defect behind a flag; what is heard once is clear, so its options are not."""
    if flag is AnswerFlag.INSUFFICIENT_SUPPORT:
        return ProposalDefect.UNSUPPORTED_PREMISE
    if bench.question.options and bench.heard_once():
        return ProposalDefect.OPTION_DEFECT
    return ProposalDefect.AMBIGUOUS_REFERENT


def _rivals(bench: Bench, measured: Measured | None, answer: Answer) -> list[Defect]:
    """Return a defect for each other option that a single choice supports as well."""
    if measured is None or not isinstance(answer, str):
        return []
    return (
        [
            Defect(code=ProposalDefect.OPTION_DEFECT, option_id=option.id)
            for option in bench.question.options
            if option.text in measured.supported and option.id != answer
        ]
        if _texts(bench.question.options, answer) <= measured.supported
        else []
    )


def _faults(
    bench: Bench, measured: Measured | None, answer: Answer | None
) -> tuple[ReasoningDefect, ...]:
    """Name the fault that the critic measures in the chosen options: a difference is none."""
    if answer is None:
        return ()
    if not bench.question.options:
        return _open_fault(bench, answer)
    if measured is None:
        return ()
    chosen = _texts(bench.question.options, answer)
    if chosen & measured.refuted:
        return (measured.fault,)
    if isinstance(answer, list) and measured.supported - chosen:
        return (ReasoningDefect.SKIPPED_OPTION,)
    return ()


def _open_fault(bench: Bench, answer: Answer) -> tuple[ReasoningDefect, ...]:
    """Find an open answer out of order: heard only before what the question asks to follow."""
    anchor = bench.anchor()
    places = bench.timeline.places(answer if isinstance(answer, str) else " ".join(answer))
    if anchor is None or "after" not in bench.plain or not places:
        return ()
    return () if any(start > anchor[0] for start, _ in places) else (ReasoningDefect.WRONG_ORDER,)


def _texts(options: Sequence[Option], answer: Answer) -> frozenset[str]:
    ids = {answer} if isinstance(answer, str) else set(answer)
    return frozenset(option.text for option in options if option.id in ids)


def _aligned(bench: Bench) -> bool:
    if bench.code == "G" and _BEYOND_GROUNDING.search(bench.plain):
        return False
    return re.search(_TARGETS[bench.code], bench.plain) is not None


def _alike(options: Sequence[Option]) -> list[Defect]:
    """Return a defect for each option that repeats an earlier one."""
    return [
        Defect(code=ProposalDefect.OPTION_DEFECT, option_id=two.id)
        for one, two in combinations(options, 2)
        if normal(one.text) == normal(two.text)
        or (len(two.text) > 15 and fuzz.ratio(normal(one.text), normal(two.text)) >= _ALIKE)
    ]


def _credits(
    form: Format, reference: Answer, independent: IndependentAnswer
) -> tuple[float, float] | None:
    """Return (reference given answer, answer given reference), None on choice questions."""
    if form.is_choice:
        return None
    if not isinstance(reference, str) or not isinstance(independent.answer, str):
        return 0.0, 0.0
    return (
        _credit(reference, measured_against=independent.answer),
        _credit(independent.answer, measured_against=reference),
    )


def _credit(text: str, measured_against: str) -> float:
    """Return 1 where at least 0.8 of the other's content words are held, 0.5 from 0.4, else 0."""
    wanted, held = _content(measured_against), _content(text)
    share = len(wanted & held) / len(wanted) if wanted else 0.0
    return 1.0 if share >= 0.8 else 0.5 if share >= 0.4 else 0.0


def _content(text: str) -> set[str]:
    """Return the words of `text` that carry content, or all of them where none does."""
    every = set(tokens(text))
    return every - _EMPTY or every


def _comment(measured: Measured | None, *, coherent: bool) -> str:
    if measured is None:
        return "The signals allow no measurement of the options."
    verdict = "supports" if coherent else "does not support"
    return f"The critic's own measurement {verdict} the reference."
