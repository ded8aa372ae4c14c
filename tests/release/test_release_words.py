"""Words are counted by one simple rule in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
