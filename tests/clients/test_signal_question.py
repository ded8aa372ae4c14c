"""The proposer of the signal baseline: sound questions, honest refusals, revisions that revise."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from psychemme.clients.protocol import Parameters, Request
from psychemme.clients.signal import SignalClient
from psychemme.clients.signal.question.draft import Scene
from psychemme.clients.signal.question.speech_acts import acts
from psychemme.clients.signal.question.utterances import held
from psychemme.episode import (
    Episode,
    FaceSample,
    HistoryEntry,
    Interval,
    Signals,
    Utterance,
    VoiceTurn,
    Word,
)
from psychemme.items import Defect, Proposal
from psychemme.vocabulary import AgentRole, Capability, Format, Modality, ProposalDefect

LINES = (
    (0.5, 2.0, "Good morning to you."),
    (2.6, 5.0, "The ladder is behind the door."),
    (5.5, 7.5, "Could you hold the ladder for me?"),
    (8.9, 10.5, "No, I would rather not do that."),
    (10.9, 13.0, "Then please call my sister Anna."),
    (14.6, 17.0, "Your tea has gone quite cold."),
    (17.3, 19.0, "Good morning to you."),
    (19.9, 22.0, "The lamp in the hall is new."),
)
NORM = SimpleNamespace(
    trigger="refusal",
    applies_to=("S", "A", "R"),
    subcategories=("second",),
    fitting=("All right, as you wish.", "Fine, I will ask again later.", "That is up to you."),
    unfitting=("Come on, just do it.", "You never help anyone.", "Let me push you.", "Why not?"),
    restrained_markers=("as you wish",),
    intrusive_markers=("come on",),
)
EPISODE = Episode(
    duration=23.0,
    transcript=tuple(Utterance(start=s, end=e, text=text) for s, e, text in LINES),
    signals=Signals(
        speech=tuple(Interval(start=start, end=end) for start, end, _ in LINES),
        pauses=tuple(Interval(start=one[1], end=two[0]) for one, two in pairwise(LINES)),
        faces=tuple(FaceSample(time=t / 2, boxes=((0.1, 0.1, 0.2, 0.3),)) for t in range(46)),
    ),
    history=(
        HistoryEntry(before=50.0, text="I prefer my tea without sugar. It was raining."),
        HistoryEntry(before=40.0, text="The train was late again."),
        HistoryEntry(before=30.0, text="We painted the kitchen yellow."),
    ),
)
ASKED = [
    ("G", Format.SINGLE),
    ("G", Format.MULTIPLE),
    ("G", Format.OPEN),
    ("N", Format.SINGLE),
    ("N", Format.MULTIPLE),
    ("N", Format.OPEN),
    ("T", Format.SINGLE),
    ("S", Format.SINGLE),
    ("A", Format.SINGLE),
    ("R", Format.SINGLE),
    ("R", Format.MULTIPLE),
    ("M", Format.SINGLE),
    ("M", Format.OPEN),
]


async def text_of(code, form, *, earlier=(), feedback=(), seed=0, episode=EPISODE, ordinal=0):
    subcategories = tuple(
        SimpleNamespace(id=name, needs_history=False) for name in ("first", "second")
    )
    request = Request(
        role=AgentRole.QUESTION,
        prompt_id="test",
        prompt_hash="",
        system="",
        user="",
        inputs={
            "episode": episode,
            "card": SimpleNamespace(code=Capability(code), subcategories=subcategories),
            "norms": (NORM,),
            "distinctions": (),
            "format": form,
            "ordinal": ordinal,
            "earlier": tuple(earlier),
            "feedback": tuple(feedback),
        },
        reply_schema=Proposal,
        parameters=Parameters(seed=seed),
        draw=len(earlier),
    )
    return (await SignalClient().complete(request)).text


async def propose(*arguments, **keywords) -> Proposal:
    return Proposal.model_validate_json(await text_of(*arguments, **keywords))


@pytest.mark.parametrize(("code", "form"), ASKED)
@pytest.mark.parametrize("seed", range(6))
async def test_what_is_asked_is_well_formed(code, form, seed):
    proposal = await propose(code, form, seed=seed)
    assert proposal.declined is None, proposal.declined
    question, reference = proposal.question, proposal.reference
    assert question.question.endswith("?")
    assert question.subcategory in ("first", "second")
    assert (question.decision_time is not None) == (code in "TSAR")
    texts = [option.text for option in question.options]
    assert all(
        fuzz.ratio(one.casefold(), two.casefold()) < 90
        for i, one in enumerate(texts)
        for two in texts[:i]
        if code != "T"
    )
    assert len({text.casefold() for text in texts}) == len(texts)
    if form is Format.OPEN:
        assert not texts
        assert reference.key_points
    assert reference.cues
    for cue in reference.cues:
        assert 0 <= cue.start < cue.end <= EPISODE.duration
        if cue.modality is Modality.SPEECH:
            said = [text for start, end, text in LINES if start < cue.end and cue.start < end]
            assert any(text.rstrip(".") in cue.description for text in said)


@pytest.mark.parametrize("form", Format)
async def test_states_of_mind_are_declined(form):
    assert "cannot interpret" in (await propose("W", form)).declined


@pytest.mark.parametrize("code", "GNTSAMR")
@pytest.mark.parametrize("form", Format)
async def test_an_episode_without_material_is_declined_with_what_is_missing(code, form):
    declined = (await propose(code, form, episode=Episode(duration=8.0))).declined
    assert declined
    assert len(declined) > 40


async def test_what_the_recogniser_doubts_is_not_quoted():
    doubted = tuple(
        line.model_copy(update={"flags": ("repetition",)}) for line in EPISODE.transcript
    )
    episode = EPISODE.model_copy(update={"transcript": doubted})
    assert (await propose("G", Format.SINGLE, episode=episode)).declined


async def test_a_repeated_quote_gets_a_time():
    seen = False
    for seed in range(40):
        question = (await propose("G", Format.OPEN, seed=seed)).question.question
        if "Good morning to you" in question:
            seen = True
            assert "which starts at" in question
    assert seen


async def test_one_seed_gives_the_same_bytes_and_seeds_differ():
    assert await text_of("G", Format.SINGLE, seed=3) == await text_of("G", Format.SINGLE, seed=3)
    assert len({await text_of("G", Format.SINGLE, seed=seed) for seed in range(8)}) > 4


async def test_the_right_option_stands_anywhere():
    places = {(await propose("G", Format.SINGLE, seed=seed)).reference.answer for seed in range(40)}
    assert len(places) >= 4


@pytest.mark.parametrize(("code", "form"), ASKED)
@pytest.mark.parametrize(
    "code_of_defect",
    [ProposalDefect.NOT_REPRODUCED, ProposalDefect.CUE_DEFECT, ProposalDefect.ANSWER_DEFECT],
)
async def test_a_condemned_fact_is_not_asked_again(code, form, code_of_defect):
    first = await propose(code, form)
    second = await propose(code, form, earlier=[first], feedback=[Defect(code=code_of_defect)])
    if second.declined is not None:
        assert "not asked already" in second.declined
    elif code_of_defect is ProposalDefect.NOT_REPRODUCED:
        assert asked(first) != asked(second)
    else:
        assert facts(first) != facts(second)


def asked(proposal):
    return facts(proposal), {option.text for option in proposal.question.options}


def facts(proposal):
    options = {o.id: o.text for o in proposal.question.options}
    answer = proposal.reference.answer
    right = {options.get(part, part) for part in ([answer] if isinstance(answer, str) else answer)}
    return proposal.question.question, frozenset(right)


async def test_an_unclear_referent_gets_a_time_and_keeps_its_fact():
    unclear = Defect(code=ProposalDefect.AMBIGUOUS_REFERENT)
    for seed in range(12):
        first = await propose("G", Format.OPEN, seed=seed)
        if "which starts at" in first.question.question:
            continue
        second = await propose("G", Format.OPEN, earlier=[first], feedback=[unclear], seed=seed)
        assert second.reference.answer == first.reference.answer
        assert "which starts at" in second.question.question


async def test_a_bad_option_is_replaced_and_the_fact_stays():
    first = await propose("S", Format.SINGLE)
    bad = next(o for o in first.question.options if o.id != first.reference.answer)
    defect = Defect(code=ProposalDefect.OPTION_DEFECT, option_id=bad.id)
    second = await propose("S", Format.SINGLE, earlier=[first], feedback=[defect])
    assert second.question.question == first.question.question
    assert bad.text not in {option.text for option in second.question.options}


async def test_when_every_fact_is_spent_it_declines():
    earlier = []
    for _ in range(60):
        lost = [Defect(code=ProposalDefect.NOT_REPRODUCED)] if earlier else []
        proposal = await propose("N", Format.SINGLE, earlier=earlier, feedback=lost)
        if proposal.declined:
            break
        assert asked(proposal) not in [asked(old) for old in earlier]
        earlier.append(proposal)
    assert proposal.declined
    assert earlier


@given(
    texts=st.lists(st.text(max_size=30), max_size=6),
    form=st.sampled_from(Format),
    code=st.sampled_from("GNTSAMR"),
)
async def test_hostile_transcripts_give_a_proposal(texts, form, code):
    lines = tuple(
        Utterance(start=float(i), end=i + 0.9, text=text, words=(Word(start=i, end=i, text=text),))
        for i, text in enumerate(texts)
    )
    history = tuple(HistoryEntry(text=text) for text in texts)
    episode = Episode(duration=7.0, transcript=lines, history=history)
    assert await propose(code, form, episode=episode)


def test_the_bytes_do_not_depend_on_the_hash_seed():
    replies = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    }
    assert len(replies) == 1
    assert b"preference" in replies.pop()


SCRIPT = f"""
import asyncio, runpy
tests = runpy.run_path({str(Path(__file__).resolve())!r})
for code, form in tests["ASKED"]:
    print(asyncio.run(tests["text_of"](code, form)))
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Please take a seat at the kitchen table.", ("invitation",)),
        ("May I push you up the hill?", ("offer",)),
        ("I like to be asked before people help me.", ("preference",)),
        ("Wait, let me finish my story.", ("hold",)),
        ("Not yet, please, let me finish this message first.", ("refusal",)),
        ("Peter, could you hold the ladder for me?", ("request",)),
        ("Just sit here with me.", ("request",)),
        ("What should I add to your cup?", ()),
        ("What will you bring to the party?", ()),
        ("I can see that.", ()),
        ("I need to leave at nine.", ()),
    ],
)
def test_acts_are_told_apart(text, wanted):
    assert acts(text) == wanted


