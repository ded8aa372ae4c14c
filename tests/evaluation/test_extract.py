import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from evaluation.extraction.failures import Failure
from evaluation.responses import Outcome, parse_response
from psychemme.items import Option
from psychemme.vocabulary import Format

HERE = Path(__file__).resolve().parent
REPLIES = HERE.parents[1] / "../shared/data/responses/choice_replies.jsonl"
EXPECTED = json.loads((HERE / "choice_replies_expected.json").read_text("utf-8"))
TEXTS = ["She is angry", "She is sad", "She wants to calm down", "None of the above"]
OPTIONS = [Option(id=name, text=text) for name, text in zip("ABCD", TEXTS, strict=True)]
MANY = [Option(id=name, text=f"Reason number {name}") for name in "ABCDEFGHIJ"]


def extracted(raw, form=Format.SINGLE, options=OPTIONS):
    parsed = parse_response(raw, "stop", form, options)
    assert parsed.extractor == ("fallback" if parsed.outcome is Outcome.OK else None)
    return parsed.answer if parsed.outcome is Outcome.OK else parsed.reason


@pytest.mark.parametrize(
    "raw",
    [
        "B",
        " B. ",
        "(b)",
        "**B**",
        "Ｂ",
        '"B"',
        '["B"]',
        "B) She is sad",
        "She is sad.",
        "B\n\nA man enters, and she cries.",
        "A man enters, and she cries.\n\nB",
        "Answer: B",
        "ANSWER: $B$",
        "**Answer:** B",
        "Answer: **B. She is sad**",
        "answer: b",
        "Final answer: (B).",
        "Answer:\n\nB",
        "The answer is B.",
        "The answer is (B), since A man shouts.",
        "The answer is B because she cries.",
        "So the correct answer is option B: She is sad.",
        "The answer is most likely B.",
        "The best option that fits her face is (B).",
        "I would choose B.",
        "Her tears (Option B) is the reason. (B) is the best answer.",
        "Therefore $\\boxed{B}$.",
        "\\boxed{\\text{(B) She is sad}}",
        "<answer> B </answer>",
        "<think>A or C?</think><answer>B</answer>",
        "The answer is A. Wait, she cries. The answer is B.",
        "Answer: A\nOn reflection:\nAnswer: B",
        "答案是B",
        "【答案】B",
        "正确答案：（B）",
        "她哭了，故选B。",
        "选项为 (B) She is sad。",
        "The answer is B.\n\nQuestion: And him?\nA. angry\nB. calm\nAnswer: C",
        "A is not it, so the answer is B.",
        "The answer is she is sad.",
        "She cries, which means the answer is B.",
        "The answer is B. She can wait, or A man can.",
        "Answer: B\nExplanation: the answer is supported by her tears.",
        "Answer: B</s>",
        "I cannot see her face, but the answer is B.",
    ],
)
def test_statements_are_read(raw):
    assert extracted(raw) == "B"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("API error: timed out", "no_answer"),
        ("ERROR: Failed to obtain answer via API.", "no_answer"),
        ("A man smiles.", "no_answer"),
        ("A man smiles at option C.", "no_answer"),
        ("At 00:12 A man shouts; B looks away. I think she minds.", "no_answer"),
        ("It could be A, B or C.", "no_answer"),
        ("A\nB\nC\nD", "no_answer"),
        ("A. She is angry\nB. She is sad", "no_answer"),
        ("The answer is not B.", "no_answer"),
        ("The answer is A man who smiles.", "no_answer"),
        ("I don't think the answer is B.", "no_answer"),
        ("If she cries, the answer is B.", "no_answer"),
        ("The wrong answer is B.", "no_answer"),
        ("The option that is not correct is B.", "no_answer"),
        ("Option B is the wrong answer.", "no_answer"),
        ("Is the answer B?", "no_answer"),
        ("The answer is B?", "no_answer"),
        ("A is the correct answer? No.", "no_answer"),
        ("Some may say that the answer is A.", "no_answer"),
        ("You might think the answer is A, but it is B.", "no_answer"),
        ("The answer the user expects is A, but I disagree.", "no_answer"),
        ("The correct answer is neither A nor B.", "unknown_option"),
        ("Answer: A and B are both wrong.", "ambiguous"),
        ("The answer is A because she shouts. But wait, B is better.", "ambiguous"),
        ("选项A是错误的。", "no_answer"),
        ("答案不是A", "no_answer"),
        ("不选A", "no_answer"),
        ("The answer is ...", "no_answer"),
        ("she is neither sad nor angry", "no_answer"),
        ("Answer: I think she is sad", "unknown_option"),
        ("Answer: A man who smiles", "unknown_option"),
        ("Answer: None of these", "unknown_option"),
        ("Answer: A. She left.\nNo. Answer: E", "unknown_option"),
        ("The answer is B. Actually the answer is none of them.", "unknown_option"),
        ("答案：无法确定", "unknown_option"),
        ("<answer>52.0</answer>", "unknown_option"),
        ("The answer is E, a fifth.", "unknown_option"),
        ("Answer: A or B", "ambiguous"),
        ("Answer: A/B", "ambiguous"),
        ("The answer is A or B.", "ambiguous"),
        ("Answer: A. She is sad", "ambiguous"),
        ("Answer: A. x B. y C. z", "ambiguous"),
        ("Answer: A\nB\nC", "ambiguous"),
        ("Answer:\nA\nC", "ambiguous"),
        ("The answer is B. But I cannot determine the correct answer.", "ambiguous"),
        ("<think>The answer is B.", "unclosed_thinking"),
    ],
)
def test_nothing_is_guessed(raw, reason):
    assert extracted(raw) == reason


