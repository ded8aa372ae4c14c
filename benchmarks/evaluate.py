"""Time the evaluation of a model: against the ideal, the bare `openai` SDK, and inspect_ai.

    python benchmarks/evaluate.py [--items 1000] [--in-flight 64] [--inspect-python PATH]

Every row asks a loopback server in a process of its own about the same choice items, as
question-only: at 1 s latency against the ideal wall time; at 200 ms beside a loop that does nothing
but call the `openai` SDK with the same messages, and beside inspect_ai, which runs in the
environment of `--inspect-python`. Figures are medians of rounds in which all take turns. CPU is the
client's own, without the server's; start-up comes before. Returns 1 where a requirement is missed;
on a machine that does other work, measure again.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evaluation.inputs import Condition, InputPolicy  # noqa: E402
from evaluation.runs import Plan, evaluations  # noqa: E402
from psychemme.clients.cards import load_cards  # noqa: E402
from psychemme.config import load_settings  # noqa: E402
from psychemme.release.read import Release, read_release  # noqa: E402
from tests.support.releases import make_release  # noqa: E402

SERVER = ROOT / "benchmarks" / "latency_server.py"
INSPECT = ROOT / "benchmarks" / "inspect_task.py"
REPLY = json.dumps({"answer": "A"} | dict.fromkeys("GWNTSAMR") | {"G": "it is said at 1 s"})
OURS, BARE, OTHER = "psychemme", "bare openai loop", "inspect_ai"

Measured = tuple[float, float]
"""Wall and CPU seconds."""

Messages = list[list[dict[str, str]]]
"""The chat messages of every item."""


def main() -> int:
    """Print a table of wall and CPU time and their ratios; return 1 where one is above a limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inspect-python", type=Path, help="Python with inspect-ai and openai")
    given = parser.parse_args()
    print(f"{given.items} items, {given.in_flight} in flight, medians of {given.rounds}; {_load()}")
    with tempfile.TemporaryDirectory() as folder:
        release = _choice_release(Path(folder) / "release", given.items)
        fast = _jobs(release, Path(folder), given)
        slow = {OURS: fast[OURS]}
        fast[OURS](0.0, 1)
        at_1_s = _measure(slow, 1.0, given)
        at_200_ms = _measure(fast, 0.2, given)
    missed = _ratio("wall to the ideal at 1 s", at_1_s[OURS][0] / _ideal(1.0, given), 1.10)
    ours, bare = at_200_ms[OURS], at_200_ms[BARE]
    missed += _ratio("wall to the bare loop at 200 ms", ours[0] / bare[0], 1.3)
    missed += _ratio("CPU to the bare loop at 200 ms", ours[1] / bare[1], 2.0)
    if OTHER in at_200_ms:
        missed += _ratio("wall to inspect_ai at 200 ms", ours[0] / at_200_ms[OTHER][0], 1 / 6)
    else:
        print("inspect_ai is left out: name its environment with --inspect-python")
    return int(missed > 0)


def _choice_release(root: Path, items: int) -> Release:
    """Return a release whose first `items` questions are choice."""
    made = read_release(make_release(root, 2 * items))
    kept = [name for name, row in made.questions.items() if row.format.is_choice][:items]
    questions = {name: made.questions[name] for name in kept}
    return Release(made.root, made.manifest, questions, made.episodes)


Job = Callable[[float, int | None], Measured]
"""Does its work against a server of so many seconds' latency, on the first N items or on all."""


def _jobs(release: Release, folder: Path, given: argparse.Namespace) -> dict[str, Job]:
    messages, runs = _messages(release), count()

    def ours(latency: float, limit: int | None = None) -> Measured:
        out = folder / str(next(runs))
        return _served(latency, lambda url: _evaluate(release, url, given.in_flight, out, limit))

    def bare(latency: float, limit: int | None = None) -> Measured:
        return _served(latency, lambda url: _bare(messages[:limit], url, given.in_flight))

    def other(latency: float, limit: int | None = None) -> Measured:
        python = given.inspect_python
        return _served(
            latency, lambda url: _inspect(messages[:limit], url, given.in_flight, python)
        )

    return {OURS: ours, BARE: bare} | ({OTHER: other} if given.inspect_python else {})


