"""The task for inspect_ai: `inspect eval task.py --model MODEL`.

`python task.py LOG.eval MODEL > responses.jsonl` turns its log into responses for
`psychemme score`. Benchmark data, never to be trained on; canary CANARY
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202, ARG001, F401, F821, I001

import json
import re
import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.log import read_eval_log
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver

from reading import is_readable, read_answer, response_line

HERE = Path(__file__).resolve().parent
METRICS = [mean(), stderr(cluster="episode_id")]


@task
def psychemme_release():
    """Return the task: every item is asked once; scores are fractions."""
    dataset = json_dataset(str(HERE / "questions.jsonl"))
    is_scored = any(sample.target for sample in dataset)
    return Task(
        dataset=dataset,
        solver=ask(),
        scorer=[readable(), choice_accuracy()] if is_scored else [readable()],
        config=GenerateConfig(temperature=0, max_tokens=MAX_TOKENS),
        version="1",
    )


@solver
def ask():
    """Put the prompt as it stands; it holds the options and the form of the reply."""

    async def solve(state, generate):
        return await generate(state)

    return solve


@scorer(metrics=METRICS)
def readable():
    """Whether the reply holds an answer."""

    async def score(state, target):
        reply = state.output.completion
        return Score(value=float(is_readable(reply, state.metadata["option_ids"])))

    return score


@scorer(metrics=METRICS)
def choice_accuracy():
    """Whether a choice item's answer is the exact option or the complete set."""

    async def score(state, target):
        reference = sorted(set(target) - {""})
        if not reference:
            return Score.unscored(explanation="open: an answer needs a judge")
        answer = read_answer(state.output.completion, state.metadata["option_ids"])
        return Score(value=float(answer == reference), answer=", ".join(answer))

    return score


# <reading replies>


def _responses(log, model):
    for sample in read_eval_log(log).samples or []:
        # A sample that failed has no response; it stays unscored and is no wrong answer.
        if sample.error is None:
            yield response_line(sample.id, model, sample.output.completion)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _responses(sys.argv[1], sys.argv[2]))
