"""The reader that exports ship never answers otherwise than `psychemme score` would."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from construction.exports.templates.reading import is_readable, read_answer, response_line
from evaluation.responses import Outcome, parse_response
from psychemme.items import Option
from psychemme.vocabulary import Format

IDS = list("ABCD")
OPTIONS = [Option(id=name, text=f"Reason {name}") for name in IDS]
REPLIES = Path(__file__).resolve().parents[2] / "../shared/data/responses/choice_replies.jsonl"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "B"}', ["B"]),
        ('```json\n{"answer": ["C", "a"], "G": "A man"}\n```', ["A", "C"]),
        ('<think>{"answer": "A"}</think>{"answer": "B", "G": null}', ["B"]),
        ("**B**", ["B"]),
        ("(b)", ["B"]),
        ('I think {"answer": "B"}', ["B"]),
        ('{"answer": "B"} {"answer": "C"}', []),
        ('{"answer": "B"} No, it is C.', []),
        ('{"answer": "E"}', []),
        ('{"answer": ["A", 1]}', []),
        ('{"answer": []}', []),
        ('{"answer": null}', []),
        ('{"answer": {"a": "A"}}', []),
        ('{"reply": "A"}', []),
        ("A man smiles", []),
        ("Failed to obtain answer via API.", []),
        ("<think>A", []),
        ('<think>{"answer": "A"}', []),
        ("", []),
        (None, []),
    ],
)
def test_only_what_was_asked_for_is_read(reply, answer):
    assert read_answer(reply, IDS) == answer
    assert is_readable(reply, IDS) == bool(answer)


def agrees(reply: str) -> bool:
    answer = read_answer(reply, IDS)
    parsed = parse_response(reply, "stop", Format.MULTIPLE, OPTIONS)
    return not answer or (parsed.outcome is Outcome.OK and parsed.answer == answer)


PIECES = ['{"answer": "A"}', '{"answer": ["B", "C"]}', '{"answer"', "<think>", "</think>", "```"]


@example('{"answer": ["B", "C"]}<think></think>{"answer": "A"}')
@given(
    st.lists(st.sampled_from([*PIECES, *'AB{}":, \n', "answer", "not"]), max_size=8).map("".join)
)
def test_it_never_differs_from_the_parser(reply):
    assert agrees(reply)


@pytest.mark.skipif(not REPLIES.exists(), reason="needs the shared replies")
def test_it_never_differs_on_real_replies():
    for line in REPLIES.read_text("utf-8").splitlines():
        for text in json.loads(line).values():
            assert agrees(str(text))


def test_open_answers_are_readable_as_texts():
    assert is_readable('{"answer": "She is tired."}', [])
    assert not is_readable('{"answer": " "}', [])
    assert not is_readable("She is tired.", [])
    assert json.loads(response_line("q1", "m", "é"))["raw"] == "é"