def spoken_as(*pieces, pauses=(), voices=()):
    """Return an episode of (start, end, text) pieces with a word time for each word."""
    transcript = []
    for start, end, text in pieces:
        step = (end - start) / len(text.split())
        words = tuple(
            Word(start=start + i * step, end=start + (i + 1) * step, text=word)
            for i, word in enumerate(text.split())
        )
        transcript.append(Utterance(start=start, end=end, text=text, words=words))
    turns = tuple(VoiceTurn(start=s, end=e, voice=v) for s, e, v in voices)
    gaps = tuple(Interval(start=s, end=e) for s, e in pauses)
    speech = tuple(Interval(start=s, end=e) for s, e, _ in voices)
    return Episode(
        duration=20.0,
        transcript=tuple(transcript),
        signals=Signals(turns=turns, pauses=gaps, speech=speech),
    )


HESITATING = spoken_as(
    (1.0, 2.6, "We met the old doctor"),
    (3.0, 4.0, "at the station."),
    (5.0, 6.5, "Good for both of you."),
    voices=((1.0, 2.6, 1), (3.0, 4.0, 1), (5.0, 6.5, 2)),
)


def test_an_utterance_broken_off_is_a_fragment_and_so_is_its_rest():
    scene = Scene.of(HESITATING, (), "G", Format.SINGLE)
    assert [line.text for line in scene.quotable()] == ["Good for both of you."]


