"""Option orders: what is shown, how answers are read back, and how far scores move."""

import asyncio
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.evaluate import Evaluation
from evaluation.inputs import make_policy
from evaluation.judging import judging
from evaluation.manifest import order_folders, read_manifest
from evaluation.option_orders import as_released, as_shown, option_order, shown_question
from evaluation.order_spread import Shown, refuse_unasked, spread_json, spread_of, spread_of_folder
from evaluation.report.page import write_report
from evaluation.report.runs import read_runs
from evaluation.responses import Outcome, Response
from evaluation.runs import Plan, evaluations
from evaluation.score import score_files, score_folder
from evaluation.scoring import ScoringError
from psychemme.clients.cards import load_cards
from psychemme.config import load_settings
from psychemme.errors import RunError
from psychemme.items import Option
from psychemme.release.read import read_release
from psychemme.release.rows import QuestionRow
from psychemme.vocabulary import Capability, Format
from tests.support.commands import run
from tests.support.model_server import Call, ModelServer
from tests.support.releases import make_release, question

ITEMS, ORDERS = 24, 4
RIGHT = {"hold the ladder", "fetch a drink of water"}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return make_release(tmp_path / "release", ITEMS)


async def evaluated(
    release: Path,
    server: ModelServer | None = None,
    mode: str | None = None,
    *,
    model: str = "served",
    orders: int = ORDERS,
    seed: int = 42,
) -> list[Evaluation]:
    flags = {
        "concurrency": 4,
        "max_retries": 0,
        "base_url": server.url if server else None,
        "seed": seed,
    }
    policy = make_policy("asr-only", "matched")
    plan = Plan(read_release(release), (), release.parent / "runs", policy, None, orders)
    effective = load_settings(release, flags)
    opened = evaluations(plan, [model], effective, load_cards(), asyncio.Event(), mode)
    async with opened as found:
        for evaluation in found:
            await evaluation.finish()
    return found


def says(choose: Callable[[dict[str, str], str], str | list[str]]) -> Callable[[Call], str]:
    """Return a model that answers by the texts it is shown by letter, and the format."""

    def reply(call: Call) -> str:
        lines = dict(re.findall(r"^([A-Z])\. (.+)$", call.user, re.MULTILINE))
        form = re.search(r"^Format: (\w+)", call.user, re.MULTILINE)[1]
        answer = choose(lines, form) if lines else "hold the ladder"
        return json.dumps({"answer": answer} | dict.fromkeys("GWNTSAMR"))

    return reply


def by_text(lines: dict[str, str], form: str) -> str | list[str]:
    if form == "single":
        return next(letter for letter, text in lines.items() if text == "hold the ladder")
    return [letter for letter, text in lines.items() if text in RIGHT]


def first_place(lines: dict[str, str], form: str) -> str | list[str]:
    return "A" if form == "single" else ["A", "B"]


def rows(folder: Path) -> dict[str, dict]:
    lines = (folder / "responses.jsonl").read_text().splitlines()
    return {row["item_id"]: row for row in map(json.loads, lines)}


@st.composite
def questions(draw: st.DrawFn) -> QuestionRow:
    ids = draw(st.lists(st.sampled_from("ABCDEF"), min_size=2, max_size=6, unique=True))
    row = question(draw(st.integers(0, 99)), Capability.GROUNDING, Format.MULTIPLE)
    options = tuple(Option(id=name, text=f"text {name}") for name in ids)
    return row.model_copy(update={"options": options})


@given(questions(), st.integers(0, 30), st.integers(0, 3))
def test_orders_are_permutations_and_read_back(row: QuestionRow, number: int, seed: int) -> None:
    ids = [option.id for option in row.options]
    orders = [option_order(row, each, seed) for each in range(number + 1)]
    assert orders[0] == tuple(ids)
    assert len(set(orders)) == min(number + 1, math.factorial(len(ids)))
    assert all(sorted(order) == sorted(ids) for order in orders)
    order = orders[-1]
    shown = shown_question(row, order)
    assert [option.text for option in shown.options] == [f"text {name}" for name in order]
    for name in ids:
        letter = as_shown(name, row, order)
        assert next(o.text for o in shown.options if o.id == letter) == f"text {name}"
        assert as_released(letter, row, order) == name
    assert as_released(as_shown(sorted(ids), row, order), row, order) == sorted(ids)
    if order != orders[0]:
        assert [option.id for option in shown.options] == list("ABCDEF"[: len(ids)])


def test_open_questions_have_one_order_and_keep_their_answers() -> None:
    row = question(0, Capability.GROUNDING, Format.OPEN)
    assert option_order(row, 3, 42) == ()
    assert as_released("A", row, ()) == "A"
    assert shown_question(row, ()) == row


