"""The three roles together, on seeded artificial episodes with measurement jitter.

What is true is known to the generator only; the agents see jittered measurements of it.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from psychemme.clients.protocol import Parameters, Request
from psychemme.clients.signal import SignalClient
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
from psychemme.items import (
    Critique,
    Cue,
    IndependentAnswer,
    Option,
    Proposal,
    Question,
    Reference,
)
from psychemme.vocabulary import LOOK_AGAIN, AgentRole, Capability, Format
from psychology_kb.load import load_profile

KB = load_profile("psychemme8")
SAYINGS = {
    "statement": (
        "The train leaves at seven in the evening.",
        "We painted the fence last summer.",
        "My brother moved to the coast in March.",
        "The garden gate is open again.",
        "That is what the doctor said as well.",
        "It rained for most of the weekend.",
        "There are four chairs in the other room.",
        "The shop on the corner has closed.",
        "You can see the river from the window.",
        "I thought the meeting was on Thursday.",
        "She would never say that in public.",
        "I had no idea that it was so late.",
        "All right then.",
        "We stayed until the lights went out.",
        "They want to sell the old boat.",
        "The kettle is still warm, I think.",
    ),
    "request": (
        "Could you hold this lamp for me?",
        "Please bring the blue box from the kitchen.",
        "Would you mind closing the window behind you?",
        "I need some help with this heavy table.",
        "Can you pass me the salt?",
        "Give me a moment to find my glasses.",
        "Maybe you could look at the printer later.",
        "It would be nice if somebody carried the bags.",
    ),
    "refusal": (
        "No, thank you, I can manage.",
        "Please don't touch that shelf.",
        "I would rather not talk about it now.",
        "I don't want any help with this.",
        "Not now, I am in the middle of something.",
        "That won't be necessary at all.",
        "Leave it, I will do it on my own.",
    ),
    "offer": ("Shall I carry the bags for you?", "Would you like some tea with that?"),
    "distress": ("I am so tired of all this.", "I am really worried about my mother."),
    "preference": (
        "I prefer the window seat on the train.",
        "I never drink coffee after lunch.",
        "I like to walk home along the river.",
        "I really hate the smell of paint.",
    ),
}
KINDS = (
    ("statement",) * 6 + ("request",) * 3 + ("refusal",) * 2 + ("offer", "distress", "preference")
)
HISTORY = (
    "I prefer my tea without sugar.",
    "I never sit in the front seat of a train.",
    "I like the garden when it is quiet.",
    "I don't like it when people touch my shelf.",
    "I love fresh salt on my bread.",
    "We met at the station on Monday.",
    "The kitchen was painted yellow back then.",
    "The river was frozen that winter.",
)


@dataclass(frozen=True)
class Truth:
    """One utterance as it was really spoken."""

    start: float
    end: float
    kind: str
    text: str
    words: tuple[Word, ...]


def script(seed: int) -> tuple[list[Truth], float]:
    """Return true utterances with hesitations inside and pauses between them."""
    chance = Random(f"script {seed}")
    at, spoken = 0.6, []
    used: list[str] = []
    for _ in range(chance.randint(8, 16)):
        kind = chance.choice(KINDS)
        text = chance.choice(SAYINGS[kind])
        if text in used and chance.random() < 0.8:
            continue
        used.append(text)
        words = []
        for piece in text.split():
            length = 0.09 + 0.045 * len(piece)
            words.append(Word(start=at, end=at + length, text=piece))
            at += length + (chance.uniform(0.3, 0.9) if chance.random() < 0.05 else 0.02)
        spoken.append(Truth(words[0].start, words[-1].end, kind, text, tuple(words)))
        at = words[-1].end + chance.choice((0.15, 0.3, 0.5, 0.8, 1.1, 1.6))
    return spoken, round(at + 0.5, 3)


def measured(seed: int, spoken: list[Truth], duration: float, jitter: float = 1.0) -> Episode:
    """Return the episode as measured: shaken edges, words that swallow silence, wrong voices."""
    chance = Random(f"measure {seed}")
    every = [word for truth in spoken for word in truth.words]
    shaken: dict[Word, Word] = {}
    for word, following in zip(every, [*every[1:], None], strict=True):
        room = (following.start if following else duration) - word.end
        swallow = chance.random() < 0.15 * jitter and room > 0.3
        end = word.end + (room * chance.uniform(0.3, 0.8) if swallow else 0.0)
        start = max(0.0, word.start + chance.gauss(0, 0.04 * jitter))
        shaken[word] = Word(
            start=start,
            end=min(duration, max(start + 0.03, end + chance.gauss(0, 0.04 * jitter))),
            text=word.text,
        )
    transcript = []
    for truth in spoken:
        words = tuple(shaken[word] for word in truth.words)
        transcript.append(
            Utterance(start=words[0].start, end=words[-1].end, text=truth.text, words=words)
        )
    gaps = [(a.end, b.start) for a, b in pairwise(every)]
    gaps = [(0.0, every[0].start), *gaps, (every[-1].end, duration)]
    pauses = []
    for start, end in gaps:
        low = max(0.0, start + chance.gauss(0, 0.05 * jitter))
        high = min(duration, end + chance.gauss(0, 0.05 * jitter))
        if high - low >= 0.2:
            pauses.append(Interval(start=low, end=high))
    edges = [0.0, *(t for pause in pauses for t in (pause.start, pause.end)), duration]
    speech = [
        Interval(start=a, end=b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a
    ]
    turns, voice = [], 1
    for truth in spoken:
        voice = 3 - voice if chance.random() < 0.7 else voice
        heard = 3 - voice if chance.random() < 0.05 * jitter else voice
        turns.append(VoiceTurn(start=truth.start, end=truth.end, voice=heard))
    faces = tuple(FaceSample(time=float(t), boxes=((0.1, 0.1, 0.2, 0.2),)) for t in range(8))
    return Episode(
        duration=duration,
        public_context="Two people talk at home.",
        transcript=tuple(transcript),
        signals=Signals(
            speech=tuple(speech), pauses=tuple(pauses), turns=tuple(turns), faces=faces
        ),
        history=tuple(HistoryEntry(before=60.0, text=text) for text in HISTORY),
    )


def episode(seed: int, jitter: float = 1.0) -> Episode:
    return measured(seed, *script(seed), jitter)


async def call(role: AgentRole, schema, inputs, seed=0, draw=0):
    request = Request(
        role=role,
        prompt_id="test",
        prompt_hash="",
        system="",
        user="",
        inputs=inputs,
        reply_schema=schema,
        parameters=Parameters(seed=seed),
        draw=draw,
    )
    return schema.model_validate_json((await SignalClient().complete(request)).text)


async def propose(ep, code, form, earlier=(), feedback=(), seed=0, ordinal=0):
    card = KB.card(code)
    return await call(
        AgentRole.QUESTION,
        Proposal,
        {
            "episode": ep,
            "card": card,
            "norms": KB.norms_for(code),
            "distinctions": KB.distinctions,
            "format": form,
            "ordinal": ordinal,
            "earlier": tuple(earlier),
            "feedback": tuple(feedback),
        },
        seed,
        len(earlier),
    )


async def reply(ep, form, question, feedback=(), order=0):
    options = list(question.options)
    Random(f"order {order}").shuffle(options)
    return await call(
        AgentRole.ANSWER,
        IndependentAnswer,
        {
            "episode": ep,
            "norms": KB.norms,
            "distinctions": KB.distinctions,
            "format": form,
            "question": question.question,
            "options": tuple(options),
            "decision_time": question.decision_time,
            "feedback": tuple(feedback),
        },
    )


def agree(form, one, two) -> bool | None:
    if not form.is_choice:
        return None
    return two is not None and {*one} == {*two}


async def candidate(ep, code, form, seed):
    """Run the graph's rules; return (route, proposal, answer, critique) of each round."""
    earlier, steps, look, defects = [], [], (), ()
    proposal = await propose(ep, code, form, seed=seed)
    for round_ in range(3):
        if proposal.declined:
            return [*steps, ("declined", proposal, None, None)]
        question, reference = proposal.question, proposal.reference
        answer = await reply(ep, form, question, look, order=f"{seed}{round_}")
        critique = await call(
            AgentRole.CRITIC,
            Critique,
            {
                "episode": ep,
                "card": KB.card(code),
                "norms": KB.norms,
                "distinctions": KB.distinctions,
                "format": form,
                "question": question,
                "reference": reference,
                "independent": answer,
                "agreement": agree(form, reference.answer, answer.answer),
            },
        )
        agreed = agree(form, reference.answer, answer.answer)
        if agreed is None:
            agreed = critique.reference_given_answer == critique.answer_given_reference == 1.0
        sound = critique.cue_support and critique.logical_coherence
        if sound and critique.capability_alignment and agreed:
            return [*steps, ("accept", proposal, answer, critique)]
        route = "revise_question"
        if critique.reasoning_defects and not critique.proposal_defects:
            route = "reanswer"
        steps.append((route, proposal, answer, critique))
        if route == "reanswer":
            look = tuple(LOOK_AGAIN[fault] for fault in critique.reasoning_defects)
            continue
        look, defects = (), critique.proposal_defects
        assert defects, "a revision needs a reason"
        earlier.append(proposal)
        proposal = await propose(ep, code, form, earlier, defects, seed)
    return [*steps, ("discard", proposal, None, None)]


