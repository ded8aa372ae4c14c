"""What evaluation costs beside the calls themselves.

    python benchmarks/evaluate.py [--items 1000] [--in-flight 64]

Every row asks a loopback server in a process of its own about the same items, as question-only:
once at 1 s latency against the ideal wall time, once at 200 ms beside a loop that does nothing but
call the `openai` SDK with the same messages. CPU is this process's own, without the server's.
`inspect_ai` joins where it is installed.
"""

import argparse
import asyncio
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evaluation.inputs import Condition, InputPolicy  # noqa: E402
from evaluation.runs import Plan, evaluations  # noqa: E402
from psychemme.clients.cards import load_cards  # noqa: E402
from psychemme.config import load_settings  # noqa: E402
from psychemme.release.read import Release, read_release  # noqa: E402
from tests.support.releases import make_release  # noqa: E402

SERVER = ROOT / "benchmarks" / "latency_server.py"
REPLY = json.dumps({"answer": "A"} | dict.fromkeys("GWNTSAMR") | {"G": "it is said at 1 s"})


def main() -> None:
    """Print a table of wall and CPU time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=64)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        release = read_release(make_release(Path(folder) / "release", given.items))
        # The first call loads the SDK and the template engine, which is no cost of an item.
        first = _served(0.0, lambda url: _evaluate(release, url, 1, Path(folder) / "0", limit=1))
        print(f"{given.items} items, {given.in_flight} in flight; start-up {first[0]:.1f} s before")
        slow = _served(
            1.0, lambda url: _evaluate(release, url, given.in_flight, Path(folder) / "1")
        )
        _row("psychemme, 1 s", slow, 1.0, given)
        ours = _served(
            0.2, lambda url: _evaluate(release, url, given.in_flight, Path(folder) / "2")
        )
        bodies = _bodies(release)
        bare = _served(0.2, lambda url: _bare(bodies, url, given.in_flight))
        _row("psychemme, 200 ms", ours, 0.2, given)
        _row("bare openai loop, 200 ms", bare, 0.2, given)
        print(f"ratio to the bare loop: wall {ours[0] / bare[0]:.2f}, CPU {ours[1] / bare[1]:.2f}")
        if importlib.util.find_spec("inspect_ai") is None:
            print("inspect_ai is not installed: left out")
        else:
            other = _served(0.2, lambda url: _inspect(bodies, url, given.in_flight))
            _row("inspect_ai, 200 ms", other, 0.2, given)
            print(f"ratio to inspect_ai: wall {ours[0] / other[0]:.2f}")


def _row(
    name: str, measured: tuple[float, float], latency: float, given: argparse.Namespace
) -> None:
    wall, cpu = measured
    ideal = math.ceil(given.items / given.in_flight) * latency
    print(
        f"{name:<26} wall {wall:6.2f} s  {wall / ideal:5.2f} of ideal {ideal:.1f} s  "
        f"CPU {1000 * cpu / given.items:5.2f} ms an item"
    )


def _served(latency: float, work: Callable[[str], None]) -> tuple[float, float]:
    """Return wall and CPU seconds of `work` with a server of `latency` seconds."""
    command = [sys.executable, str(SERVER), str(latency), REPLY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        began, cpu = time.monotonic(), time.process_time()
        work(url)
        measured = time.monotonic() - began, time.process_time() - cpu
        server.terminate()
    return measured


def _evaluate(
    release: Release, url: str, in_flight: int, out: Path, limit: int | None = None
) -> None:
    async def run() -> None:
        plan = Plan(release, (), out, InputPolicy(condition=Condition.QUESTION_ONLY), limit)
        effective = load_settings(Path("none"), {"base_url": url, "concurrency": in_flight})
        stop = asyncio.Event()
        async with evaluations(plan, ["served"], effective, load_cards(), stop) as found:
            done = await found[0].finish()
        assert done.settled == done.planned

    asyncio.run(run())


def _bodies(release: Release) -> list[list[dict[str, str]]]:
    """Return the messages of every item, as `evaluate` sends them."""
    from evaluation.asking import Asking
    from evaluation.footage import Footage
    from psychemme.clients.cards import generic_card
    from psychemme.clients.openai_messages import chat_body
    from psychemme.clients.protocol import Parameters

    card, policy = generic_card("served"), InputPolicy(condition=Condition.QUESTION_ONLY)
    asking = Asking(release, policy, card, Footage({}, Path("none")), None, Parameters())  # type: ignore[arg-type]

    async def collect() -> list[list[dict[str, str]]]:
        requests = [await asking.request(question) for question in release.questions.values()]
        return [
            chat_body(request, "served", card, card.json_mode, card.token_limit)["messages"]  # type: ignore[misc]
            for request, _ in requests
        ]

    return asyncio.run(collect())


def _bare(bodies: list[list[dict[str, str]]], url: str, in_flight: int) -> None:
    import openai

    async def run() -> None:
        slots = asyncio.Semaphore(in_flight)
        async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:

            async def ask(messages: list[dict[str, str]]) -> str | None:
                async with slots:
                    reply = await client.chat.completions.create(
                        model="served",
                        messages=messages,
                        temperature=0.0,
                        max_tokens=768,  # type: ignore[arg-type]
                    )
                return reply.choices[0].message.content

            found = await asyncio.gather(*map(ask, bodies))
        assert all(found)

    asyncio.run(run())


def _inspect(bodies: list[list[dict[str, str]]], url: str, in_flight: int) -> None:
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    samples = [Sample(input=body[-1]["content"], target="A") for body in bodies]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
    with tempfile.TemporaryDirectory() as logs:
        eval(task, model="openai/served", max_connections=in_flight, log_dir=logs, display="none")


if __name__ == "__main__":
    main()