async def test_every_order_is_asked_of_choice_items_and_recorded(release: Path) -> None:
    with ModelServer(says(by_text)) as server:
        found = await evaluated(release, server)
        hashes = {call.hash for call in server.calls}
        calls = list(server.calls)
    own = read_release(release).questions
    choice = {name for name, row in own.items() if row.format.is_choice}
    assert len(calls) == len(hashes) == ITEMS + (ORDERS - 1) * len(choice)
    orders = {name: set() for name in choice}
    for number, evaluation in enumerate(found):
        manifest = read_manifest(evaluation.folder, any_order=True)
        assert manifest.policy.order == number
        assert manifest.condition == "asr-only" + (f"+order-{number}:42" if number else "")
        asked = rows(evaluation.folder)
        assert asked.keys() == (choice if number else own.keys())
        for name in choice:
            order = asked[name]["sent"]["option_order"]
            orders[name].add(tuple(order))
            raw = json.loads(asked[name]["raw"])["answer"]
            given = sorted(order["ABCD".index(letter)] for letter in raw)
            # The answer is in the release's ids whatever was shown; the reply stays as it came.
            assert given == sorted(asked[name]["answer"])
            assert set(given) <= {"A", "B"}
    assert all(len(seen) == ORDERS for seen in orders.values())
    shown = [re.findall(r"^[A-Z]\. .+$", call.user, re.MULTILINE) for call in calls]
    assert all([line[0] for line in lines] in ([], list("ABCD")) for lines in shown)


async def test_a_model_that_reads_does_not_move_and_one_that_does_not_does(tmp_path: Path) -> None:
    spreads = {}
    for choose in (by_text, first_place):
        release = make_release(tmp_path / choose.__name__ / "release", 48)
        with ModelServer(says(choose)) as server:
            folder = (await evaluated(release, server))[0].folder
        spreads[choose] = spread_of_folder(folder)
    reads, guesses = spreads[by_text], spreads[first_place]
    assert (reads.overall.mean, reads.overall.sd, reads.overall.flips) == (1, 0, 0)
    assert all(one.answers == one.references for one in reads.positions.values())
    assert (guesses.overall.max, guesses.overall.flips) == (1, 1)
    assert guesses.overall.sd > 0.3
    assert guesses.positions["A"].answers > 0.5 > guesses.positions["A"].references
    assert {"C", "D"} <= guesses.positions.keys()
    assert guesses.positions["D"].answers == 0
    assert sum(one.answers for one in guesses.positions.values()) == pytest.approx(1)
    assert guesses.overall.n + guesses.open_items == 48


async def test_orders_resume_extend_and_are_pinned(release: Path) -> None:
    def fault(call: Call) -> str | None:
        return "rejected" if call.number % 7 == 3 else None

    with ModelServer(says(by_text), fault=fault) as server:
        found = await evaluated(release, server, orders=2)
    folder = found[0].folder
    missing = sum(row["outcome"] == "api_error" for e in found for row in rows(e.folder).values())
    assert missing
    spread = spread_of_folder(folder)
    assert spread.unscored
    assert spread.overall.mean is None
    with pytest.raises(ScoringError, match=f"{spread.unscored} items"):
        refuse_unasked([None, spread])
    with ModelServer(says(by_text)) as server:
        with pytest.raises(RunError, match="holds a run"):
            await evaluated(release, server, orders=2)
        await evaluated(release, server, "resume", orders=2)
        assert server.count() == missing
        before = (folder / "orders" / "1" / "responses.jsonl").read_bytes()
        await evaluated(release, server, "resume", orders=3)
        choice = spread_of_folder(folder).overall.n
        assert server.count() == missing + choice
        await evaluated(release, server, "resume", orders=3)
        assert server.count() == missing + choice
        assert (folder / "orders" / "1" / "responses.jsonl").read_bytes() == before
        with pytest.raises(RunError, match="policy was"):
            await evaluated(release, server, "resume", orders=3, seed=7)
        fresh = await evaluated(release, server, "fresh", orders=2)
    assert len(order_folders(folder)) == 3
    assert len(order_folders(fresh[0].folder)) == 2


async def test_no_other_verb_takes_an_order_for_a_model(release: Path) -> None:
    (first, second) = await evaluated(release, model="random", orders=2)
    with pytest.raises(RunError, match="option order 1"):
        score_folder(second.folder)
    with pytest.raises(RunError, match="option order 1"):
        read_runs([second.folder], load_cards())
    with pytest.raises(RunError, match="option order 1"):
        async with judging(
            second.folder, "judge", 1, load_settings(release, {}), load_cards(), asyncio.Event()
        ):
            pass
    with pytest.raises(ScoringError, match="another option order"):
        score_files(release, second.folder / "responses.jsonl", None)
    assert score_files(release, first.folder / "responses.jsonl", None)[0].model == "random"
    run(release.parent, "compare", str(first.folder), str(second.folder), expect=1)


