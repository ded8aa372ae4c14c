import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.extraction.failures import Failure
from evaluation.responses import Outcome, Parsed, Response, parse_response
from psychemme.answers import same_choice
from psychemme.items import Option
from psychemme.vocabulary import Capability, Format

TEXTS = {
    "A": "She is angry",
    "B": "She is sad",
    "C": "She wants to calm down, and leaves",
    "D": "None of the above",
}
OPTIONS = [Option(id=name, text=text) for name, text in TEXTS.items()]
RATIONALES = {
    "G": 'At 00:12 A man says "no", then {leaves}',
    "W": "D is less likely; it isn't B's fault",
    "N": None,
    "T": "",
    "S": "她说：“没事”，然后离开",
    "A": None,
    "M": None,
    "R": "Answer: C would be risky",
}


def single(raw, finish_reason="stop"):
    return parse_response(raw, finish_reason, Format.SINGLE, OPTIONS)


def multiple(raw):
    return parse_response(raw, "stop", Format.MULTIPLE, OPTIONS)


def outcome_of(parsed):
    return parsed.answer if parsed.outcome is Outcome.OK else parsed.reason


def nine(answer, **changes):
    return {"answer": answer, **RATIONALES, **changes}


def reply(answer="B", **changes):
    return json.dumps(nine(answer, **changes), ensure_ascii=False)


def test_nine_keys_are_read():
    parsed = single(reply())
    assert (parsed.outcome, parsed.reason, parsed.answer) == (Outcome.OK, None, "B")
    assert parsed.extractor == "json"
    assert parsed.rationales == {Capability(code): text for code, text in RATIONALES.items()}


@pytest.mark.parametrize(
    "raw",
    [
        f"```json\n{reply()}\n```",
        f"<think>A? {{'answer': 'A'}}</think>{reply()}",
        f"The answer was opened in the prompt: A.</think>\n{reply()}",
        f"◁think▷Answer: A◁/think▷{reply()}",
        f"Looking at A first, I reply: {reply()} I hope this helps!",
        f"[{reply()}]",
        f'{{"response": {reply()}}}',
        f"<answer>{reply()}</answer>",
        f"{reply()}\n{reply()}",
        f"I follow {{answer, G}} as asked, {{}}: {reply()}",
        f'Schema: {{"answer": "<option id>", "G": null}}\n{reply()}',
        f'{{"answer": null}} {reply()}',
        reply().replace('"answer"', '" Answer "'),
        reply()[:-1] + ",}",
        json.dumps(nine("B"), indent=4),
        str(nine("B")),
        reply().replace('\\"no\\"', '"no"'),
        reply().replace("00:12", "00:12\n\t"),
        reply().replace('"N": null', '"N": None'),
        reply().replace('"answer": ', "// the option\n answer: /* id */ "),
        reply().replace('"answer": "B"', '"answer": B'),
        reply().replace('"answer": "B"', "“answer”： “B”"),
        reply("b"),
        reply("Ｂ"),
        reply("(B)"),
        reply("（Ｂ）"),
        reply(" B. "),
        reply("**B**"),
        reply("B)"),
        reply("Option B"),
        reply("option (b)"),
        reply("B: She is sad"),
        reply("B. She seems down"),
        reply("(B) She is sad."),
        reply("B (She is sad)"),
        reply("she is  sad."),
        reply("The answer is B"),
        reply("选项B"),
        reply("答案是B"),
        reply("答案：B"),
        reply(["B"]),
        reply(["B", "b"]),
        reply("[B]"),
        reply('["B"]'),
        reply("$B$"),
        reply("\\boxed{B}"),
    ],
)
def test_single_b_in_every_dress(raw):
    parsed = single(raw)
    assert (outcome_of(parsed), parsed.extractor) == ("B", "json")


@pytest.mark.parametrize(
    "answer",
    [
        ["A", "C"],
        ["C", "A", "a"],
        ["Option A", "(C)"],
        [["A", "C"][0], TEXTS["C"]],
        "A, C",
        "A,C",
        "[A, C]",
        '["A", "C"]',
        "A and C",
        "(A) and (C)",
        "A、C",
        "A和C",
        "A & C",
        "A; C",
        "AC",
        f"A. {TEXTS['A']}, C. {TEXTS['C']}",
        f"(A) {TEXTS['A']} and (C) {TEXTS['C']}",
        "选项A和C",
        "The answers are A and C",
    ],
)
def test_sets_in_every_dress(answer):
    assert outcome_of(multiple(reply(answer))) == ["A", "C"]


