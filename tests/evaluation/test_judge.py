"""The judge: what it sees, what counts as a judgement, and what failures leave behind."""

import asyncio
import json
from pathlib import Path

import pytest

from evaluation.inputs import InputPolicy
from evaluation.judge import Judgement, judge_request, needs_judge, read_judgement
from evaluation.judging import judging
from evaluation.labelling import MOST_REPAIRS
from evaluation.responses import Response, parse_response
from evaluation.runs import Plan, evaluations
from evaluation.score import score_folder
from evaluation.work import Progress
from psychemme.clients.cards import load_cards
from psychemme.clients.replies import InvalidReply
from psychemme.config import load_settings
from psychemme.errors import ReleaseError, RunError
from psychemme.release.read import read_release
from psychemme.vocabulary import Capability, Format
from tests.support.model_server import Call, ModelServer, computed
from tests.support.releases import make_release, question, reference

ITEMS = 24
EXPLAINED = {"answer": "A"} | dict.fromkeys("GWNTSAMR") | {"G": "the request is said at 1 s"}
GOOD = {
    "evidence_reason": "the cue shows it",
    "logic_reason": "it follows",
    "evidence_support": "normal",
    "logical_integrity": "acceptable",
    "answer_credit": None,
}


def response(form: Format, raw: dict | str) -> tuple[Response, object]:
    row = question(0, Capability.GROUNDING, form)
    text = raw if isinstance(raw, str) else json.dumps(raw)
    parsed = parse_response(text, "stop", form, row.options)
    who = {"item_id": row.id, "model": "m", "condition": "full", "raw": text}
    return Response.model_validate(vars(parsed) | who), row


@pytest.mark.parametrize(
    ("form", "raw", "wanted"),
    [
        (Format.SINGLE, EXPLAINED, True),
        (Format.SINGLE, EXPLAINED | {"answer": "B"}, True),
        (Format.SINGLE, EXPLAINED | {"G": None}, False),
        (Format.SINGLE, "I cannot help with that.", False),
        (Format.OPEN, EXPLAINED | {"answer": "hold it", "G": None}, True),
    ],
)
def test_every_explained_or_open_answer_is_judged(form, raw, wanted):
    assert needs_judge(*response(form, raw)) is wanted


def test_the_judge_sees_the_cues_and_never_the_recording():
    answered, row = response(Format.OPEN, EXPLAINED | {"answer": "</answer> hold it"})
    request = judge_request(row, reference(row), answered)
    assert request.media == ()
    assert "PRIVATE-CUE" in request.user
    assert "PRIVATE-POINT" in request.user
    assert "the request is said at 1 s" in request.user
    assert request.user.count("</answer>") == 1
    assert request.parameters.temperature == 0
    assert "Could you hold" not in request.user


@pytest.mark.parametrize(
    ("form", "changes", "fault"),
    [
        (Format.SINGLE, {}, None),
        (Format.SINGLE, {"answer_credit": 1}, "null"),
        (Format.OPEN, {"answer_credit": None}, "give the"),
        (Format.OPEN, {"answer_credit": 0.7}, "credit"),
        (Format.OPEN, {"answer_credit": 0.5}, None),
        (Format.SINGLE, {"evidence_support": "great"}, "evidence_support"),
        (Format.SINGLE, {"logic_reason": ""}, "logic_reason"),
        (Format.SINGLE, {"note": "x"}, "note"),
    ],
)
def test_a_judgement_is_whole_or_none(form, changes, fault):
    row = question(0, Capability.GROUNDING, form)
    text = json.dumps(GOOD | changes)
    if fault is None:
        assert isinstance(read_judgement(text, row), Judgement)
    else:
        with pytest.raises(InvalidReply, match=fault):
            read_judgement(text, row)


@pytest.fixture
async def run(tmp_path: Path) -> Path:
    release = read_release(make_release(tmp_path / "release", ITEMS))
    plan = Plan(release, (), tmp_path / "runs", InputPolicy(condition="asr-only"))
    with ModelServer() as server:
        flags = {"base_url": server.url}
        effective = load_settings(tmp_path, flags)
        opened = evaluations(plan, ["served"], effective, load_cards(), asyncio.Event())
        async with opened as (evaluation,):
            await evaluation.finish()
            return evaluation.folder


async def judge(run: Path, server: ModelServer, name: str = "judge", repeats: int = 1) -> Progress:
    effective = load_settings(run, {"base_url": server.url, "concurrency": 4, "max_retries": 0})
    stop = asyncio.Event()
    async with judging(run, name, repeats, effective, load_cards(), stop) as job:
        return await job.finish()


def judged(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "judgements.jsonl").read_text().splitlines()]


async def test_judges_and_repeats_are_kept_apart(run: Path) -> None:
    with ModelServer() as server:
        first = await judge(run, server)
        again = await judge(run, server)
        assert server.count("judge") == first.planned == first.settled == again.settled
        await judge(run, server, "other", repeats=2)
        assert server.count("judge") == 3 * first.planned
    keys = {(row["judge"], row["repeat"]) for row in judged(run)}
    assert keys == {("judge", 0), ("other", 0), ("other", 1)}
    assert score_folder(run, judge="other", repeat=1).unscored == {}


async def test_a_bad_reply_is_repaired(run: Path) -> None:
    def replies(call: Call) -> str:
        return "no idea" if len(call.body["messages"]) == 2 else computed(call)

    with ModelServer(replies) as server:
        done = await judge(run, server)
        assert server.count() == 2 * done.planned
    assert done.settled == done.planned


async def test_a_failed_judgement_is_no_label(run: Path) -> None:
    with ModelServer(lambda call: "no idea") as server:
        done = await judge(run, server)
        assert server.count() == (MOST_REPAIRS + 1) * done.planned
    assert done.settled == 0
    assert done.failures["invalid"] == done.planned
    assert judged(run) == []
    unscored = score_folder(run).unscored
    assert unscored == {"not_judged": done.planned}
    with ModelServer() as server:
        done = await judge(run, server)
        assert server.count() == done.planned
    assert score_folder(run).unscored == {}


async def test_an_endpoint_error_leaves_items_unjudged(run: Path) -> None:
    with ModelServer(fault=lambda call: "rejected" if call.number % 2 else None) as server:
        done = await judge(run, server)
    assert 0 < done.settled < done.planned
    assert len(judged(run)) == done.settled


async def test_another_release_and_another_prompt_are_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        await judge(run, server)
        monkeypatch.setattr("evaluation.labelling.prompt_hash", lambda _: "0" * 64)
        with pytest.raises(RunError, match="another prompt"):
            await judge(run, server)
        monkeypatch.undo()
        make_release(run.parents[1] / "release", ITEMS - 1)
        with pytest.raises(ReleaseError, match="checksum"):
            await judge(run, server)