def test_the_command_line_prints_and_scores_the_spread(release: Path) -> None:
    where, out = release.parent, release.parent / "runs"
    words = ("--model", "random", "--model", "longest-option", "--permute", "3", "--out", str(out))
    printed = run(where, "evaluate", str(release), *words).stdout
    assert "3 option orders" in printed
    assert "open items were asked once" in printed
    scored = run(where, "score", *map(str, sorted(out.iterdir())), "--allow-unscored", "--json")
    longest, random = json.loads(scored.stdout)["runs"]
    assert (longest["model"], random["model"]) == ("longest-option", "random")
    shown = longest["option_orders"]
    assert (shown["orders"], shown["sd"], shown["flips"]) == (3, 0, 0)
    assert shown["n"] == sum(one["n"] for one in shown["capabilities"].values())
    assert random["option_orders"]["flips"] > 0
    # A release without its private part is evaluated all the same.
    for file in (release / "private").iterdir():
        file.unlink()
    fresh = ("--model", "random", "--permute", "2", "--out", str(out), "--fresh")
    assert "No spread" in run(where, "evaluate", str(release), *fresh).stdout


async def test_baselines_see_what_is_shown(tmp_path: Path) -> None:
    release = make_release(tmp_path / "release", 600)
    found = {}
    for model in ("random", "majority-position", "longest-option"):
        folder = (await evaluated(release, model=model, orders=3))[0].folder
        manifests = [read_manifest(each, any_order=True) for each in order_folders(folder)]
        found[model] = spread_of_folder(folder), manifests
    chance = found["random"][1][1].chance
    spread = found["random"][0].overall
    assert spread.mean == pytest.approx(chance, abs=0.03)
    # Independent draws: an item whose letter never moved would flip with its order alone.
    assert spread.flips == pytest.approx(1 - chance**3 - (1 - chance) ** 3, abs=0.08)
    assert found["longest-option"][0].overall.flips == 0
    majority = found["majority-position"][0].overall
    # In the release's order the first options are always right; in others no position is.
    assert majority.max == 1
    assert majority.min < 0.35


def response(name: str, answer: str | None, outcome: Outcome = Outcome.OK) -> Response:
    reason = None if outcome is Outcome.OK else str(outcome)
    facts = {"item_id": name, "model": "m", "condition": "c", "answer": answer, "reason": reason}
    return Response(outcome=outcome, **facts)


def test_a_spread_by_hand(release: Path) -> None:
    """Of two items, right: 2, 1 and 0 in three orders; one failure is the model's own."""
    loaded = read_release(release)
    one, other = [n for n, row in loaded.questions.items() if row.format is Format.SINGLE][:2]
    own, turned = ("A", "B", "C", "D"), ("D", "C", "B", "A")
    refused = response(other, None, Outcome.REFUSAL)
    orders = [
        {one: Shown(response(one, "A"), own), other: Shown(response(other, "A"), own)},
        {one: Shown(response(one, "A"), turned), other: Shown(response(other, "D"), turned)},
        {one: Shown(response(one, "B"), turned), other: Shown(refused, turned)},
    ]
    spread = spread_of("m", loaded, orders)
    assert spread.overall.model_dump() == {
        "n": 2, "mean": 0.5, "min": 0.0, "max": 1.0, "sd": stdev([1.0, 0.5, 0.0]), "flips": 1.0,
    }  # fmt: skip
    # Shown: A, A in the first order; D, A and C in the turned one, where the right letter is D.
    shares = {letter: (p.answers, p.references) for letter, p in spread.positions.items()}
    assert shares == {"A": (0.6, 0.4), "C": (0.2, 0.0), "D": (0.2, 0.6)}
    orders[2][other] = Shown(response(other, None, Outcome.API_ERROR), ())
    spread = spread_of("m", loaded, orders)
    assert spread.unscored == 1
    assert spread.overall.mean is None
    assert spread.capabilities[loaded.questions[one].capability].mean == pytest.approx(2 / 3)
    assert spread_json(None) == {}


async def test_the_report_shows_the_spread(release: Path) -> None:
    alone = (await evaluated(release, model="longest-option", orders=1))[0].folder
    found = (await evaluated(release, model="random", orders=3))[0].folder
    loaded, runs = read_runs([alone, found], load_cards())
    assert [one.spread is None for one in runs] == [True, False]
    page = write_report(loaded, runs, release.parent / "page", draws=50)
    assert 'id="orders"' in page.read_text()
    table = (page.parent / "tables" / "option-orders.md").read_text()
    assert "| random (full) | 3 |" in table
    assert len((page.parent / "tables" / "leaderboard.csv").read_text().splitlines()) == 3
    page = write_report(loaded, runs[:1], release.parent / "plain", draws=50)
    assert 'id="orders"' not in page.read_text()
    assert not (page.parent / "tables" / "option-orders.md").exists()