def _measure(
    jobs: dict[str, Job], latency: float, given: argparse.Namespace
) -> dict[str, Measured]:
    """Return the median wall and CPU seconds of each job, and print them."""
    rounds = [{name: job(latency, None) for name, job in jobs.items()} for _ in range(given.rounds)]
    found = {}
    for name in jobs:
        wall, cpu = (median(each[name][place] for each in rounds) for place in (0, 1))
        found[name] = wall, cpu
        walls = ", ".join(f"{each[name][0]:.2f}" for each in rounds)
        print(
            f"{name:<17} at {1000 * latency:4.0f} ms  wall {wall:6.2f} s ({walls})  "
            f"{wall / _ideal(latency, given):5.2f} of ideal  "
            f"CPU {1000 * cpu / given.items:5.2f} ms an item; {_load()}",
            flush=True,
        )
    return found


def _ideal(latency: float, given: argparse.Namespace) -> float:
    return math.ceil(given.items / given.in_flight) * latency


def _ratio(name: str, ratio: float, allowed: float) -> int:
    print(f"{name:<32} {ratio:5.2f} (1/{1 / ratio:.1f}), at most {allowed:.2f}")
    return int(ratio > allowed)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def _served(latency: float, work: Callable[[str], Measured | None]) -> Measured:
    """Return wall and CPU seconds of `work` with a server of `latency` seconds."""
    command = [sys.executable, str(SERVER), str(latency), REPLY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        began, cpu = time.monotonic(), time.process_time()
        try:
            # Who works in a process of its own measures itself.
            return work(url) or (time.monotonic() - began, time.process_time() - cpu)
        finally:
            server.terminate()


def _evaluate(release: Release, url: str, in_flight: int, out: Path, limit: int | None) -> None:
    async def run() -> None:
        plan = Plan(release, (), out, InputPolicy(condition=Condition.QUESTION_ONLY), limit)
        effective = load_settings(Path("none"), {"base_url": url, "concurrency": in_flight})
        stop = asyncio.Event()
        async with evaluations(plan, ["served"], effective, load_cards(), stop) as found:
            done = await found[0].finish()
        assert done.settled == done.planned
        assert not done.failures

    asyncio.run(run())


def _messages(release: Release) -> Messages:
    """Return the messages of every item, as `evaluate` sends them."""
    from evaluation.asking import Asking
    from evaluation.footage import Footage
    from psychemme.clients.cards import generic_card
    from psychemme.clients.openai_messages import chat_body
    from psychemme.clients.protocol import Parameters

    card, policy = generic_card("served"), InputPolicy(condition=Condition.QUESTION_ONLY)
    asking = Asking(release, policy, card, Footage({}, Path("none")), None, Parameters())  # type: ignore[arg-type]

    async def collect() -> Messages:
        requests = [await asking.request(question) for question in release.questions.values()]
        return [
            chat_body(request, "served", card, card.json_mode, card.token_limit)["messages"]  # type: ignore[misc]
            for request, _ in requests
        ]

    return asyncio.run(collect())


def _bare(messages: Messages, url: str, in_flight: int) -> None:
    import openai

    async def run() -> None:
        slots = asyncio.Semaphore(in_flight)
        async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:

            async def ask(one: list[dict[str, str]]) -> str | None:
                async with slots:
                    reply = await client.chat.completions.create(
                        model="served",
                        messages=one,  # type: ignore[arg-type]
                        temperature=0.0,
                        max_tokens=768,
                    )
                return reply.choices[0].message.content

            found = await asyncio.gather(*map(ask, messages))
        assert all(found)

    asyncio.run(run())


def _inspect(messages: Messages, url: str, in_flight: int, python: Path) -> Measured:
    command = [str(python), str(INSPECT), url, str(in_flight)]
    done = subprocess.run(
        command, input=json.dumps(messages), stdout=subprocess.PIPE, text=True, check=True
    )
    wall, cpu = json.loads(done.stdout.splitlines()[-1])
    return wall, cpu


if __name__ == "__main__":
    sys.exit(main())