def test_the_option_none_of_the_above_is_never_a():
    assert extracted("None of the above") == "D"
    assert extracted("Answer: None of the above.") == "D"
    assert extracted("None of the above", options=MANY) == "no_answer"


def test_letters_that_are_words_are_not_read():
    assert extracted("Answer: I think so", options=MANY) == "unknown_option"
    assert extracted("Answer: I, as a model, think so", options=MANY) == "unknown_option"
    assert extracted("The answer is B, I think.", options=MANY) == "B"
    assert extracted("The answer is I.", options=MANY) == "I"


def test_sets_are_read_whole_or_not_at_all():
    assert extracted("A, C", Format.MULTIPLE) == ["A", "C"]
    assert extracted("Answer: A and C.", Format.MULTIPLE) == ["A", "C"]
    assert extracted("The correct answers are:\nAC", Format.MULTIPLE) == ["A", "C"]
    assert extracted("The answer is (A) and (C), as she says.", Format.MULTIPLE) == ["A", "C"]
    assert extracted("答案是AC。", Format.MULTIPLE) == ["A", "C"]
    assert extracted("Answer: B", Format.MULTIPLE) == ["B"]
    assert extracted("Answer: A and C") == ["A", "C"]


def _options(row):
    """Give a row's options their letters; where the file has none, letters alone."""
    given = row["options"] or {name: f"text {name} is not given" for name in "ABCD"}
    texts = given if isinstance(given, dict) else dict(zip("ABCDEFGHIJ", given, strict=False))
    return [Option(id=name, text=str(text)) for name, text in texts.items()]


@pytest.mark.skipif(not REPLIES.exists(), reason="the shared data is not here")
def test_real_replies_give_what_was_read_by_hand():
    rows = [json.loads(line) for line in REPLIES.read_text("utf-8").splitlines()]
    counts, seen = Counter(), []
    for row, case in zip(rows, EXPECTED["replies"], strict=True):
        raw = row["raw_response"]
        assert hashlib.sha256(raw.encode()).hexdigest().startswith(case["sha256"])
        found = extracted(raw, options=_options(row))
        is_answer = found not in list(Failure)
        seen.append("".join(found))
        assert not is_answer or seen[-1] == case["commits"], case
        right_or_wrong = "right" if seen[-1] == row["gold"] else "wrong"
        counts[right_or_wrong if is_answer else seen[-1]] += 1
    assert seen == [case["extracted"] for case in EXPECTED["replies"]]
    assert counts == EXPECTED["counts"]
