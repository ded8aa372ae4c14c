"""Choose a fact, make it a question, and change what the feedback says is wrong.

The facts of an episode stand in an order that all questions of a kind share, and each question has
facts of its own in it, so that no two ask the same; when they run out, the proposer declines.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any

from psychemme.clients.signal.facts import normal
from psychemme.clients.signal.question import grounding, memory, need, response, timing
from psychemme.clients.signal.question.draft import Draft, Scene
from psychemme.clients.signal.question.options import choose, is_right
from psychemme.items import Defect, KeyPoint, Option, Proposal, Question, Reference
from psychemme.vocabulary import Capability, Format, ProposalDefect

if TYPE_CHECKING:
    from psychology_kb.cards import CapabilityCard


_Family = Callable[[Scene], Iterator[Draft]]
_FAMILIES: dict[Capability, tuple[_Family, str]] = {
    Capability.GROUNDING: (grounding.drafts, grounding.MISSING),
    Capability.NEED: (need.drafts, need.MISSING),
    Capability.TIMING: (timing.drafts, timing.MISSING),
    Capability.RESPONSE: (response.drafts, response.MISSING),
    Capability.ACTION: (response.drafts, response.MISSING),
    Capability.RISK: (response.drafts, response.MISSING),
    Capability.MEMORY: (memory.drafts, memory.MISSING),
}
_DRAFTS_EACH = 3
_UNCONFIRMED = {ProposalDefect.NOT_REPRODUCED, ProposalDefect.UNSUPPORTED_PREMISE}
_NO_STATES = "Signals show what is said and when; they cannot interpret states of mind."


def propose(inputs: Mapping[str, Any], chance: Random) -> Proposal:
    """Return a proposal for `inputs` of the question role, or a reason to decline."""
    card: CapabilityCard = inputs["card"]
    if card.code not in _FAMILIES:
        return Proposal(declined=_NO_STATES)
    family, missing = _FAMILIES[Capability(card.code)]
    scene = Scene.of(inputs["episode"], inputs["norms"], card.code, inputs["format"])
    drafts = _own(_askable(family(scene), scene), inputs["ordinal"])
    earlier: Sequence[Proposal] = inputs["earlier"]
    for draft, timed, banned in _plans(drafts, earlier, inputs["feedback"]):
        proposal = _compose(draft, scene.format, card, chance, timed=timed, banned=banned)
        if proposal is not None and not _asked(proposal, earlier):
            return proposal
    again = " that was not asked already" if earlier or inputs["ordinal"] else ""
    return Proposal(declined=f"{missing} Nothing here{again} gives a sound question.")


def _askable(drafts: Iterator[Draft], scene: Scene) -> list[Draft]:
    """Return the drafts that make a question, in the scene's order, one of each kind in turn."""
    kinds: dict[str, list[Draft]] = {}
    for draft in drafts:
        if not scene.format.is_choice or choose(draft, scene.format, frozenset(), scene.chance):
            kinds.setdefault(draft.kind, []).append(draft)
    columns = list(kinds.values())
    scene.chance.shuffle(columns)
    for column in columns:
        scene.chance.shuffle(column)
    rows = chain.from_iterable(zip_longest(*columns))
    return [draft for draft in rows if draft is not None]


