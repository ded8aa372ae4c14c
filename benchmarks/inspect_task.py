"""Ask messages of a model through inspect_ai, and print the wall and CPU seconds as JSON.

    python benchmarks/inspect_task.py URL IN_FLIGHT < MESSAGES

Runs in an environment that has inspect_ai and openai; `benchmarks/evaluate.py` starts it. MESSAGES
is a JSON list of chat messages, one list an item. Start-up and a first item come before.
"""

import json
import os
import sys
import tempfile
import time


def main(url: str, in_flight: int) -> None:
    """Time one evaluation with temperature 0, 768 tokens and a scorer that costs nothing."""
    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    samples = [
        Sample(input=[kinds[one["role"]](content=one["content"]) for one in messages], target="A")
        for messages in json.load(sys.stdin)
    ]
    config = GenerateConfig(temperature=0.0, max_tokens=768, max_connections=in_flight)

    def ask(some: list[Sample]) -> None:
        task = Task(
            dataset=MemoryDataset(some), solver=generate(), scorer=includes(), config=config
        )
        with tempfile.TemporaryDirectory() as logs:
            found = eval(
                task,
                model="openai/served",
                model_args={"responses_api": False},
                max_samples=in_flight,
                log_dir=logs,
                display="none",
            )
        assert found[0].status == "success", getattr(found[0].error, "message", "")
        assert found[0].results.completed_samples == len(some)

    ask(samples[:1])
    wall, cpu = time.monotonic(), time.process_time()
    ask(samples)
    print(json.dumps([time.monotonic() - wall, time.process_time() - cpu]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
