"""What lmms-eval needs of the task: prompts, videos and scores. Needs nothing but Python.

`python utils.py SAMPLES.jsonl MODEL > responses.jsonl` turns the samples that lmms-eval logs into
responses for `psychemme score`. Benchmark data, never to be trained on; canary CANARY
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202, ARG001, F401

import json
import re
import sys
from pathlib import Path

from reading import is_readable, read_answer, response_line

HERE = Path(__file__).resolve().parent


def doc_to_visual(doc):
    """Return the episode's window as the path of a video."""
    path = HERE / doc["video"]
    if not path.is_file():
        raise FileNotFoundError(f"{path}: put the episode's window there (see README.md)")
    return [str(path)]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """Return the prompt for models that take one text."""
    return f"{doc['system']}\n\n{doc['user']}"


def doc_to_messages(doc, lmms_eval_specific_kwargs=None):
    """Return the prompt for models that take a conversation."""
    video = {"type": "video", "url": doc_to_visual(doc)[0]}
    return [
        {"role": "system", "content": [{"type": "text", "text": doc["system"]}]},
        {"role": "user", "content": [video, {"type": "text", "text": doc["user"]}]},
    ]


def doc_to_target(doc):
    """Return the reference of a choice item as text; empty where there is none."""
    return ", ".join(doc.get("answer") or [])


def process_results(doc, results):
    """Return whether the reply is readable, and of choice items whether it is the exact set.

    Open answers need a judge: they count in no accuracy.
    """
    item = {"item_id": doc["id"], "episode_id": doc["episode_id"]}
    readable = is_readable(results[0], doc["option_ids"])
    scores = {"readable": item | {"score": float(readable)}}
    if doc.get("answer"):
        right = read_answer(results[0], doc["option_ids"]) == sorted(doc["answer"])
        scores["choice_accuracy"] = item | {"score": float(right)}
    return scores


def mean(items):
    """Return the mean score, a fraction."""
    return sum(item["score"] for item in items) / len(items)


# <reading replies>


def _responses(samples, model):
    for line in Path(samples).read_text(encoding="utf-8").rstrip("\n").split("\n"):
        row = json.loads(line)
        # lmms-eval leaves out `resps` where its filter changed nothing.
        reply = row.get("resps", row["filtered_resps"])
        while isinstance(reply, list):
            reply = reply[0]
        yield response_line(row["readable"]["item_id"], model, reply)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _responses(sys.argv[1], sys.argv[2]))
