"""Every check that refutes a proposal before anyone answers it, on proposals made by hand."""

import pytest

from construction.checks import defects
from psychemme.episode import Episode, HistoryEntry, Utterance
from psychemme.items import Cue, Defect, KeyPoint, Option, Question, Reference
from psychemme.vocabulary import Capability, Format, Modality, ProposalDefect
from psychology_kb.load import load_profile

KB = load_profile("psychemme8")
EPISODE = Episode(
    duration=20.0,
    transcript=(Utterance(start=2.0, end=5.0, text="Would you hand me the lamp?"),),
    history=(HistoryEntry(before=30.0, text="I like it bright."),),
)
SAID = Cue(start=2.0, end=5.0, modality=Modality.SPEECH, description="Someone asks for the lamp")
TEXTS = ("Hand over the lamp.", "Turn the chair round.", "Leave through the garden.")


def found(code="S", form=Format.SINGLE, *, episode=EPISODE, question=None, **reference):
    """Return the defects of a sound proposal with the given changes."""
    card = KB.card(Capability(code))
    texts = () if form is Format.OPEN else TEXTS
    fields = {
        "subcategory": card.subcategories[0].id,
        "question": "Which of these fits best?",
        "options": options(*texts),
        "decision_time": 5.0 if card.decision_time else None,
    }
    answer = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: "The lamp."}[form]
    points = (KeyPoint(text="the lamp"),) if form is Format.OPEN else ()
    given = {"answer": answer, "cues": (SAID,), "key_points": points}
    return defects(
        Question(**fields | (question or {})), Reference(**given | reference), form, card, episode
    )


def options(*texts):
    return tuple(Option(id=chr(ord("A") + i), text=text) for i, text in enumerate(texts))


def cue(**changes):
    return SAID.model_copy(update=changes)


@pytest.mark.parametrize("code", list(Capability))
@pytest.mark.parametrize("form", Format)
def test_a_sound_proposal_has_no_defect(code, form):
    assert found(code, form) == ()


@pytest.mark.parametrize(
    ("form", "texts", "option_id"),
    [
        (Format.SINGLE, TEXTS[:1], None),
        (Format.MULTIPLE, TEXTS[:2], None),
        (Format.SINGLE, (*TEXTS, "Hand  over the LAMP."), "D"),
        (Format.SINGLE, ("Yes", "No", "yes."), "C"),
        (Format.SINGLE, ("9", "10", "１０"), "C"),
        (Format.SINGLE, ("Yes", "No", "Y\u034fes"), "C"),
        (Format.SINGLE, ("Yes", "No", "\u3164"), "C"),
        (Format.OPEN, TEXTS, "A"),
    ],
)
def test_options_that_are_too_few_alike_or_out_of_place(form, texts, option_id):
    defect = Defect(code=ProposalDefect.OPTION_DEFECT, option_id=option_id)
    assert defect in found("G", form, question={"options": options(*texts)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She would pay $50 for the old lamp", "She would pay $500 for the old lamp"),
        ("He thinks that the lamp is broken", "She thinks that the lamp is broken"),
        ("They meet at the station at 3:15", "They meet at the station at 3:50"),
        ("She is now sure of what he wants", "She is not sure of what he wants"),
        ("He can reach the lamp from there", "He can't reach the lamp from there"),
        ("Really?", "Really."),
    ],
)
def test_options_that_differ_in_a_sign_are_two(one, other):
    assert found("G", question={"options": options(one, other)}) == ()


def test_option_ids_follow_the_alphabet():
    skipped = (*options(*TEXTS[:2]), Option(id="D", text=TEXTS[2]))
    assert found(question={"options": skipped}) == (
        Defect(code=ProposalDefect.OPTION_DEFECT, option_id="D"),
    )