CELLS = [
    (Capability.GROUNDING, Format.SINGLE),
    (Capability.GROUNDING, Format.MULTIPLE),
    (Capability.GROUNDING, Format.OPEN),
    (Capability.TIMING, Format.SINGLE),
    (Capability.NEED, Format.SINGLE),
    (Capability.NEED, Format.MULTIPLE),
    (Capability.NEED, Format.OPEN),
    (Capability.RESPONSE, Format.SINGLE),
    (Capability.ACTION, Format.SINGLE),
    (Capability.RISK, Format.SINGLE),
    (Capability.RISK, Format.MULTIPLE),
    (Capability.MEMORY, Format.SINGLE),
    (Capability.MEMORY, Format.OPEN),
    *((Capability.UNDERSTANDING, form) for form in Format),
]


@pytest.fixture(scope="module")
def histories():
    """Every cell on 12 episodes, as measured with usual and with rough jitter."""
    import asyncio

    async def run():
        found = defaultdict(list)
        for seed in range(12):
            ep = episode(seed, jitter=1.0 + 1.5 * (seed % 2))
            for cell in CELLS:
                found[cell].append(await candidate(ep, *cell, seed))
        return found

    return asyncio.run(run())


def asked(histories):
    return [steps for runs in histories.values() for steps in runs if steps[0][0] != "declined"]


