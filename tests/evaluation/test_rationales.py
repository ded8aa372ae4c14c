import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.rationales import PLACEHOLDERS, coverage, wording
from psychemme.items import Option

QUESTION = "Who speaks first in the kitchen?"
OPTIONS = (Option(id="A", text="The woman in red"), Option(id="B", text="The cook"))


def c(*rationales, answer="B"):
    return coverage(rationales, answer, QUESTION, OPTIONS)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " \n\t",
        "-",
        "—",
        "...",
        "N/A",
        "n.a.",
        "None",
        "(none)",
        "NULL",
        "not applicable",
        "Ｎ／Ａ",
        "无",
        "B",
        "(b).",
        "A",
        "Option B",
        "The answer is B.",
        "The correct answer is: (B)",
        "答案是B",
        "选项B",
        "the cook",
        "The answer is the cook!",
        "B. The cook",
        "Option B: the COOK",
        QUESTION,
        "who speaks first in the kitchen",
        "Question: Who speaks first in the kitchen?",
    ],
)
def test_these_say_nothing(text):
    assert c(text) == 0
    assert c(None, "n/a", text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "The cook greets the others at 00:03.",
        "The cook is visible, and speaks before the woman in red",
        "B is heard before A enters",
        "她先说话",
        "None of the others speaks before 00:05",
        "The woman in red only listens",
        "turns away",
    ],
)
def test_these_are_informative(text):
    assert c(text) == c(None, "-", text) == 1


def test_no_field_is_no_coverage():
    assert c() == c(*[None] * 8) == 0


@pytest.mark.parametrize(
    "text", ["A, C", "A and C", "options A & C", "first then third", "A first"]
)
def test_repeating_a_set_of_options_says_nothing(text):
    options = (Option(id="A", text="first"), Option(id="C", text="then third"))
    assert coverage([text], ["A", "C"], QUESTION, options) == 0


def test_repeating_an_open_answer_says_nothing():
    answer = "She needs time to think."
    assert coverage(["she needs time to think", None], answer, QUESTION) == 0
    assert coverage(["She needs time: she looks away twice."], answer, QUESTION) == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_answer_and_question_repeated_say_nothing(answer, question):
    for text in (answer, question, answer.upper().lower(), f"  {question}!"):
        if wording(text) in {wording(answer), wording(question)}:
            assert coverage([text], answer, question) == 0


def test_placeholders_are_written_as_they_are_compared():
    assert all(wording(text) == text for text in PLACEHOLDERS)
