"""Words are counted by one simple rule in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychemme.release.texts import is_blank, same_option, same_text, visible
from psychemme.release.words import frequent_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's the well-known 3rd step?", ["what's", "the", "well-known", "3rd", "step"]),
        ("She doesn’t – really…", ["she", "doesn't", "really"]),
        ("snake_case", ["snake", "case"]),
        ("她在哪里 OK吗?", ["她", "在", "哪", "里", "ok", "吗"]),
        ("누가 먼저 말했나요?", ["누가", "먼저", "말했나요"]),
        ("Où est-elle ?", ["où", "est-elle"]),
        ("?! 🙂 —", []),
        # Vowel signs and tones are marks: they do not end a word.
        ("क्षेत्र में क्या हुआ?", ["क्षेत्र", "में", "क्या", "हुआ"]),
        ("שָׁלוֹם צה״ל", ["שָׁלוֹם", "צה״ל"]),
        ("ไปที่ไหน ครับ", ["ไปที่ไหน", "ครับ"]),
        ("e\u0301te\u0301 cafe\u0301s", ["e\u0301te\u0301", "cafe\u0301s"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("rock ’n’ roll, well\u2010known a--b", ["rock", "n", "roll", "well-known", "a", "b"]),
        ("か\u3099 カ・キ", ["か\u3099", "カ", "キ"]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(), st.text())
def test_words_add_up(one: str, other: str) -> None:
    assert words(f"{one} {other}") == words(one) + words(other)


def test_frequent_words_count_the_texts_that_hold_them() -> None:
    texts = ["The ladder, the ladder!", "a ladder and 12 cups", "他为什么不接受帮助?", "谁帮助他"]
    assert frequent_words(texts, 3) == [("ladder", 2), ("帮助", 2), ("cups", 1)]
    assert frequent_words(["What is it?", "12"], 5) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10", "１０"),
        ("Yes", "yes!"),
        ("10", "(10)."),
        ("- 5 apples", "5 apples"),
        ("a b", "a\u00a0 b"),
        ("one", "o\u034fne"),
        ("one", "one\ufe0f"),
        ("one", "one\u3164"),
        ("one", "one\U000e0101"),
        ("\u00e1", "a\u034f\u0301"),
        ("می‌خواهم", "میخواهم"),
    ],
)
def test_texts_that_look_alike_are_the_same(one: str, other: str) -> None:
    assert same_text(one) == same_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "ab"),
        ("$1", "1"),
        ("1.5", "15"),
        ("é", "e"),
        ("-5", "5"),
        ("\u20135", "5"),
        (".5", "5"),
        ("-$5", "$5"),
        ("10%", "10"),
        ("10 %.", "10."),
        ("#1", "1"),
        ("C#", "C"),
        ("C#", "C++"),
    ],
)
def test_texts_that_look_different_are_not(one: str, other: str) -> None:
    assert same_text(one) != same_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("don't", "don’t"), ("3–5", "3-5"), ("−5", "-5"), ("5 %", "5%"), ("So—", "so")],
)
def test_kinds_of_a_sign_are_one(one: str, other: str) -> None:
    assert same_text(one) == same_text(other)


def test_a_mark_at_the_end_makes_another_option_of_the_same_text() -> None:
    for one, other, is_same in (
        ("Really?", "Really.", False),
        ("Oh!", "oh", False),
        ("Really?!", "“really！？”", True),
        ("Oh.", "oh", True),
        ("A-", "a", False),
    ):
        assert (same_option(one) == same_option(other)) is is_same


def test_what_shows_nothing_is_blank() -> None:
    hidden = (
        "\u034f\u115f\u1160\u17b4\u180b\u200b\u2060\u2800\u3164\ufe0f\uffa0\U000e01ef\x07 \u00a0"
    )
    for sign in (*hidden, hidden, ""):
        assert is_blank(sign)
        assert visible(sign) == ""
    for text in ("x", "❤\ufe0f", "می‌خواهم", "?", "٣"):
        assert visible(f" {text}\n") == text