def test_disagreement_is_real_and_not_total(histories, record_property):
    first = [steps[0] for steps in asked(histories)]
    rate = sum(route != "accept" for route, *_ in first) / len(first)
    record_property("disagreement_rate", rate)
    assert 0.03 < rate < 0.6


def test_acceptance_over_all_cells_is_neither_rare_nor_certain(histories, record_property):
    """Declining counts against acceptance; of what is asked, nearly all is accepted in the end."""
    ends = Counter(steps[-1][0] for runs in histories.values() for steps in runs)
    share = ends["accept"] / sum(ends.values())
    record_property("ends", dict(ends))
    record_property("accepted_of_asked", ends["accept"] / len(asked(histories)))
    assert 0.4 <= share <= 0.85


def test_every_route_occurs_and_can_end_either_way(histories):
    routes = Counter(route for steps in asked(histories) for route, *_ in steps)
    assert {"accept", "revise_question", "reanswer", "discard"} <= set(routes)
    mended = [steps for steps in asked(histories) if len(steps) > 1 and steps[-1][0] == "accept"]
    assert {steps[0][0] for steps in mended} == {"revise_question", "reanswer"}


def test_a_revised_question_differs_from_all_before(histories):
    for steps in asked(histories):
        seen = []
        for previous, (_, proposal, *_) in zip([None, *steps], steps, strict=False):
            if proposal.declined or (previous and previous[0] == "reanswer"):
                continue
            key = (
                proposal.question.question,
                frozenset(option.text for option in proposal.question.options),
            )
            assert key not in seen
            seen.append(key)


def test_accepted_items_are_sound(histories):
    for (code, form), runs in histories.items():
        for route, proposal, *_ in (steps[-1] for steps in runs):
            if route != "accept":
                continue
            question, reference = proposal.question, proposal.reference
            ids = {option.id for option in question.options}
            assert question.subcategory in {sub.id for sub in KB.card(code).subcategories}
            assert len({option.text.casefold() for option in question.options}) == len(ids)
            if form is Format.SINGLE:
                assert reference.answer in ids
                assert len(ids) >= 3
            elif form is Format.MULTIPLE:
                assert 2 <= len(reference.answer) < len(ids)
            else:
                assert reference.key_points
            assert (question.decision_time is not None) == (code in ("T", "S", "A", "R"))


# Items made from the truth, in words the proposer does not use.


def others(chance, texts, *but, count=3):
    pool = [text for text in dict.fromkeys(texts) if text not in but]
    return chance.sample(pool, min(count, len(pool)))


def item(question, right, wrong, decision_time=None):
    options = tuple(Option(id=i, text=t) for i, t in zip("ABCDEFG", [*right, *wrong], strict=False))
    return question, options, {option.id for option in options[: len(right)]}, decision_time


