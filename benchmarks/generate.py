"""How close `generate` comes to the ideal: as many calls as there are, 64 at a time, 1 s each.

    python -m benchmarks.generate [--count 1000] [--concurrency 64] [--seconds 1.0]

The real graph, sampler, prompts, checks and SQLite stores, with a scripted model: of the
candidates 60% take no refinement, 25% one and 15% two, half of the single ones by a new answer.
The model's card bounds the calls; a quarter more candidates are in hand, so that a call can start
while another candidate's rows are written.
Prints calls, ideal, wall clock, their ratio and the CPU time per candidate; exits with 1 where the
ratio is above 1.20.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml
from pydantic import BaseModel

from construction.endpoints import Spending
from construction.generate import Generation
from construction.runs import generation
from construction.workspace import create_workspace, open_workspace
from psychemme.clients.make import EndpointSettings
from psychemme.clients.protocol import Client, Reply, Request, Usage
from psychemme.config import load_settings
from psychemme.episode import Episode, Interval, Signals, Utterance
from psychemme.items import (
    Critique,
    Cue,
    Defect,
    IndependentAnswer,
    Option,
    Proposal,
    Question,
    Reference,
)
from psychemme.vocabulary import AgentRole, ClipStatus, ProposalDefect, ReasoningDefect, Role
from state.clips import ClipStore
from state.values import ClipRecord, EpisodeRecord

MOST_RATIO = 1.20
CLIPS, EPISODES_PER_CLIP, EPISODE_S = 40, 5, 40.0
REVISE, REANSWER = "V", "A"
ROUTES = {
    "": 0.60,
    REANSWER: 0.125,
    REVISE: 0.125,
    REVISE + REVISE: 0.075,
    REVISE + REANSWER: 0.075,
}
"""Refinements still to come and their share; the scripted question carries them in its text."""
RIGHT = "hold the ladder"
SOUND = Critique(cue_support=True, logical_coherence=True, capability_alignment=True)
DEFECTIVE = SOUND.model_copy(
    update={"proposal_defects": (Defect(code=ProposalDefect.OPTION_DEFECT, option_id="B"),)}
)
UNSOUND = SOUND.model_copy(
    update={"logical_coherence": False, "reasoning_defects": (ReasoningDefect.WRONG_SPEAKER,)}
)


class SlowClient:
    """Replies after `seconds`, along the route that the question's text names."""

    def __init__(self, model: str, seconds: float) -> None:
        self.model = model
        self.calls: Counter[Role] = Counter()
        self.at_once = self.most_at_once = 0
        self._seconds = seconds

    async def complete(self, request: Request) -> Reply:
        """Return the role's next reply."""
        self.calls[request.role] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self._seconds)
        self.at_once -= 1
        reply = MAKERS[request.role](request)
        return Reply(reply.model_dump_json(), self.model, usage=Usage(2000, 200))

    async def aclose(self) -> None:
        """Do nothing."""


def _proposal(request: Request) -> Proposal:
    earlier = request.inputs["earlier"]
    chance = random.Random(request.parameters.seed)
    route = chance.choices(list(ROUTES), list(ROUTES.values()))[0]
    if earlier:
        route = _route(earlier[-1].question)[1:]
    texts = (RIGHT, "fetch a drink from the kitchen", "open the door for a guest", "sit down")
    return Proposal(
        question=Question(
            subcategory="speaker_addressee",
            question=f"What is asked for between 1 and 3 s? [{route}]",
            options=tuple(Option(id="ABCD"[i], text=text) for i, text in enumerate(texts)),
        ),
        reference=Reference(
            answer="A",
            cues=(Cue(start=1, end=3, modality="speech", description="the request is spoken"),),
            rationale="the words are heard and nobody else speaks",
        ),
    )


def _independent(request: Request) -> IndependentAnswer:
    right = next(o.id for o in request.inputs["options"] if o.text == RIGHT)
    again = bool(request.inputs["feedback"])
    return IndependentAnswer(answer=right, rationale="again" if again else "first")


def _critique(request: Request) -> Critique:
    route = _route(request.inputs["question"])
    if request.inputs["independent"].rationale == "again":
        route = route[1:]
    return {"": SOUND, REVISE: DEFECTIVE, REANSWER: UNSOUND}[route[:1]]


