"""The answerer of the signal baseline, on items written by hand."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.clients.protocol import Request
from psychemme.clients.signal import SignalClient
from psychemme.episode import Episode, HistoryEntry, Interval, Signals, Utterance, VoiceTurn, Word
from psychemme.items import IndependentAnswer, Option
from psychemme.vocabulary import AgentRole, AnswerFlag, Format, LookAgain

PACKAGE = Path(__file__).resolve().parents[2] / "psychemme" / "clients" / "signal"
LINES = (
    (1.0, 3.0, "Good evening, everyone."),
    (3.3, 5.3, "The soup is on the stove."),
    (6.8, 8.8, "Could you hand me the big spoon?"),
    (9.1, 11.1, "No, please leave the spoon alone."),
    (11.4, 13.4, "The soup is nearly ready."),
    (15.0, 17.0, "Good evening, everyone."),
    (17.3, 19.3, "Sit wherever you like."),
)
NORMS = (
    SimpleNamespace(
        trigger="refusal",
        applies_to=("S",),
        restrained_markers=("all right", "up to you"),
        intrusive_markers=("come on", "let me"),
    ),
    SimpleNamespace(
        trigger="request",
        applies_to=("S",),
        restrained_markers=("here you are",),
        intrusive_markers=("do it yourself",),
    ),
)
HISTORY = (
    HistoryEntry(before=90.0, text="I like my soup with very little salt."),
    HistoryEntry(before=60.0, text="We drove here in the rain. The dog slept all day."),
)


def utterance(start: float, end: float, text: str) -> Utterance:
    pieces = text.split()
    step = (end - start) / len(pieces)
    words = tuple(
        Word(start=start + i * step, end=start + (i + 1) * step, text=piece)
        for i, piece in enumerate(pieces)
    )
    return Utterance(start=start, end=end, text=text, words=words)


EPISODE = Episode(
    duration=20.0,
    transcript=tuple(utterance(*line) for line in LINES),
    signals=Signals(
        pauses=(Interval(start=5.3, end=6.8), Interval(start=13.4, end=15.0)),
        turns=(
            VoiceTurn(start=1.0, end=5.3, voice=1),
            VoiceTurn(start=6.8, end=8.8, voice=2),
            VoiceTurn(start=9.1, end=13.4, voice=1),
        ),
    ),
    history=HISTORY,
)


async def ask(question, options=(), form=Format.SINGLE, *, moment=None, ways=(), episode=EPISODE):
    request = Request(
        role=AgentRole.ANSWER,
        prompt_id="test",
        prompt_hash="",
        system="",
        user="",
        inputs={
            "episode": episode,
            "norms": NORMS,
            "distinctions": (),
            "format": form,
            "question": question,
            "options": tuple(
                Option(id=letter, text=text)
                for letter, text in zip("ABCDEF", options, strict=False)
            ),
            "decision_time": moment,
            "feedback": tuple(ways),
        },
        reply_schema=IndependentAnswer,
    )
    return IndependentAnswer.model_validate_json((await SignalClient().complete(request)).text)


SPOON, REFUSED, STOVE = LINES[2][2], LINES[3][2], LINES[1][2]
HAND_WRITTEN = [
    ("What is heard next after “The soup is on the stove.”?", (REFUSED, SPOON, LINES[4][2]), "B"),
    (f'Which utterance comes right before "{SPOON}"?', (LINES[6][2], REFUSED, STOVE), "C"),
    ("Among these, what is uttered last?", (SPOON, LINES[6][2], STOVE), "B"),
    ("Which sentence follows the longest silence?", (SPOON, "Good evening, everyone.", STOVE), "B"),
    ("What does a speaker ask for here?", (STOVE, LINES[6][2], SPOON), "C"),
    ("In which utterance does someone decline?", (STOVE, REFUSED, SPOON, LINES[6][2]), "B"),
    (f"When could one begin to talk after '{STOVE}' is over?", ("0:08", "0:06", "0:14"), "B"),
    ("After 9 seconds, when is there room to start talking?", ("10 s", "14.2 s", "18 s"), "B"),
    ("How often does the speaker change in this clip?", ("once", "three times", "2 times"), "C"),
    (
        "Which earlier remark matters when the guests hear about the soup?  It was stated earlier.",
        ("We drove here in the rain.", "The dog slept all day.", HISTORY[0].text),
        "C",
    ),
]


@pytest.mark.parametrize(("question", "options", "wanted"), HAND_WRITTEN)
async def test_items_written_by_hand(question, options, wanted):
    assert (await ask(question, options)).answer == wanted


async def test_a_reply_is_judged_by_what_happened_before_the_moment():
    options = ("Come on, let me do it.", "All right, it is up to you.", "Here you are.")
    question = "How should the other person respond?"
    assert (await ask(question, options, moment=11.1)).answer == "B"
    assert (await ask(question, options, moment=8.8)).answer == "C"
    assert (await ask("Which reply would be intrusive?", options, moment=11.1)).answer == "A"


async def test_all_that_is_said_in_a_window_or_on_one_side():
    options = (SPOON, STOVE, LINES[6][2], REFUSED)
    question = "Which of these does one hear between 0:06 and 0:12?"
    inside = await ask("Which lines are heard between 6 and 12 s?", options, Format.MULTIPLE)
    before = await ask(f'What precedes "{REFUSED}"?', options, Format.MULTIPLE)
    assert inside.answer == ["A", "D"]
    assert before.answer == ["A", "B"]
    assert (await ask(question, options, Format.MULTIPLE)).answer == ["A", "D"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (f'What is said immediately after "{SPOON}"?', REFUSED),
        (f'Which words come just before "{SPOON}"?', STOVE),
        ("What is requested in this scene?", SPOON),
        ("What does someone turn down?", "please leave the spoon alone."),
        ("What is said last?", LINES[6][2]),
        ("What is said first?", LINES[0][2]),
        ("What preference from the history matters for the soup?", HISTORY[0].text),
    ],
)
async def test_open_questions(question, text):
    answer = (await ask(question, form=Format.OPEN)).answer
    assert answer is not None
    assert answer.rstrip(".") == text.rstrip(".")


async def test_a_quote_heard_twice_is_ambiguous_until_a_time_tells_which():
    options = (STOVE, LINES[6][2], SPOON)
    question = 'What follows "Good evening, everyone"'
    assert (await ask(f"{question}?", options)).flag is AnswerFlag.AMBIGUOUS
    assert (await ask(f"{question} at 15.0 s?", options)).answer == "B"
    assert (await ask(f"{question} at 0:01?", options)).answer == "A"


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ('What follows "The moon is made of cheese entirely"?', (STOVE, SPOON)),
        ("Which of these is said first?", ("Quarks have colours.", "Bees sing in June.")),
        ("Which of these is a refusal?", (STOVE, "Snow fell.", "The door is green.")),
    ],
)
async def test_what_is_not_there_is_not_supported(question, options):
    assert (await ask(question, options)).flag is AnswerFlag.INSUFFICIENT_SUPPORT


async def test_no_history_and_no_speech_are_flagged():
    silent = Episode(duration=5.0)
    for question in ("What is said first?", "Which preference was stated earlier?"):
        for form, options in ((Format.OPEN, ()), (Format.SINGLE, (STOVE, SPOON))):
            answer = await ask(question, options, form, episode=silent)
            assert answer.flag is AnswerFlag.INSUFFICIENT_SUPPORT


async def test_alike_options_are_ambiguous():
    assert (await ask("What is said first?", (STOVE, STOVE.upper()))).flag is AnswerFlag.AMBIGUOUS


async def test_told_to_check_the_speech_it_uses_the_pauses_of_the_audio():
    stretched = Utterance(
        start=1.0, end=4.0, text="Well", words=(Word(start=1, end=4, text="Well"),)
    )
    later = utterance(4.0, 6.0, "That is enough of it.")
    episode = Episode(
        duration=6.2,
        transcript=(stretched, later),
        signals=Signals(pauses=(Interval(start=1.5, end=4.0),)),
    )
    question = "After 1 second, at which moment can one speak?"
    options = ("2.5 s", "5 s")
    assert (await ask(question, options, episode=episode)).flag is not None
    checked = await ask(question, options, ways=[LookAgain.CHECK_SPEECH], episode=episode)
    assert checked.answer == "A"


async def test_told_to_check_the_order_it_sorts_by_word_times():
    listed = (utterance(5, 6, "Second comes this."), utterance(1, 2, "First came that."))
    episode = Episode(duration=8, transcript=listed)
    options = ("Second comes this.", "First came that.")
    assert (await ask("What is said first?", options, episode=episode)).answer == "A"
    ways = [LookAgain.CHECK_ORDER]
    assert (await ask("What is said first?", options, ways=ways, episode=episode)).answer == "B"


@pytest.mark.parametrize("way", LookAgain)
async def test_every_way_of_looking_gives_a_valid_reply(way):
    for question, options, _ in HAND_WRITTEN:
        reply = await ask(question, options, ways=[way])
        assert (reply.answer is None) != (reply.flag is None)


@given(data=st.data())
async def test_the_order_of_options_plays_no_part(data):
    question, options, _ = data.draw(st.sampled_from(HAND_WRITTEN))
    ways = data.draw(st.lists(st.sampled_from(list(LookAgain)), max_size=2))
    form = data.draw(st.sampled_from([Format.SINGLE, Format.MULTIPLE]))
    shuffled = data.draw(st.permutations(options))
    one, two = (
        await ask(question, options, form, ways=ways),
        await ask(question, shuffled, form, ways=ways),
    )
    assert chosen(one, options) == chosen(two, shuffled)
    assert one.flag == two.flag


def chosen(reply, options):
    return {options["ABCDEF".index(letter)] for letter in reply.answer or ()}


@given(question=st.text(max_size=80), options=st.lists(st.text(min_size=1), max_size=5))
async def test_hostile_text_gives_a_reply(question, options):
    for form in Format:
        shown = () if form is Format.OPEN else options
        reply = await ask(question, shown, form)
        assert (reply.answer is None) != (reply.flag is None)


@pytest.mark.parametrize("role", ["question", "answer", "critic"])
def test_a_role_imports_the_tables_and_no_other_role(role):
    prefix = "psychemme.clients.signal."
    for file in (PACKAGE / role).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(prefix):
                assert node.module.removeprefix(prefix).split(".")[0] in ("facts", role), file


@pytest.mark.parametrize(
    "text",
    ["Please take a seat at the table.", "Look, the birds are back.", "The soup is on the stove."],
)
async def test_words_that_call_for_nothing_support_no_option(text):
    episode = Episode(duration=6.0, transcript=(utterance(1.0, 3.0, text),))
    options = ("Come on, let me do it.", "All right, it is up to you.", "Here you are.")
    asked = f'Someone says "{text}" Which of these would be the most fitting reply?'
    reply = await ask(asked, options, moment=3.0, episode=episode)
    assert reply.flag is AnswerFlag.INSUFFICIENT_SUPPORT
