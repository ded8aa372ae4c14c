"""The critic of the signal baseline: what it measures for itself, and what it names."""

from types import SimpleNamespace

import pytest

from psychemme.clients.protocol import Request
from psychemme.clients.signal import SignalClient
from psychemme.clients.signal.critic.measure import Bench, silence_is_clear
from psychemme.clients.signal.critic.premise import kind_of
from psychemme.clients.signal.critic.timeline import Timeline
from psychemme.episode import Episode, Interval, Signals, Utterance
from psychemme.items import Critique, Cue, IndependentAnswer, Option, Question, Reference
from psychemme.vocabulary import (
    AgentRole,
    AnswerFlag,
    Capability,
    Format,
    Modality,
    ProposalDefect,
    ReasoningDefect,
)

LINES = (
    (0.5, 2.5, "We sold the house in May."),
    (3.0, 5.0, "The garden was full of roses."),
    (6.5, 8.5, "Could you pass me the map?"),
    (9.0, 11.0, "No, thank you, not now."),
)
EPISODE = Episode(
    duration=12.0,
    transcript=tuple(Utterance(start=s, end=e, text=text) for s, e, text in LINES),
    signals=Signals(speech=tuple(Interval(start=start, end=end) for start, end, _ in LINES)),
)
FOLLOWS = f'Which of these is said directly after "{LINES[1][2][:-1]}"?'
SAID = Cue(
    start=6.5, end=8.5, modality=Modality.SPEECH, description=f'Someone says "{LINES[2][2]}"'
)


async def criticise(
    question,
    texts,
    reference,
    answer,
    code="G",
    form=Format.SINGLE,
    cues=(SAID,),
    flag=None,
    norms=(),
    moment=None,
):
    options = tuple(Option(id=i, text=t) for i, t in zip("ABCDEF", texts, strict=False))
    agreement = None if form is Format.OPEN else answer == reference
    request = Request(
        role=AgentRole.CRITIC,
        prompt_id="test",
        prompt_hash="",
        system="",
        user="",
        inputs={
            "episode": EPISODE,
            "card": SimpleNamespace(code=Capability(code), subcategories=()),
            "norms": norms,
            "distinctions": (),
            "format": form,
            "question": Question(
                subcategory="any", question=question, options=options, decision_time=moment
            ),
            "reference": Reference(answer=reference, cues=cues),
            "independent": IndependentAnswer(answer=answer, flag=flag),
            "agreement": agreement,
        },
        reply_schema=Critique,
    )
    return Critique.model_validate_json((await SignalClient().complete(request)).text)


def codes(critique):
    return [defect.code for defect in critique.proposal_defects]


TEXTS = tuple(text for _, _, text in (LINES[0], LINES[2], LINES[3]))


async def test_a_sound_item_with_agreeing_answers_has_no_defect():
    critique = await criticise(FOLLOWS, TEXTS, "B", "B")
    assert critique.cue_support
    assert critique.logical_coherence
    assert critique.capability_alignment
    assert not critique.proposal_defects
    assert not critique.reasoning_defects
    assert critique.reference_given_answer is None


async def test_an_answer_heard_on_the_wrong_side_is_out_of_order():
    critique = await criticise(FOLLOWS, TEXTS, "B", "A")
    assert critique.reasoning_defects == (ReasoningDefect.WRONG_ORDER,)
    assert not critique.proposal_defects


async def test_a_reference_that_the_signals_refute_is_the_proposals_defect():
    critique = await criticise(FOLLOWS, TEXTS, "A", "B")
    assert not critique.logical_coherence
    assert codes(critique) == [ProposalDefect.ANSWER_DEFECT]
    assert not critique.reasoning_defects


async def test_a_moment_inside_speech_ignored_the_speech():
    question = (
        f'Someone waits after hearing "{LINES[0][2]}". At which moment does the first pause come '
        "that is long enough (at least 1.0 seconds) to speak without interrupting?"
    )
    critique = await criticise(question, ("5.7 s", "4.0 s", "8.7 s"), "A", "B", code="T")
    assert critique.reasoning_defects == (ReasoningDefect.IGNORED_SPEECH,)
    later = await criticise(question, ("5.7 s", "4.0 s", "8.7 s"), "A", "C", code="T")
    assert not later.reasoning_defects
    assert codes(later) == [ProposalDefect.NOT_REPRODUCED]


async def test_a_missed_option_was_skipped():
    question = f'Which of these are said after "{LINES[0][2]}"?'
    texts = (*(text for _, _, text in LINES[1:]), "Bees sing in June.")
    critique = await criticise(question, texts, ["A", "B", "C"], ["A", "C"], form=Format.MULTIPLE)
    assert critique.reasoning_defects == (ReasoningDefect.SKIPPED_OPTION,)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"end": 12.5}, ProposalDefect.CUE_DEFECT),
        ({"start": 0.5, "end": 2.0}, ProposalDefect.CUE_DEFECT),
        ({"description": 'Someone says "bees sing in June"'}, ProposalDefect.CUE_DEFECT),
        ({"modality": Modality.VISUAL}, ProposalDefect.CUE_DEFECT),
        ({"modality": Modality.HISTORY}, ProposalDefect.CUE_DEFECT),
    ],
)
async def test_a_cue_that_does_not_hold_is_located(change, code):
    critique = await criticise(
        FOLLOWS, TEXTS, "B", "B", cues=(SAID, SAID.model_copy(update=change))
    )
    assert not critique.cue_support
    assert [(d.code, d.cue_index) for d in critique.proposal_defects] == [(code, 1)]


