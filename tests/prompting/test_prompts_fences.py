"""No value, whatever it holds, leaves its block or becomes part of the template."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prompts.fences import BLOCK_LIMIT, LINE_LIMIT, clean, cut, fence, line
from prompts.load import render
from psychemme.episode import Episode, HistoryEntry, Utterance
from psychemme.items import (
    Cue,
    IndependentAnswer,
    KeyPoint,
    Option,
    Proposal,
    Question,
    Reference,
)
from psychemme.vocabulary import Format, Modality
from psychology_kb.load import load_profile

KB = load_profile("psychemme8")
BLOCK = re.compile(r"<([a-z_]+)>\n.*?\n</\1>", re.DOTALL)

LOOKALIKES = (
    "</transcript>",
    "<history>",
    "＜/options＞",
    "﹤/cues﹥",
    "{episode}",
    "{{",
    "}",
    "{0}",
)
UNSEEN = ("\u202e", "\u200b", "\u2066", "\ufeff", "\U000e0041", "\x00", "\x1b[2J", "\r\n", "\u2028")
MARKUP = ("```", '"', "'", "\\", "---\n", "# User\n", "%s", "$x", "B. ")
SNIPPETS = st.sampled_from(LOOKALIKES + UNSEEN + MARKUP)
ANY_TEXT = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20) | SNIPPETS)
SOME_TEXT = ANY_TEXT.filter(bool).map("".join)


def prompts_with(text: str) -> list[str]:
    """Render the three prompts with `text` in every place an untrusted text can stand."""
    episode = Episode(
        duration=9.0,
        public_context=text,
        transcript=(Utterance(start=0.0, end=1.0, text=text, flags=(text,)),),
        history=(HistoryEntry(text=text),),
    )
    question = Question(subcategory=text, question=text, options=(Option(id="A", text=text),))
    reference = Reference(
        answer=text,
        cues=(Cue(start=0.0, end=1.0, modality=Modality.SPEECH, description=text),),
        key_points=(KeyPoint(text=text),),
        rationale=text,
    )
    shared = {"episode": episode, "norms": KB.norms[:1], "distinctions": (), "format": Format.OPEN}
    card = {"card": KB.capabilities[0]}
    earlier = (Proposal(question=question, reference=reference), Proposal(declined=text))
    independent = IndependentAnswer(answer=[text], rationale=text)
    inputs = {
        "question": card | {"ordinal": 0, "earlier": earlier, "feedback": ()},
        "answer": {
            "question": text,
            "options": question.options,
            "decision_time": 1.0,
            "feedback": (),
        },
        "critic": card
        | {
            "question": question,
            "reference": reference,
            "independent": independent,
            "agreement": None,
        },
    }
    rendered = [render(prompt_id, shared | own) for prompt_id, own in inputs.items()]
    return [part for prompt in rendered for part in (prompt.system, prompt.user)]


def outside(part: str) -> str:
    """Return a prompt with its blocks emptied."""
    return BLOCK.sub(r"<\1/>", part)


PLAIN = prompts_with("x")


@settings(max_examples=60, deadline=None)
@given(SOME_TEXT)
def test_text_changes_nothing_outside_its_block(text):
    for plain, hostile in zip(PLAIN, prompts_with(text), strict=True):
        assert outside(hostile) == outside(plain)
        assert (hostile.count("<"), hostile.count(">")) == (plain.count("<"), plain.count(">"))


@settings(max_examples=60, deadline=None)
@given(SOME_TEXT)
def test_no_text_passes_for_two_entries(text):
    lists = re.compile(
        r"<(transcript|history|options|cues|key_points|question)>\n(.*?)\n</\1>", re.S
    )
    for _, entries in lists.findall("\n".join(prompts_with(text)[1::2])):
        assert len(entries.splitlines()) == 1


@given(st.text("{}[]\"'`\\$%#-éßЖ中あหअ👩 \n"))
def test_ordinary_text_with_braces_and_quotes_stays_as_it_is(text):
    assert clean(text) == text
    assert fence("history", text) == f"<history>\n{text or 'none'}\n</history>"


@given(st.text() | SOME_TEXT)
def test_cleaned_text_is_visible_encodable_and_final(text):
    cleaned = clean(text)
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not [c for c in cleaned if c != "\n" and unicodedata.category(c) in hidden]
    assert clean(cleaned.encode().decode()) == cleaned


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a[U+202E]b"),
        ("\U000e0041", "[U+E0041]"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("می\u200cخواهم", "میخواهم"),
        ("❤\ufe0f", "❤"),
        ("</question>", "‹/question›"),
        ("＜b＞", "‹b›"),
        ("\ud800", "[U+D800]"),
        ("two\r\n lines\t", "two lines"),
    ],
)
def test_what_a_line_makes_of_odd_text(text, shown):
    assert line(text) == shown


def test_a_hundred_kilobytes_survive():
    huge = "</transcript>{x}\u202e" * 6_000
    for plain, part in zip(PLAIN, prompts_with(huge), strict=True):
        assert outside(part) == outside(plain)
        assert len(part) < len(plain) + BLOCK_LIMIT + 20 * LINE_LIMIT


def test_cutting_says_what_is_missing():
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abcd [cut: the first 4 of 6 characters are shown]"


def test_an_empty_block_says_so():
    assert fence("history", "") == "<history>\nnone\n</history>"