def true_next(spoken, chance):
    texts = [truth.text for truth in spoken]
    for here, there in pairwise(spoken):
        if texts.count(here.text) == texts.count(there.text) == 1:
            wrong = others(chance, texts, here.text, there.text)
            yield item(f"Someone says “{here.text}” What do we hear next?", [there.text], wrong)


def true_previous(spoken, chance):
    texts = [truth.text for truth in spoken]
    for here, there in pairwise(spoken):
        if texts.count(here.text) == texts.count(there.text) == 1:
            wrong = others(chance, texts, here.text, there.text)
            yield item(f'Which line immediately precedes "{there.text}"?', [here.text], wrong)


def true_window(spoken, chance):
    texts = [truth.text for truth in spoken]
    for run in pairwise(spoken):
        inside = [truth.text for truth in run]
        if all(texts.count(text) == 1 for text in inside):
            start, end = run[0].start - 0.05, run[1].end + 0.05
            wrong = others(chance, texts, *inside)
            ask = f"Mark everything that can be heard from {start:.1f} to {end:.1f} seconds."
            yield item(ask, inside, wrong)


def true_moment(spoken, chance):
    gaps = [(a.end, b.start) for a, b in pairwise(spoken)]
    for index, truth in enumerate(spoken[:-2]):
        long = [(start, end) for start, end in gaps[index:] if end - start >= 0.9]
        short = [(start + end) / 2 for start, end in gaps[index:] if end - start <= 0.5]
        talk = [(other.start + other.end) / 2 for other in spoken[index + 1 :]]
        if len(long) > 1 and len({t.text for t in spoken}) == len(spoken):
            right = f"{sum(long[0]) / 2:.1f} seconds"
            times = [sum(long[1]) / 2, *short[:1], *talk]
            wrong = [f"{time:.1f} seconds" for time in times][:3]
            ask = f'Having heard "{truth.text}", when could one first start talking'
            yield item(f"{ask} (a silence of at least 0.8 seconds)?", [right], wrong, truth.end)


def true_act(kind, ask):
    def items(spoken, chance):
        texts = [t.text for t in spoken if t.kind in ("statement", "preference")]
        for truth in spoken:
            if truth.kind == kind:
                yield item(ask, [truth.text], others(chance, texts))

    return items


def true_acts(spoken, chance):
    found = list(dict.fromkeys(t.text for t in spoken if t.kind == "request"))
    texts = [t.text for t in spoken if t.kind == "statement"]
    if len(found) > 1:
        yield item(
            "Tick each line in which a speaker asks for something.", found, others(chance, texts)
        )


def true_fit(code, ask):
    def items(spoken, chance):
        norm = next(n for n in KB.norms_for(code) if n.trigger == "refusal")
        for truth in spoken:
            if truth.kind == "refusal":
                right, wrong = [chance.choice(norm.fitting)], chance.sample(norm.unfitting, 3)
                yield item(f'After hearing "{truth.text}", {ask}', right, wrong, truth.end)

    return items


def true_memory(spoken, chance):
    for truth in spoken:
        for word, past in (("shelf", HISTORY[3]), ("salt", HISTORY[4]), ("garden", HISTORY[2])):
            if word in truth.text:
                ask = f'Which wish mentioned earlier matters when someone says "{truth.text}"?'
                yield item(ask, [past], others(chance, HISTORY, past))


# Never used to set the answerer's weights.
UNSEEN = {
    "request": (
        "Would you read the letter to me?",
        "Turn the music down, please.",
        "Could somebody fetch my coat?",
        "I need you to sign here.",
        "Can we stop at the bakery on the way?",
        "Lend me your pen for a second.",
    ),
    "refusal": (
        "No, I will carry it by myself.",
        "I do not want to go there again.",
        "Don't open that box, please.",
        "Thanks, but I would rather stand.",
        "Stop, that is enough for today.",
        "I'm not going to answer that.",
    ),
    "statement": (
        "The bus was late this morning.",
        "His aunt lives above the bakery.",
        "They built the bridge before the war.",
        "Snow fell on the roof all night.",
        "The answer was on the last page.",
        "We counted eleven boats in the harbour.",
    ),
}


def unseen(kind, ask):
    def items(spoken, chance):
        wrong = chance.sample(UNSEEN["statement"], 2)
        rival = chance.choice(UNSEEN["refusal" if kind == "request" else "request"])
        yield item(ask, [chance.choice(UNSEEN[kind])], [*wrong, rival])

    return items