def _own(drafts: list[Draft], ordinal: int) -> list[Draft]:
    """Return the drafts of the `ordinal`-th question (from 0): one, and up to two in reserve."""
    questions = max(-(-len(drafts) // _DRAFTS_EACH), min(len(drafts), 2))
    return drafts[ordinal::questions] if ordinal < questions else []


def _plans(
    drafts: list[Draft], earlier: Sequence[Proposal], feedback: Sequence[Defect]
) -> Iterator[tuple[Draft, bool, frozenset[str]]]:
    """Yield (draft, with its time, banned option texts): first the same fact mended, if it can be.

    An unclear referent or a bad distractor can be mended. Else another fact is better; where none
    is left, what was merely not confirmed is asked once more in other words, while a bad cue or a
    wrong answer condemn the fact itself.
    """
    last = earlier[-1].question if earlier else None
    banned = _banned(earlier[-1], feedback) if earlier else frozenset()
    codes = {defect.code for defect in feedback}
    mendable = {ProposalDefect.AMBIGUOUS_REFERENT, ProposalDefect.OPTION_DEFECT}
    if last is not None and codes and codes <= mendable:
        timed = ProposalDefect.AMBIGUOUS_REFERENT in codes
        for draft in drafts:
            if _same_fact(draft, earlier[-1]):
                yield draft, timed or last.question == draft.timed, banned
    for draft in drafts:
        if not any(_same_fact(draft, proposal) for proposal in earlier):
            yield draft, draft.needs_time, banned
    if last is not None and codes and codes <= _UNCONFIRMED:
        asked = sum(_same_fact(draft, proposal) for draft in drafts for proposal in earlier)
        for draft in drafts[: 1 if asked < _DRAFTS_EACH else 0]:
            yield draft, draft.timed is not None, _distractors(earlier[-1])
            yield draft, draft.timed is not None, frozenset()


def _distractors(proposal: Proposal) -> frozenset[str]:
    question, reference = proposal.question, proposal.reference
    if question is None or reference is None:
        return frozenset()
    wrong = (o for o in question.options if not is_right(o.id, reference.answer))
    return frozenset(normal(option.text) for option in wrong)


def _banned(proposal: Proposal, feedback: Sequence[Defect]) -> frozenset[str]:
    """Return the options to replace: those named, or every distractor where none is."""
    named = {d.option_id for d in feedback if d.code is ProposalDefect.OPTION_DEFECT}
    question, reference = proposal.question, proposal.reference
    if question is None or reference is None or not named:
        return frozenset()
    return frozenset(
        normal(option.text)
        for option in question.options
        if option.id in named or (None in named and not is_right(option.id, reference.answer))
    )


def _same_fact(draft: Draft, proposal: Proposal) -> bool:
    question, reference = proposal.question, proposal.reference
    if question is None or reference is None:
        return False
    if question.question not in (draft.text, draft.timed):
        return False
    if isinstance(reference.answer, str) and not question.options:
        return reference.answer == draft.right[0]
    right = {normal(o.text) for o in question.options if is_right(o.id, reference.answer)}
    return right <= {normal(text) for text in draft.right}


def _asked(proposal: Proposal, earlier: Sequence[Proposal]) -> bool:
    asked = [(old.question.question, _texts(old)) for old in earlier if old.question]
    question = proposal.question
    return question is not None and (question.question, _texts(proposal)) in asked


def _texts(proposal: Proposal) -> set[str]:
    options = proposal.question.options if proposal.question else ()
    return {normal(option.text) for option in options}


def _compose(
    draft: Draft,
    form: Format,
    card: "CapabilityCard",
    chance: Random,
    *,
    timed: bool,
    banned: frozenset[str],
) -> Proposal | None:
    if (timed and draft.timed is None) or not draft.right:
        return None
    options: tuple[Option, ...] = ()
    answer: str | list[str] = draft.right[0]
    if form.is_choice:
        chosen = choose(draft, form, banned, chance)
        if chosen is None:
            return None
        options, answer = chosen
    question = Question(
        subcategory=_subcategory(card, draft),
        question=(draft.timed or draft.text) if timed else draft.text,
        options=options,
        decision_time=draft.decision_time,
    )
    points = () if form.is_choice else tuple(KeyPoint(text=text) for text in draft.right)
    reference = Reference(
        answer=answer, cues=draft.cues, key_points=points, rationale=draft.rationale
    )
    return Proposal(question=question, reference=reference)


def _subcategory(card: "CapabilityCard", draft: Draft) -> str:
    """Return the subcategory whose id holds one of the draft's hints, else the first."""
    ids = [subcategory.id for subcategory in card.subcategories]
    hinted = (name for hint in draft.hints for name in ids if hint in name)
    return next(hinted, ids[0])