def test_two_ids_on_single_are_a_wrong_answer_and_one_id_on_multiple_a_set():
    assert single(reply("A and B")).answer == ["A", "B"]
    assert not same_choice(Format.SINGLE, ["A", "B"], "B")
    assert multiple(reply("B")).answer == ["B"]
    assert single(reply("AB")).reason == Failure.UNKNOWN_OPTION


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "empty"),
        ("  \n", "empty"),
        ("<think>B</think>", "empty"),
        (f"<think>{reply()}", "unclosed_thinking"),
        (f"{reply()}<think>wait", "unclosed_thinking"),
        ("x" * 600_000, "too_long"),
        (reply()[:-5], "not_json"),
        ('{"answer": "B", "G": "A man', "not_json"),
        (reply(None), "no_answer"),
        (reply(""), "no_answer"),
        (reply([]), "no_answer"),
        (reply({"id": "B"}), "malformed"),
        (reply([["B"]]), "malformed"),
        (reply("E"), "unknown_option"),
        (reply(2), "unknown_option"),
        (reply(True), "unknown_option"),
        (reply(["A", "E"]), "unknown_option"),
        (reply("A man smiles"), "unknown_option"),
        (reply("None"), "unknown_option"),
        (reply("API error"), "unknown_option"),
        (reply("<option id>"), "unknown_option"),
        (reply("She is sad and angry"), "unknown_option"),
        (reply("A or B"), "ambiguous"),
        (reply("A/B"), "ambiguous"),
        (reply("A and B are both wrong; C"), "ambiguous"),
        (reply("A is wrong"), "unknown_option"),
        (reply("not B"), "unknown_option"),
        (reply("A|B|C|D"), "ambiguous"),
        (reply("A. She is sad"), "ambiguous"),
        (reply("A. She is angry B. She is sad C. Anything"), "ambiguous"),
        (reply("A") + reply("B"), "ambiguous"),
        (reply("A") + "\nWait, the answer is B.", "ambiguous"),
        (reply("A") + "\nActually wait, it should be C", "ambiguous"),
        (reply("A") + " Actually, it should be C.", "ambiguous"),
        (reply("A") + "\nI cannot determine the answer.", "ambiguous"),
        ("Answer: A\nActually wait, it should be C", "ambiguous"),
        (f"The user wants JSON like {reply()} but I do not know.", "ambiguous"),
        (reply("A") + '\nCorrected: {"answer": "B", "G": "no', "ambiguous"),
        ('{"answer": "A", "answer": "B"}', "ambiguous"),
        (reply("I'm sorry, but I can't assist with that."), "refusal"),
        ("I'm sorry, I can't help with that. " + reply(), "refusal"),
    ],
)
def test_failures_are_named(raw, reason):
    parsed = single(raw)
    assert outcome_of(parsed) == reason
    assert parsed.answer is None
    assert not any(parsed.rationales.values())


def test_the_option_none_of_the_above_is_its_own_letter():
    assert single(reply("None of the above")).answer == "D"


def test_ids_go_before_texts_and_doubled_texts_name_no_option():
    options = [Option(id="A", text="B"), Option(id="B", text="A"), Option(id="C", text="A")]
    parsed = parse_response(reply("B"), None, Format.SINGLE, options)
    assert parsed.answer == "B"
    twice = [Option(id=name, text="20 miles") for name in "AB"]
    assert parse_response(reply("20 miles"), None, Format.SINGLE, twice).reason == "ambiguous"
    assert parse_response(reply("B. 20 miles"), None, Format.SINGLE, twice).answer == "B"


def test_option_texts_that_repeat_their_id_are_read_without_it():
    options = [Option(id="A", text="A. slower"), Option(id="B", text="B. faster")]
    for answer in ("faster", "B. faster", "B"):
        assert parse_response(reply(answer), None, Format.SINGLE, options).answer == "B"


@pytest.mark.parametrize(
    ("finish_reason", "raw", "outcome"),
    [
        ("length", reply(), Outcome.OK),
        ("length", reply()[:-1], Outcome.TRUNCATED),
        ("max_tokens", "The answer is B", Outcome.TRUNCATED),
        ("length", "<think>B", Outcome.TRUNCATED),
        ("length", "", Outcome.TRUNCATED),
        ("content_filter", reply(), Outcome.CONTENT_FILTER),
        ("SAFETY", "", Outcome.CONTENT_FILTER),
        ("refusal", reply(), Outcome.REFUSAL),
        (None, reply(), Outcome.OK),
    ],
)
def test_how_the_reply_ended_counts(finish_reason, raw, outcome):
    assert single(raw, finish_reason).outcome is outcome


def test_open_answers_are_texts_and_have_no_fallback():
    def opened(raw):
        return outcome_of(parse_response(raw, "stop", Format.OPEN, []))

    assert opened(reply(" He consoles her. ")) == "He consoles her."
    assert opened(reply("draft") + reply("final")) == "final"
    assert opened(reply("She waits.") + "\nActually wait, he does.") == "ambiguous"
    assert opened(reply('She says "I can\'t help you".')) == 'She says "I can\'t help you".'
    assert opened("Answer: He consoles her.") == "not_json"
    assert opened(reply("I'm sorry, I can't assist with that.")) == "refusal"
    assert opened(reply(["a", "b"])) == "malformed"


