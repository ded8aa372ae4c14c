import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.clients.replies import LONGEST, InvalidReply, parse_reply
from psychemme.items import Critique, IndependentAnswer, Proposal

ANSWER = IndependentAnswer(answer="B", rationale="a {brace} and a \"quote\" in 'it'")
GIVEN = ANSWER.model_dump_json()


@pytest.mark.parametrize(
    "text",
    [
        GIVEN,
        f"```json\n{GIVEN}\n```",
        f'<think>is it {{\'A\'}} or {{"answer": "A"}}?</think>{GIVEN}',
        f"<THINKING>hm</THINKING>\n{GIVEN}",
        f'opened in the prompt: {{"answer": "A"}}</think>\n{GIVEN}',
        f"{GIVEN}<think>was that right?</think>",
        f'Using {{braces}} as in {{"answer": ...}} I reply {GIVEN} Hope this helps {{}} }}',
        f'First {{"answer": "A", "rationale": ""}}, on reflection {GIVEN}',
        f'{GIVEN} {{"note": "not of the schema"}}',
        f"[{GIVEN}]",
        f"\ufeff {{{{{GIVEN}",
        json.dumps(json.loads(GIVEN), indent=4),
    ],
)
def test_the_last_fitting_object_is_read(text):
    assert parse_reply(text, IndependentAnswer) == ANSWER


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no JSON object"),
        ("B", "no JSON object"),
        ('"B"', "no JSON object"),
        (f"<think>{GIVEN}", "inside its thinking"),
        (f"{GIVEN}<think>wait", "inside its thinking"),
        (GIVEN[:-3], "no JSON object"),
        ('{"answer": "B", "flag": "ambiguous"}', "either `answer` or `flag`"),
        ('{"answer": 2}', "answer"),
        ('{"answer": "B", "mood": "good"}', "mood: Extra inputs"),
        ('{"answer": "B", "rationale": NaN}', "no JSON object"),
        (" " * (LONGEST + 1), "longer than"),
    ],
)
def test_what_does_not_fit_is_named(text, complaint):
    with pytest.raises(InvalidReply, match=complaint):
        parse_reply(text, IndependentAnswer)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_a_number_that_is_none_is_refused(number):
    cue = f'{{"start": {number}, "end": 2, "modality": "visual", "description": "x"}}'
    question = '{"subcategory": "s", "question": "q"}'
    text = f'{{"question": {question}, "reference": {{"answer": "A", "cues": [{cue}]}}}}'
    with pytest.raises(InvalidReply):
        parse_reply(text, Proposal)


def test_a_complaint_can_be_sent_whatever_the_keys():
    with pytest.raises(InvalidReply) as caught:
        parse_reply('{"\\ud800' + "x" * 50_000 + '": 1}', IndependentAnswer)
    assert len(str(caught.value).encode()) < 4_000


def test_a_lone_surrogate_is_no_text():
    with pytest.raises(InvalidReply):
        parse_reply('{"answer": "B", "rationale": "\\ud800"}', IndependentAnswer)


def test_credits_are_zero_half_or_one():
    verdicts = '"cue_support": true, "logical_coherence": true, "capability_alignment": true'
    text = f'{{{verdicts}, "answer_given_reference": %s}}'
    assert parse_reply(text % "0.5", Critique).answer_given_reference == 0.5
    with pytest.raises(InvalidReply, match="credit"):
        parse_reply(text % "0.7", Critique)


fragments = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        ":",
        ",",
        "<think>",
        "</think>",
        "```json",
        '{"answer":',
        '"A"',
        "1e9",
    ]
)


@given(st.one_of(st.text(), st.lists(st.one_of(fragments, st.text(max_size=4))).map("".join)))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InvalidReply):
        assert isinstance(parse_reply(text, IndependentAnswer), IndependentAnswer)


@given(
    before=st.text().filter(lambda text: "<" not in text and "{" not in text),
    answer=st.text(alphabet=st.characters(exclude_characters="<", codec="utf-8")),
    after=st.text().filter(lambda text: "<" not in text and "{" not in text),
)
def test_prose_around_an_object_changes_nothing(before, answer, after):
    given_ = IndependentAnswer(answer=answer)
    assert parse_reply(before + given_.model_dump_json() + after, IndependentAnswer) == given_


@pytest.mark.parametrize(
    "unit",
    [
        "{", "}", '{"', '{"a":', '{"a":{', '{"a":[', '{"a":"', "{}", '{"a":1}', "[", "<think>",
        "</think>", "<think></think>", "{\n", "{ ", '{"a":[{', "\\", '"', "{'a':",
    ],
)  # fmt: skip
def test_hostile_repetition_takes_no_time(unit):
    _within_a_second(unit * (LONGEST // len(unit)))


@pytest.mark.parametrize("start", ['{"a":[', '{"a":"', '{"a":', "{ "])
@pytest.mark.parametrize("filler", ["1,", "[", "x", " ", '"",', '{"b":2},', "1e5,"])
def test_many_starts_over_a_long_rest_take_no_time(start, filler):
    rest = LONGEST - 600 * len(start)
    _within_a_second(start * 600 + filler * (rest // len(filler)))


def _within_a_second(text):
    began = time.process_time()
    with pytest.raises(InvalidReply):
        parse_reply(text, IndependentAnswer)
    assert time.process_time() - began < 1
