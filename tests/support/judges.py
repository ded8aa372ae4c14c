"""Loopback judges that read cues, or do not, and a run for them to label."""

import asyncio
import json
import re
from pathlib import Path

from evaluation.inputs import InputPolicy
from evaluation.judge_audit import audit_judge
from evaluation.judge_shifts import Audit
from evaluation.judging import judging
from evaluation.runs import Plan, evaluations
from evaluation.work import Progress
from psychemme.clients.cards import load_cards
from psychemme.config import load_settings
from psychemme.items import Cue
from psychemme.release.read import read_release
from psychemme.release.rows import ReleaseFacts
from psychemme.release.write import write_release
from psychemme.vocabulary import Capability
from tests.support.model_server import Call, ModelServer, Replies
from tests.support.releases import FACTS, FORMS, episode, question, reference

_DEEDS = ("lifts", "drops", "paints", "hides", "mends", "waves")
_THINGS = ("ladder", "kettle", "blanket", "guitar", "basket", "lantern", "trumpet")


def seen(number: int) -> str:
    """Return what can be seen in scene `number`, in words of its own."""
    return f"somebody {_DEEDS[number % 6]} {_THINGS[number % 7]} marker{number}"


def make_cued_release(root: Path, count: int = 24) -> Path:
    """Write a release in which every item has a cue of its own."""
    capabilities = tuple(Capability)
    questions = [question(n, capabilities[n % 8], FORMS[n % 7 % 3]) for n in range(count)]
    references = [
        reference(row).model_copy(
            update={"cues": (Cue(start=1, end=3, modality="visual", description=seen(n)),)}
        )
        for n, row in enumerate(questions)
    ]
    episodes = [episode(n) for n in range((count + 2) // 3)]
    facts = ReleaseFacts.model_validate(FACTS | {"profile": "psychemme8"})
    write_release(root, facts, questions, episodes, references)
    return root


def explains(call: Call) -> str:
    """Answer as the evaluated model: every other answer is right, every explanation is."""
    number = int(re.search(r"in scene (\d+)", call.user)[1])
    form = re.search(r"^Format: (\w+)", call.user, re.MULTILINE)[1]
    is_right = number % 2 == 0
    right = {"single": "A", "multiple": ["A", "B"], "open": "hold the ladder"}
    wrong = {"single": "C", "multiple": ["C", "D"], "open": "leave"}
    told = {"G": seen(number), "W": f"marker{number} makes that plain"}
    return json.dumps(
        {"answer": (right if is_right else wrong)[form]} | dict.fromkeys("GWNTSAMR") | told
    )


def honest(call: Call) -> str:
    """Label by how many words of the cues the rationales share."""
    cues, rationales = (_words(_block(name, call.user)) for name in ("cues", "rationales"))
    shared = len((cues & rationales) - {"somebody"}) / 3
    label = "strong" if shared >= 0.9 else "weak" if shared else "insufficient"
    reason = "The rationale is fully supported by the cues." if shared else "No cue is met."
    return _reply(call, label, "fully_coherent", reason)


def flatterer(call: Call) -> str:
    """Call everything strong without reading it."""
    return _reply(call, "strong", "fully_coherent", "The rationales sound convincing.")


def halo(call: Call) -> str:
    """Call strong what looks right, so that a hidden reference shifts its labels."""
    answer = _words(_block("answer", call.user))
    is_right = answer <= _words(_block("reference_answer", call.user))
    label = "strong" if is_right else "weak"
    # It contradicts its own words.
    return _reply(call, label, "acceptable", "None of the claims is supported by the cues.")


def _reply(call: Call, support: str, logic: str, reason: str) -> str:
    is_open = re.search(r"^Format: open", call.user, re.MULTILINE) is not None
    credit = None if not is_open else 1 if support == "strong" else 0
    return json.dumps(
        {
            "evidence_reason": reason,
            "logic_reason": "The steps are in order.",
            "evidence_support": support,
            "logical_integrity": logic,
            "answer_credit": credit,
        }
    )


def _block(name: str, text: str) -> str:
    return re.search(rf"^<{name}>\n(.*?)\n</{name}>$", text, re.MULTILINE | re.DOTALL)[1]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+\d*", text.lower())) - {"visual", "g", "w"}


async def evaluated_run(folder: Path, count: int = 24, model: str = "served") -> Path:
    """Return the folder of a finished run on a cued release below `folder`."""
    root = folder / "release"
    release = read_release(root if root.exists() else make_cued_release(root, count))
    plan = Plan(release, (), folder / "runs", InputPolicy(condition="asr-only"))
    with ModelServer(explains) as server:
        settings = load_settings(folder, {"base_url": server.url})
        opened = evaluations(plan, [model], settings, load_cards(), asyncio.Event())
        async with opened as (evaluation,):
            await evaluation.finish()
            return evaluation.folder


async def have_judged(
    run: Path, replies: Replies, name: str = "judge", repeats: int = 1
) -> Progress:
    """Have a loopback judge label a run."""
    with ModelServer(replies) as server:
        return await judge_through(run, server, name, repeats)


async def judge_through(
    run: Path,
    server: ModelServer,
    name: str = "judge",
    repeats: int = 1,
    release: Path | None = None,
) -> Progress:
    """Have the judge behind `server` label a run."""
    settings = load_settings(run, {"base_url": server.url, "concurrency": 4, "max_retries": 0})
    stop = asyncio.Event()
    async with judging(run, name, repeats, settings, load_cards(), stop, release) as job:
        return await job.finish()


async def audit_through(
    run: Path,
    server: ModelServer,
    name: str = "judge",
    release: Path | None = None,
    **how: int,
) -> Audit:
    """Audit the judge behind `server`."""
    settings = load_settings(run, {"base_url": server.url, "concurrency": 4, "max_retries": 0})
    async with judging(run, name, 1, settings, load_cards(), asyncio.Event(), release) as job:
        return await audit_judge(job, **how)