@pytest.mark.parametrize(
    "refusal",
    [
        "I'm sorry, but I can't assist with that.",
        "I’m sorry, I cannot help with identifying people.",
        "I am unable to provide an answer to that question.",
        "As an AI language model, I cannot answer this question.",
        "Unfortunately, I'm not able to process this video.",
        "I must decline.",
        "I won't answer that.",
        "I will not answer.",
        "I'm unable to answer.",
        "As an AI I can't answer.",
        "Sorry, but as an AI model, I cannot answer.",
        "I'm not comfortable answering this.",
        "I do not feel comfortable answering this question.",
        "I'd rather not answer.",
        "I would prefer not to.",
        "I don't want to answer.",
        "I'm not going to answer that.",
        "I must respectfully decline.",
        "No, I won't do that.",
        "Unable to assist with this request.",
        "Cannot comply.",
        "This request violates my guidelines.",
        "Answering this would go against my guidelines.",
        "抱歉，我无法回答这个问题。",
        "很抱歉，无法提供帮助。",
        "作为一个AI助手，我无法回答这个问题。",
        "我不想回答。",
        "恕难从命。",
        "这个请求违反了我的准则。",
    ],
)
def test_refusals_are_refusals_whatever_letters_they_hold(refusal):
    before = (f"{refusal}\nAnswer: B", f"{refusal} {reply()}", f"{refusal}\n{reply()}")
    for raw in (refusal, *before, f"{refusal} Answer: B", f"B\n\n{refusal}", f"{refusal}\nB"):
        assert single(raw).outcome is Outcome.REFUSAL
    assert parse_response(reply(refusal), "stop", Format.OPEN, []).outcome is Outcome.REFUSAL


@pytest.mark.parametrize("refusal", ["Sorry, no.", "I'm sorry, but I can't."])
def test_a_bare_no_is_a_refusal_where_it_comes_first(refusal):
    for raw in (refusal, f"{refusal}\nAnswer: B", f"{refusal} {reply()}"):
        assert single(raw).outcome is Outcome.REFUSAL
    assert parse_response(reply(refusal), "stop", Format.OPEN, []).outcome is Outcome.REFUSAL


@pytest.mark.parametrize(
    "said",
    [
        "He will not answer her.",
        "I will not answer her until she apologises.",
        "I will not answer the phone.",
        "I can't answer the door right now.",
        "She'd rather not answer.",
        "She says she is not comfortable answering this.",
        "Sorry, no one is home.",
        "No one can answer.",
        "No, he refuses to help.",
        "Unable to answer, he looks away.",
        "I cannot help him.",
        "I can't help but notice her smile.",
        "I cannot tell from the frames.",
        "I cannot answer with certainty.",
        "The request violates the house rules.",
        "She will not help because it goes against her principles.",
        "他不会回答她。",
        "我不会回答她。",
        "他说：“我无法提供帮助”",
    ],
)
def test_who_declines_in_the_clip_and_who_doubts_refuses_nothing(said):
    assert single(f"{said}\n{reply()}").answer == "B"
    assert parse_response(reply(said), "stop", Format.OPEN, []).answer == said


def test_what_people_in_the_clip_decline_is_no_refusal():
    quoted = 'The man says "I can\'t help you" and she cries.'
    assert single(f"{quoted} {reply()}").answer == "B"
    assert single(f"{quoted} Answer: B").answer == "B"


def test_blame_is_the_models_or_not():
    blamed = {outcome for outcome in Outcome if outcome.is_models_fault}
    assert blamed == {"unparsed", "refusal", "truncated", "content_filter"}
    unscored = {outcome for outcome in Outcome if outcome.is_unscored}
    assert unscored == {"api_error", "media_error", "budget"}


def test_a_response_is_a_storable_value_with_its_reply():
    parsed = single(reply(G="half \ud83d a pair"))
    response = Response(item_id="i", model="m", condition="full", raw="\ud83d", **dict(parsed))
    assert Response.model_validate_json(response.model_dump_json()) == response
    assert response.raw == "?"
    with pytest.raises(ValueError, match="`ok` outcome has an `answer`"):
        Parsed(outcome=Outcome.OK)


TEXT = st.text(max_size=60)
NOISE = st.sampled_from(
    ["", "Here is my reply:\n", "```json\n", "<think>Answer: A</think>", "Note {x} and A. ", "\n\n"]
)