MAKERS: dict[Role, Callable[[Request], BaseModel]] = {
    AgentRole.QUESTION: _proposal,
    AgentRole.ANSWER: _independent,
    AgentRole.CRITIC: _critique,
}


def _route(question: Question) -> str:
    return question.question.partition("[")[2].rstrip("]")


def prepare(root: Path, count: int, concurrency: int) -> None:
    """Make a workspace at `root` whose plan asks for `count` candidates of one kind."""
    workspace = create_workspace(root)
    plan = {
        "total": count,
        "targets": [{"capability": "G", "format": "single", "count": count}],
        # With one cell alone, `close_after` would bound the first batches instead of the slots.
        "sampling": {"batch": _in_hand(concurrency), "per_episode": count, "close_after": count},
    }
    (root / "plan.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    card = {"name": "scripted", "limits": {"concurrency": concurrency}}
    (root / "models.yaml").write_text(yaml.safe_dump({"cards": [card]}), encoding="utf-8")
    with ClipStore(workspace.database) as clips:
        for number in range(CLIPS):
            clip = _clip(number)
            clips.put_clip(clip)
            episodes = [_episode(clip, place) for place in range(EPISODES_PER_CLIP)]
            clips.save_preparation(clip, 1, "hash", "sidecar", {}, episodes)


def _in_hand(concurrency: int) -> int:
    return concurrency + concurrency // 4


def _clip(number: int) -> ClipRecord:
    name = f"{number:016x}"
    return ClipRecord(
        id=name, sha256=name * 4, path=f"/nowhere/{name}.mp4", size=1, modified_at=1,
        status=ClipStatus.PREPARED, source="scripted", source_group="scripted",
        source_video_id=name, recording_group=name, verified=True, source_start=0.0, added_at=1,
    )  # fmt: skip


def _episode(clip: ClipRecord, place: int) -> EpisodeRecord:
    start, end = place * EPISODE_S, (place + 1) * EPISODE_S
    said = tuple(
        Utterance(start=t, end=t + 1.5, text=f"Could you hold the ladder for me, the {t}th time?")
        for t in range(1, 39, 2)
    )
    speech = tuple(Interval(start=one.start, end=one.end) for one in said)
    content = Episode(
        duration=EPISODE_S,
        public_context="Two people work in a kitchen.",
        transcript=said,
        signals=Signals(speech=speech),
    )
    episode_id = f"{clip.id}-{round(start * 1000)}-{round(end * 1000)}"
    return EpisodeRecord(
        id=episode_id, clip_id=clip.id, preparation=1, start=start, end=end, content=content
    )


async def measure(root: Path, count: int, concurrency: int, seconds: float) -> float:
    """Run `count` candidates, print what was measured, and return wall clock / ideal."""
    client = SlowClient("scripted", seconds)

    def make(_name: str, _endpoint: EndpointSettings) -> Client:
        return client

    flags = {"model": "scripted", "plan": root / "plan.yaml", "concurrency": _in_hand(concurrency)}
    settings = load_settings(root, flags)
    stop, spending = asyncio.Event(), Spending(cache=False)
    job: Generation
    async with generation(
        open_workspace(root), settings, count, False, False, stop, spending, make
    ) as job:
        began, used = time.perf_counter(), time.process_time()
        tally = await job.finish()
        wall, cpu = time.perf_counter() - began, time.process_time() - used
    calls = client.calls.total()
    ideal = calls * seconds / concurrency
    print(f"candidates {tally.started} (accepted {tally.accepted})")
    print(f"calls {calls}, at most {client.most_at_once} at once")
    print(f"ideal {ideal:.1f} s, wall {wall:.1f} s, ratio {wall / ideal:.3f}")
    print(f"CPU {1000 * cpu / count:.1f} ms a candidate")
    return wall / ideal


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=1.0, help="what one call takes")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="psychemme-benchmark-"))
    try:
        prepare(root, given.count, given.concurrency)
        ratio = asyncio.run(measure(root, given.count, given.concurrency, given.seconds))
    finally:
        shutil.rmtree(root)
    return int(ratio > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