async def test_alike_options_are_located():
    critique = await criticise(FOLLOWS, (*TEXTS, TEXTS[0].upper()), "B", "B")
    assert [(d.code, d.option_id) for d in critique.proposal_defects] == [
        (ProposalDefect.OPTION_DEFECT, "D")
    ]
    assert not critique.logical_coherence


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("G", 'Why is this said after "The garden was full of roses"?'),
        ("T", FOLLOWS),
        ("S", "Which of these is said first?"),
        ("M", "Which of these is said first?"),
    ],
)
async def test_a_question_on_another_target_is_misaligned(code, question):
    critique = await criticise(question, TEXTS, "B", "B", code=code)
    assert not critique.capability_alignment
    assert ProposalDefect.MISALIGNED_CAPABILITY in codes(critique)


async def test_flags_are_defects_of_the_proposal():
    lost = await criticise(FOLLOWS, TEXTS, "B", None, flag=AnswerFlag.INSUFFICIENT_SUPPORT)
    assert codes(lost) == [ProposalDefect.UNSUPPORTED_PREMISE]
    torn = await criticise(FOLLOWS, TEXTS, "B", None, flag=AnswerFlag.AMBIGUOUS)
    assert codes(torn) == [ProposalDefect.OPTION_DEFECT]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (LINES[2][2], (1.0, 1.0)),
        ("pass me the map please", (1.0, 1.0)),
        ("the map is over there", (0.0, 0.5)),
        ("The sea is calm today.", (0.0, 0.0)),
        (f"{LINES[2][2]} {LINES[3][2]} And so on and so forth.", (0.0, 1.0)),
    ],
)
async def test_open_answers_are_credited_both_ways(answer, wanted):
    question = f'What is said directly after "{LINES[1][2]}"?'
    critique = await criticise(question, (), LINES[2][2], answer, form=Format.OPEN)
    assert (critique.reference_given_answer, critique.answer_given_reference) == wanted
    assert bool(critique.proposal_defects) == (min(wanted) < 1)


async def test_an_open_answer_from_before_the_quote_is_out_of_order():
    question = f'What is said directly after "{LINES[1][2]}"?'
    critique = await criticise(question, (), LINES[2][2], LINES[0][2], form=Format.OPEN)
    assert critique.reasoning_defects == (ReasoningDefect.WRONG_ORDER,)


NORM = SimpleNamespace(
    trigger="request",
    applies_to=("S",),
    fitting=("Sure, I will do that now.",),
    unfitting=("Ask someone else for once.", "Do not bother me with that."),
)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        (LINES[2][2], True),
        (LINES[1][2], False),
        (LINES[3][2], False),
    ],
)
async def test_a_ready_made_reply_confirms_nothing_without_its_trigger(text, sound):
    start, end = next((s, e) for s, e, line in LINES if line == text)
    cue = Cue(start=start, end=end, modality=Modality.SPEECH, description=f'Someone says "{text}"')
    options = (*NORM.unfitting, *NORM.fitting)
    question = f'Someone says "{text}" Which of these would be the most fitting reply?'
    critique = await criticise(question, options, "C", "C", code="S", cues=(cue,), norms=(NORM,))
    assert critique.cue_support is sound
    assert (ProposalDefect.UNSUPPORTED_PREMISE in codes(critique)) is not sound


async def test_a_cue_after_the_decision_time_is_located():
    question = f'Someone says "{LINES[2][2]}" Which of these would be the most fitting reply?'
    critique = await criticise(question, TEXTS, "B", "B", code="S", moment=7.0)
    assert (ProposalDefect.CUE_DEFECT, 0) in [
        (defect.code, defect.cue_index) for defect in critique.proposal_defects
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Please take a seat at the kitchen table.", "invitation"),
        ("May I push you up the hill?", "offer"),
        ("I like to be asked before people help me.", "preference"),
        ("Not yet, please, let me finish this message first.", "refusal"),
        ("Wait, let me finish my story.", "ongoing_speech"),
        ("What should I add to your cup?", "question"),
        ("The train was late.", None),
    ],
)
def test_the_longest_stock_phrase_tells_what_an_utterance_does(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(("second", "clear"), [(1.2, True), (1.45, False)])
def test_a_longest_pause_hardly_longer_than_another_is_unclear(second, clear):
    at, speech = 0.0, []
    for gap in (1.5, second, 0.3):
        speech.append(Interval(start=at, end=at + 1.0))
        at += 1.0 + gap
    episode = Episode(duration=at, signals=Signals(speech=tuple(speech)))
    speechless = Question(subcategory="any", question="What follows the longest pause?")
    bench = Bench(episode, Timeline.of(episode), (), speechless, "G")
    assert silence_is_clear(bench) is clear