@settings(max_examples=500, deadline=None)
@given(
    chosen=st.sets(st.sampled_from("ABCD"), min_size=1),
    rationales=st.fixed_dictionaries({code: st.none() | TEXT for code in "GWNTSAMR"}),
    before=NOISE,
    after=st.sampled_from(["", "\n```", "\nThat is all.", "\n\n"]),
    write=st.sampled_from(
        [json.dumps, lambda value: json.dumps(value, ensure_ascii=False, indent=1), str]
    ),
)
def test_well_formed_replies_survive_noise(chosen, rationales, before, after, write):
    raw = f"{before}{write({'answer': sorted(chosen), **rationales})}{after}"
    parsed = multiple(raw)
    assert outcome_of(parsed) == sorted(chosen)
    if write is not str:
        said = {
            code: text and text.encode(errors="replace").decode()
            for code, text in rationales.items()
        }
        assert parsed.rationales == said


FRAGMENTS = st.sampled_from(
    [
        "A",
        "(B)",
        "C.",
        "d)",
        "Answer: B",
        "the answer is (C)",
        "\\boxed{",
        "\\boxed{A}",
        "}",
        "{",
        '{"answer": "A"}',
        '{"answer": "B", ',
        "{'answer': ['A', 'B']}",
        '"answer":',
        "<answer>",
        "</answer>",
        "</think>",
        "```",
        "答案是B",
        "选项",
        "【答案】",
        "None of the above",
        "or",
        "and",
        "\ud800",
        "\x00",
        "\u202e",
        "，",
        "｛",
        "\n",
        " ",
        ",",
        "'",
        '"',
        "“",
        "//",
        "/*",
        "#",
        "\\",
        "Question:",
        "The correct option is",
        "if",
        "not",
        "A man",
        "API error",
        "I",
        "**",
        "$",
    ]
)
REFUSALS = st.sampled_from(
    [
        "I'm sorry, but I can't assist with that.",
        "I cannot answer this question.",
        "抱歉，我不能回答。",
    ]
)
HOSTILE = st.lists(FRAGMENTS | st.text(max_size=20), max_size=40).map("".join)


@settings(max_examples=2_000, deadline=None)
@given(raw=HOSTILE, form=st.sampled_from(Format))
def test_no_reply_crashes_and_no_answer_lies_outside_the_options(raw, form):
    parsed = parse_response(raw, None, form, OPTIONS if form.is_choice else [])
    parsed.model_dump_json()
    if parsed.outcome is Outcome.OK and form.is_choice:
        assert set(parsed.answer) <= set(TEXTS)
    assert parsed.reason is None or parsed.reason in set(Failure)


@settings(max_examples=2_000, deadline=None)
@given(before=HOSTILE, refusal=REFUSALS, after=HOSTILE)
def test_no_refusal_becomes_an_answer(before, refusal, after):
    # A tag would turn the refusal into a thought, and an open object make it a rationale.
    shown = [
        part.replace("</think>", "").replace("{", "").replace("｛", "") for part in (before, after)
    ]
    assert single(f"{shown[0]}\n{refusal}\n{shown[1]}").outcome is not Outcome.OK


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"a":',
        "[",
        '{"answer": ',
        '{"answer": "A"} ',
        '{"answer": "',
        "{'a': '",
        '" , ',
        "\\",
        "<think>",
        "</think>",
        "<think></think>",
        "(",
        "*",
        " ",
        "\n",
        "\n ",
        "A\n",
        "A ",
        "A, ",
        "A and ",
        "Answer: ",
        "Answer: B ",
        "Answer: B\n",
        "the answer is ",
        "the answer that ",
        "the best correct ",
        "\\boxed{",
        "\\boxed{A",
        "<answer>",
        "答案是",
        "I can't ",
        "sorry ",
        "sorry, ",
        "I'm sorry.",
        "\nquestion: A",
        "\ud800",
        "/*",
        "//",
        "/**",
        "#",
        "“",
        "{x:",
        "{/*",
        "\\text{",
        "_*`",
        ". ",
        ",",
        "we cannot provide ",
        "option (B) is the ",
        "B. She is sad\n",
        "! ",
        "if not ",
        '{"a": "\\"',
    ],
)
def test_time_is_linear(unit):
    def seconds(length):
        raw = (unit * length)[:length]
        start = time.process_time()
        single(raw)
        multiple("Answer: " + raw + reply())
        return time.process_time() - start

    small, large = seconds(50_000), seconds(200_000)
    assert large < 12 * small + 0.5
    assert large < 6


def test_every_reason_is_documented():
    page = Path(__file__).resolve().parents[2] / "docs" / "response-parsing.md"
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page.read_text("utf-8"), re.MULTILINE)
    assert [reason for reason, _ in rows] == list(Failure)
    named = {"refusal", "truncated", "content_filter"}
    assert all(out == (why if why in named else "unparsed") for why, out in rows)
