"""What code can refute in a proposal before anyone answers it.

Each check yields defects with a place; none judges psychology.
"""

from collections.abc import Iterator

from psychemme.answers import fits, option_set
from psychemme.episode import Episode
from psychemme.items import Cue, Defect, Question, Reference
from psychemme.release.texts import is_blank, same_option
from psychemme.vocabulary import Capability, Format, Modality, ProposalDefect
from psychology_kb.load import CapabilityCard

_TOLERANCE_S = 0.05
_RESPONSES = frozenset({Capability.RESPONSE, Capability.ACTION, Capability.RISK})
_OBSERVED = frozenset({Modality.SPEECH, Modality.VISUAL, Modality.PROSODY})


def defects(
    question: Question, reference: Reference, form: Format, card: CapabilityCard, episode: Episode
) -> tuple[Defect, ...]:
    """Return every defect found, in a fixed order; empty when the proposal is sound."""
    return (
        *_options(question, form),
        *_answer(question, reference, form),
        *_cues(reference, episode),
        *_outcomes(question, reference, card),
        *_target(question, card, episode),
    )


def _options(question: Question, form: Format) -> Iterator[Defect]:
    options = question.options
    if not form.is_choice:
        if options:
            yield Defect(code=ProposalDefect.OPTION_DEFECT, option_id=options[0].id)
        return
    if len(options) < (2 if form is Format.SINGLE else 3):
        yield Defect(code=ProposalDefect.OPTION_DEFECT)
    seen: set[tuple[str, str]] = set()
    for position, option in enumerate(options):
        text = same_option(option.text)
        if text in seen or is_blank(option.text) or option.id != chr(ord("A") + position):
            yield Defect(code=ProposalDefect.OPTION_DEFECT, option_id=option.id)
        seen.add(text)


def _answer(question: Question, reference: Reference, form: Format) -> Iterator[Defect]:
    ids = [option.id for option in question.options]
    chosen = len(option_set(reference.answer))
    incomplete = form is Format.MULTIPLE and not 2 <= chosen < len(ids)
    required = (p.text for p in reference.key_points if p.required)
    pointless = form is Format.OPEN and all(map(is_blank, required))
    is_empty = isinstance(reference.answer, str) and is_blank(reference.answer)
    if is_empty or not fits(form, reference.answer, ids) or incomplete or pointless:
        yield Defect(code=ProposalDefect.ANSWER_DEFECT)


def _cues(reference: Reference, episode: Episode) -> Iterator[Defect]:
    if not reference.cues:
        yield Defect(code=ProposalDefect.CUE_DEFECT)
    for index, cue in enumerate(reference.cues):
        if not _is_grounded(cue, episode):
            yield Defect(code=ProposalDefect.CUE_DEFECT, cue_index=index)


def _outcomes(question: Question, reference: Reference, card: CapabilityCard) -> Iterator[Defect]:
    """Yield a defect for each cue of a response that shows what came after its decision time."""
    moment = question.decision_time
    if card.code not in _RESPONSES or moment is None:
        return
    for index, cue in enumerate(reference.cues):
        if cue.modality in _OBSERVED and cue.end > moment + _TOLERANCE_S:
            yield Defect(code=ProposalDefect.CUE_DEFECT, cue_index=index)


def _is_grounded(cue: Cue, episode: Episode) -> bool:
    if not 0 <= cue.start < cue.end <= episode.duration:
        return False
    if cue.modality is Modality.HISTORY:
        return bool(episode.history)
    if cue.modality is Modality.SPEECH:
        return any(
            u.start - _TOLERANCE_S < cue.end and cue.start < u.end + _TOLERANCE_S
            for u in episode.transcript
        )
    return True


def _target(question: Question, card: CapabilityCard, episode: Episode) -> Iterator[Defect]:
    if is_blank(question.question):
        yield Defect(code=ProposalDefect.UNSUPPORTED_PREMISE)
    known = {subcategory.id for subcategory in card.subcategories}
    if question.subcategory not in known:
        yield Defect(code=ProposalDefect.MISALIGNED_CAPABILITY)
    moment = question.decision_time
    if (moment is None and card.decision_time) or not _is_inside(moment, episode):
        yield Defect(code=ProposalDefect.UNSUPPORTED_PREMISE)
    if card.code is Capability.MEMORY and not episode.history:
        yield Defect(code=ProposalDefect.UNSUPPORTED_PREMISE)


def _is_inside(moment: float | None, episode: Episode) -> bool:
    return moment is None or 0 <= moment <= episode.duration