@pytest.mark.parametrize(
    ("form", "reference"),
    [
        (Format.SINGLE, {"answer": "E"}),
        (Format.MULTIPLE, {"answer": ["A"]}),
        (Format.MULTIPLE, {"answer": ["A", "B", "C"]}),
        (Format.MULTIPLE, {"answer": "A"}),
        (Format.OPEN, {"key_points": ()}),
        (Format.OPEN, {"key_points": (KeyPoint(text="the lamp", required=False),)}),
        (Format.OPEN, {"answer": ["A"]}),
    ],
)
def test_answers_that_do_not_fit_their_format(form, reference):
    assert found("G", form, **reference) == (Defect(code=ProposalDefect.ANSWER_DEFECT),)


def test_an_answer_needs_a_cue():
    assert found(cues=()) == (Defect(code=ProposalDefect.CUE_DEFECT),)


@pytest.mark.parametrize(
    "changes",
    [
        {"start": -0.1},
        {"start": 5.0},
        {"end": 20.1, "modality": Modality.VISUAL},
        {"start": 8.0, "end": 9.0},
        {"start": 5.1, "end": 9.0},
    ],
)
def test_a_cue_lies_in_the_episode_and_a_speech_cue_on_speech(changes):
    wrong = found("G", cues=(SAID, cue(**changes)))
    assert wrong == (Defect(code=ProposalDefect.CUE_DEFECT, cue_index=1),)


def test_a_history_cue_needs_a_history():
    remembered = cue(modality=Modality.HISTORY)
    assert found("G", cues=(remembered,)) == ()
    nothing = EPISODE.model_copy(update={"history": ()})
    assert found("G", cues=(remembered,), episode=nothing) == (
        Defect(code=ProposalDefect.CUE_DEFECT, cue_index=0),
    )


@pytest.mark.parametrize("code", "SAR")
@pytest.mark.parametrize("modality", [Modality.SPEECH, Modality.VISUAL, Modality.PROSODY])
def test_no_cue_of_a_response_comes_after_its_decision_time(code, modality):
    early, late = cue(end=4.05, modality=modality), cue(end=4.06, modality=modality)
    moment = {"decision_time": 4.0}
    assert found(code, question=moment, cues=(early,)) == ()
    assert found(code, question=moment, cues=(early, late)) == (
        Defect(code=ProposalDefect.CUE_DEFECT, cue_index=1),
    )


@pytest.mark.parametrize(
    ("code", "modality"), [("T", "speech"), ("S", "history"), ("A", "context")]
)
def test_other_cues_may_reach_beyond_the_decision_time(code, modality):
    later = cue(modality=Modality(modality))
    assert found(code, question={"decision_time": 4.0}, cues=(later,)) == ()


def test_a_risk_without_a_decision_time_may_use_the_whole_episode():
    assert found("R", cues=(SAID, cue(start=10.0, end=19.0, modality=Modality.VISUAL))) == ()


def test_a_subcategory_belongs_to_the_target():
    other = KB.card(Capability.GROUNDING).subcategories[0].id
    assert found(question={"subcategory": other}) == (
        Defect(code=ProposalDefect.MISALIGNED_CAPABILITY),
    )


@pytest.mark.parametrize("moment", [None, -0.1, 20.1])
@pytest.mark.parametrize("code", "TSA")
def test_a_decision_time_is_given_and_lies_in_the_episode(code, moment):
    wrong = found(code, question={"decision_time": moment}, cues=(cue(modality=Modality.HISTORY),))
    assert wrong == (Defect(code=ProposalDefect.UNSUPPORTED_PREMISE),)


def test_memory_needs_a_history():
    nothing = EPISODE.model_copy(update={"history": ()})
    assert found("M", episode=nothing) == (Defect(code=ProposalDefect.UNSUPPORTED_PREMISE),)


@pytest.mark.parametrize("moment", [-1.0, 1e308, float("inf")])
def test_a_decision_time_outside_the_episode_is_refused_wherever_it_is_given(moment):
    assert [d.code for d in found("G", question={"decision_time": moment})] == [
        ProposalDefect.UNSUPPORTED_PREMISE
    ]


def test_a_history_cue_lies_in_the_episode_too():
    cue = Cue(start=-1e308, end=1e308, modality=Modality.HISTORY, description="a preference")
    assert found("G", cues=(cue,)) == (Defect(code=ProposalDefect.CUE_DEFECT, cue_index=0),)