FAMILIES = {
    "G next": (true_next, Format.SINGLE),
    "G previous": (true_previous, Format.SINGLE),
    "G window": (true_window, Format.MULTIPLE),
    "T moment": (true_moment, Format.SINGLE),
    "N request": (true_act("request", "In which line does a speaker ask for help?"), Format.SINGLE),
    "N refusal": (true_act("refusal", "Where does somebody decline?"), Format.SINGLE),
    "N request unseen": (unseen("request", "Which of these is a request?"), Format.SINGLE),
    "N refusal unseen": (unseen("refusal", "Which of these is a refusal?"), Format.SINGLE),
    "N requests": (true_acts, Format.MULTIPLE),
    "S reply": (true_fit("S", "what would be an appropriate response?"), Format.SINGLE),
    "A action": (true_fit("A", "what should the other person do?"), Format.SINGLE),
    "M wish": (true_memory, Format.SINGLE),
}


async def score(form, scripts):
    """Return (right, all, chance level) over (episode, items) pairs."""
    right = total = 0
    level = 0.0
    for ep, items in scripts:
        for text, options, wanted, moment in items:
            question = Question(
                subcategory="any", question=text, options=options, decision_time=moment
            )
            answer = (await reply(ep, form, question, order=total)).answer
            total += 1
            right += answer is not None and {*answer} == wanted
            level += 1 / len(options) if form is Format.SINGLE else 1 / 2 ** len(options)
    return right, total, level / total


@pytest.mark.parametrize("family", FAMILIES)
async def test_answers_are_well_above_chance_on_the_truth(family, record_property):
    make, form = FAMILIES[family]
    scripts = []
    for seed in range(25):
        spoken, duration = script(seed)
        items = make(spoken, Random(f"items {seed}"))
        scripts.append((measured(seed, spoken, duration), items))
    right, total, level = await score(form, scripts)
    record_property("accuracy", right / total)
    assert total >= 10
    assert right / total > 0.35 + level


SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sample" / "ground_truth.json"


def sample_scripts():
    """The bundled sample's sentences with their true times; hesitations are not marked."""
    for clip in json.loads(SAMPLE.read_text("utf-8"))["clips"]:
        pieces = [
            Truth(piece["start"], piece["end"], line["kind"], piece["text"], ())
            for line in clip["utterances"]
            for piece in line["pieces"]
        ]
        transcript = tuple(Utterance(start=t.start, end=t.end, text=t.text) for t in pieces)
        yield pieces, Episode(duration=clip["duration"], transcript=transcript)


@pytest.mark.skipif(not SAMPLE.exists(), reason="the bundled sample is not made yet")
@pytest.mark.parametrize("family", ["G next", "G previous", "G window", "S reply", "A action"])
async def test_answers_are_above_chance_on_the_bundled_sample(family, record_property):
    make, form = FAMILIES[family]
    scripts = [(ep, make(spoken, Random(family))) for spoken, ep in sample_scripts()]
    right, total, level = await score(form, scripts)
    record_property("accuracy", right / total)
    assert right / total > 0.35 + level


INVITATIONS = ("Please take a seat at the kitchen table.", "Look at the white birds on the water.")


async def misread(text, norm, code):
    """Return answer and critique of an item that takes `text` for the trigger of `norm`."""
    ep = Episode(duration=6.0, transcript=(Utterance(start=1.0, end=4.0, text=text),))
    ask = f'Someone says "{text}" Which of these would be the most fitting reply?'
    _, options, _, _ = item(ask, norm.fitting[:1], norm.unfitting[:3])
    question = Question(subcategory="any", question=ask, options=options, decision_time=4.0)
    answer = await reply(ep, Format.SINGLE, question)
    said = Cue(start=1.0, end=4.0, modality="speech", description=f'Someone says "{text}"')
    critique = await call(
        AgentRole.CRITIC,
        Critique,
        {
            "episode": ep,
            "card": KB.card(code),
            "norms": KB.norms_for(code),
            "distinctions": KB.distinctions,
            "format": Format.SINGLE,
            "question": question,
            "reference": Reference(answer="A", cues=(said,)),
            "independent": answer,
            "agreement": answer.answer == "A",
        },
    )
    return answer, critique


@pytest.mark.parametrize("norm", KB.norms_for(Capability.RESPONSE), ids=lambda norm: norm.id)
async def test_a_misread_trigger_is_caught_by_the_critic_and_nearly_always_by_the_answerer(norm):
    texts = (*SAYINGS["statement"], *INVITATIONS)
    found = [await misread(text, norm, Capability.RESPONSE) for text in texts]
    assert not any(critique.cue_support for _, critique in found)
    assert sum(answer.answer == "A" for answer, _ in found) <= 1