def test_a_turn_is_held_only_within_a_clause_of_one_voice():
    one = (1.0, 4.0, "She said that he came.")
    pause, turns = ((2.8, 3.1),), ((1.0, 2.8, 1), (3.1, 4.0, 1))
    ((line, gap),) = held(spoken_as(one, pauses=pause, voices=turns))
    assert line.text == "She said that"
    assert line.end <= gap.start
    other = (turns[0], (3.1, 4.0, 2))
    assert not list(held(spoken_as(one, pauses=pause, voices=other)))
    whole = (1.0, 4.0, "She said this, he came.")
    assert not list(held(spoken_as(whole, pauses=pause, voices=turns)))
    assert not list(held(spoken_as(one, pauses=((2.8, 4.0),), voices=turns)))


@pytest.mark.parametrize("code", "SAR")
@pytest.mark.parametrize("ordinal", range(3))
async def test_no_cue_of_a_response_comes_after_its_decision_time(code, ordinal):
    proposal = await propose(code, Format.SINGLE, ordinal=ordinal)
    if proposal.question is not None:
        assert all(
            cue.end <= proposal.question.decision_time + 0.05 for cue in proposal.reference.cues
        )


@pytest.mark.parametrize("seed", range(12))
async def test_the_time_given_with_moments_points_at_none_of_them(seed):
    question = (await propose("T", Format.SINGLE, seed=seed)).question
    moments = [float(option.text.split()[0]) for option in question.options]
    assert question.decision_time == EPISODE.duration
    assert max(moments) < EPISODE.duration - 0.25


@pytest.mark.parametrize(("code", "form"), ASKED)
async def test_no_two_questions_of_a_kind_are_the_same(code, form):
    made = [await propose(code, form, seed=i, ordinal=i) for i in range(40)]
    asked_first = [facts(proposal) for proposal in made if proposal.declined is None]
    assert asked_first
    assert len(set(asked_first)) == len(asked_first)
    assert made[-1].declined


@pytest.mark.parametrize("seed", range(5))
async def test_a_pause_is_plainly_long_and_every_distractor_plainly_short(seed):
    proposal = await propose("T", Format.SINGLE, seed=seed, ordinal=seed % 2)
    question, reference = proposal.question, proposal.reference
    room = re.search(r"at least (\d\.\d)", question.question)
    lengths = {option.id: pause_at(float(option.text[:-2])) for option in question.options}
    longest = lengths.pop(reference.answer)
    limit = float(room[1]) if room else longest - 0.2
    assert longest >= limit + 0.2 - 1e-9
    assert all(length <= limit - 0.2 + 1e-9 for length in lengths.values())


def pause_at(time):
    gaps = (p.end - p.start for p in EPISODE.signals.pauses if p.start - 0.06 <= time <= p.end)
    return next(gaps, 0.0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Anna, can you give me the red cup?", "To give them the red cup."),
        ("Could you hold it while I climb up?", "To hold it while they climb up."),
        ("Please don't touch my chair, you forgot.", "To touch their chair."),
        ("I don't want any advice tonight.", "Any advice tonight."),
    ],
)
async def test_an_open_need_names_what_is_asked_for(text, wanted):
    episode = Episode(duration=5.0, transcript=(Utterance(start=1.0, end=3.0, text=text),))
    proposal = await propose("N", Format.OPEN, episode=episode)
    assert proposal.reference.answer == wanted


async def test_a_history_cue_stands_where_the_preference_is_taken_up():
    proposal = await propose("M", Format.SINGLE)
    said, remembered = proposal.reference.cues
    assert remembered.modality is Modality.HISTORY
    assert (remembered.start, remembered.end) == (said.start, said.end)
