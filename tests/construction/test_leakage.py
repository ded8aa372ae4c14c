"""The leakage filter: an exact table, trials paid once, and what a leak does."""

import asyncio
import base64
import io
import itertools
import json
import re
import wave
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from construction.costs import read_costs
from construction.endpoints import Spending
from construction.footage import frames_at
from construction.leakage.asking import Manner, Prober, ProbeReply
from construction.leakage.decision import (
    TRIALS,
    Decision,
    at_least,
    chance,
    decide,
    expected_trials,
    removed_by_guessing,
    threshold,
)
from construction.leakage.estimate import estimate_leakage
from construction.leakage.filtering import Verdict, filtering, schedule
from construction.leakage.items import read_items
from construction.leakage.models import Wanted, kinship
from construction.leakage.probes import FOOTAGE, Probe, view
from construction.leakage.report import LeakageReport, read_report
from construction.workspace import DEMO_KEY, Workspace
from psychemme.cli.costs import budget_note
from psychemme.cli.main import app as cli
from psychemme.clients.cards import Cards, ModelCard, load_cards
from psychemme.clients.protocol import Parameters
from psychemme.clients.scripted import ScriptedClient
from psychemme.clients.size import TOKENS_PER_AUDIO_SECOND
from psychemme.config import load_settings
from psychemme.errors import ConfigError, EndpointError, RunError, Stopped
from psychemme.items import Answer, Cue, KeyPoint, Option, Proposal, Question, Reference
from psychemme.media.blobs import BlobStore
from psychemme.vocabulary import CandidateState, Capability, Format, GateOutcome, SetKind
from state.address import Address
from state.gates import GateStore
from state.leakage import LeakageStore
from state.review_desk import ReviewDesk
from state.review_values import GateRecord
from state.runs import RunStore
from state.stores import QuestionStore
from state.values import CandidateTarget, Frame
from tests.support.accepted import make_accepted
from tests.support.crashes import contents
from tests.support.model_server import Call, ModelServer
from tests.support.states import make_state, target
from tests.support.verbs import verb

MODELS = ("one", "other")
FILTER = Wanted(MODELS)
RIGHT = "the right one"


# --- The decision


@pytest.mark.parametrize("right", range(TRIALS + 1))
def test_four_options_leak_with_four_of_six(right: int) -> None:
    """MMHBench, Section 3.5."""
    decision = decide(right, 0, 0, threshold(Format.SINGLE, 4))
    assert decision is (Decision.LEAKS if right >= 4 else Decision.PASSES)


HAND_WORKED = {
    # options: (threshold, its tail, the tail of one less), in sixths powers worked by hand
    2: (6, Fraction(1, 64), Fraction(7, 64)),
    3: (5, Fraction(13, 729), Fraction(73, 729)),
    4: (4, Fraction(154, 4096), Fraction(694, 4096)),
    5: (4, Fraction(265, 15625), Fraction(1545, 15625)),
    6: (4, Fraction(406, 46656), Fraction(2906, 46656)),
    7: (3, Fraction(4897, 117649), Fraction(24337, 117649)),
}


@pytest.mark.parametrize("options", HAND_WORKED)
def test_the_threshold_is_the_fewest_that_guessing_seldom_reaches(options: int) -> None:
    needed, tail, before = HAND_WORKED[options]
    assert threshold(Format.SINGLE, options) == needed
    assert at_least(needed, TRIALS, Fraction(1, options)) == tail <= Fraction(1, 20)
    assert at_least(needed - 1, TRIALS, Fraction(1, options)) == before > Fraction(1, 20)
    assert removed_by_guessing(Format.SINGLE, options) == tail


@pytest.mark.parametrize(("options", "luck", "needed"), [(3, 7, 3), (4, 15, 3), (5, 31, 2)])
def test_multiple_counts_the_exact_set(options: int, luck: int, needed: int) -> None:
    assert chance(Format.MULTIPLE, options) == Fraction(1, luck)
    assert threshold(Format.MULTIPLE, options) == needed


def test_the_tails_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for n, k in itertools.product(range(2, 12), range(TRIALS + 1)):
        exact = float(at_least(k, TRIALS, Fraction(1, n)))
        assert exact == pytest.approx(stats.binom.sf(k - 1, TRIALS, 1 / n), abs=1e-12)


def test_one_option_and_open_questions() -> None:
    assert threshold(Format.SINGLE, 1) > TRIALS
    assert (chance(Format.OPEN, 0), threshold(Format.OPEN, 0)) == (None, 4)
    assert removed_by_guessing(Format.OPEN, 0) is None


@pytest.mark.parametrize("needed", range(1, TRIALS + 1))
def test_stopping_early_changes_no_decision(needed: int) -> None:
    """It stops as soon as no rest of the trials could change the decision, and not before."""
    for trials in itertools.product([True, False, None], repeat=TRIALS):
        for asked in range(TRIALS + 1):
            seen, left = trials[:asked], TRIALS - asked
            right, failed = seen.count(True), seen.count(None)
            found = decide(right, failed, left, needed)
            ends = {decide(right + more, failed, 0, needed) for more in range(left + 1)}
            if found is not None:
                assert ends == {found}
                break
            assert left > 0
            assert len(ends) > 1


def test_expected_trials_are_those_of_all_sequences() -> None:
    luck, needed = Fraction(1, 4), 4
    total = Fraction(0)
    for trials in itertools.product([True, False], repeat=TRIALS):
        weight = Fraction(1)
        for hit in trials:
            weight *= luck if hit else 1 - luck
        asked = next(n for n in range(TRIALS + 1) if decide(sum(trials[:n]), 0, TRIALS - n, needed))
        total += weight * asked
    assert expected_trials(luck, needed) == total
    assert 3 < float(total) < 4


# --- A workspace with items, and models that know some of them


def item(
    name: str, form: Format = Format.SINGLE, options: int = 4, pick: int = 0
) -> tuple[CandidateTarget, Proposal]:
    capability = [Capability.GROUNDING, Capability.NEED][pick % 2]
    texts = [RIGHT if n == 1 else f"option {n}" for n in range(options)]
    if form is Format.MULTIPLE:
        texts[2] = f"{RIGHT} too"
    letters = "ABCDEFGH"
    right: dict[Format, Answer] = {
        Format.SINGLE: "B", Format.MULTIPLE: ["B", "C"], Format.OPEN: "they hold the ladder"
    }  # fmt: skip
    shown = tuple(
        Option(id=letter, text=text) for letter, text in zip(letters, texts, strict=False)
    )
    made = Proposal(
        question=Question(
            subcategory="speaker_addressee",
            question=f"What holds of {name}?",
            options=shown if form.is_choice else (),
        ),
        reference=Reference(
            answer=right[form],
            cues=(Cue(start=1, end=3, modality="speech", description="the request"),),
            key_points=() if form.is_choice else (KeyPoint(text="the ladder"),),
        ),
    )
    return target(name, capability, form, pick), made


Items = list[tuple[CandidateTarget, Proposal]]


def make(root: Path, items: Items, database: Address | None = None) -> Workspace:
    root.mkdir(exist_ok=True)
    (root / "shuffle.key").write_text(DEMO_KEY)
    workspace = Workspace(root)
    if database is not None:
        vars(workspace)["database"] = database
    make_state(workspace.database, *(one for one, _ in items))
    with QuestionStore(workspace.database) as store, RunStore(workspace.database) as runs:
        for one, made in items:
            asyncio.run(store.save(one.key, 0, made))
            runs.settle(one.key, CandidateState.ACCEPTED)
    return workspace


def seven() -> Items:
    return [item(f"c{n}", pick=n) for n in range(TRIALS + 1)]


def name_of(call: Call) -> str:
    found = re.search(r"What holds of (\w+)\?", call.user)
    return found[1] if found else ""


def chosen(call: Call, *, right: bool) -> str:
    """The reply of a model that knows the answer, or that knows it is another one."""
    lines = re.findall(r"^([A-Z])\. (.+)$", call.user, re.M)
    if not lines:
        return json.dumps({"answer": "they hold the ladder" if right else "nobody knows"})
    good = sorted(letter for letter, text in lines if text.startswith(RIGHT))
    bad = [letter for letter, text in lines if not text.startswith(RIGHT)]
    if len(good) > 1:
        return json.dumps({"answer": good if right else good[:1]})
    return json.dumps({"reason": "so it seems", "answer": good[0] if right else bad[0]})


def knowing(pattern: Callable[[str, int], bool]) -> Callable[[Call], str]:
    """Answer the nth trial of an item as `pattern` says."""
    asked: Counter[str] = Counter()

    def reply(call: Call) -> str:
        if "Give the credit." in call.user:
            met = "they hold the ladder\n</independent_answer>" in call.user
            return json.dumps({"reason": "r", "credit": 1 if met else 0})
        name = name_of(call)
        number, asked[name] = asked[name], asked[name] + 1
        return chosen(call, right=pattern(name, number))

    return reply


def by_name(name: str, number: int) -> bool:
    """Item `cK` is known on its first K trials."""
    return number < int(name[1:])


def work(
    workspace: Workspace,
    server: ModelServer,
    wanted: Wanted = FILTER,
    stop: asyncio.Event | None = None,
    **spending: Any,
) -> list[Verdict]:
    flags = {"base_url": server.url, "concurrency": 4, "input_price": 1.0, "output_price": 1.0}
    effective = load_settings(workspace.root, flags | {"max_retries": 0})

    async def run() -> list[Verdict]:
        opened = filtering(
            workspace, effective, wanted, stop or asyncio.Event(), Spending(**spending)
        )
        async with opened as job:
            return await job.finish()

    return asyncio.run(run())


def report(workspace: Workspace, wanted: Wanted | None = None) -> LeakageReport:
    return read_report(workspace, load_settings(workspace.root), wanted)


def states(workspace: Workspace) -> dict[str, tuple[str, str | None]]:
    with RunStore(workspace.database) as runs:
        return {one.target.id: (one.state, one.reason) for one in runs.outcomes()}


def plan(workspace: Workspace, action: str) -> Path:
    path = workspace.root / "gates.yaml"
    targets = "[{capability: G, format: single, count: 1}]"
    path.write_text(f"total: 1\ntargets: {targets}\ngates: {{leakage: {action}}}\n")
    return path


def test_the_table_is_exact_and_stops_early(tmp_path: Path, address: Address) -> None:
    workspace = make(tmp_path / "w", seven(), address)
    with ModelServer(knowing(by_name)) as server:
        found = work(workspace, server)
        asked = Counter(map(name_of, server.calls))
    decisions = {verdict.key: verdict.decision for verdict in found}
    assert decisions == {
        f"1-c{n}": Decision.LEAKS if n >= 4 else Decision.PASSES for n in range(TRIALS + 1)
    }
    # Three wrong ones settle it, and so do four right ones.
    assert asked == {"c0": 3, "c1": 4, "c2": 5, "c3": 6, "c4": 4, "c5": 4, "c6": 4}
    with GateStore(workspace.database) as gates:
        outcomes = {key: records[0].outcome for key, records in gates.found().items()}
    assert outcomes == {
        key: GateOutcome.WARN if decision is Decision.LEAKS else GateOutcome.PASSED
        for key, decision in decisions.items()
    }
    assert {state for state, _ in states(workspace).values()} == {CandidateState.ACCEPTED}


def test_models_take_turns_and_see_no_footage(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c3")])
    with ModelServer(knowing(by_name)) as server:
        work(workspace, server)
    assert [call.body["model"] for call in server.calls] == [*MODELS] * 3
    assert schedule(MODELS) == tuple((m, t) for t in range(3) for m in MODELS)
    for call in server.calls:
        assert isinstance(call.body["messages"][1]["content"], str)
        assert "ladder for me" not in call.user
        assert "Two people at a table" not in call.user
        assert "the request" not in call.user
    with LeakageStore(workspace.database) as store:
        orders = {(held.model, held.order) for held in store.calls()}
    assert len(orders) == 6


def test_the_order_of_options_does_not_follow_from_what_they_say(tmp_path: Path) -> None:
    one = make(tmp_path / "one", [item("c3")])
    target_, made = item("c3")
    assert made.question is not None
    worded = tuple(
        option.model_copy(update={"text": option.text + "!"}) for option in made.question.options
    )
    changed = made.model_copy(
        update={"question": made.question.model_copy(update={"options": worded})}
    )
    other = make(tmp_path / "other", [(target_, changed)])
    held = []
    for workspace in (one, other):
        with ModelServer(knowing(by_name)) as server:
            work(workspace, server)
        with LeakageStore(workspace.database) as store:
            held.append([call.order for call in store.calls()])
    assert held[0] == held[1]


def test_a_plan_that_blocks_gates_the_candidate(tmp_path: Path, address: Address) -> None:
    workspace = make(tmp_path / "w", [item("c2"), item("c5", pick=1)], address)
    flags = {"plan": plan(workspace, "block")}
    with ModelServer(knowing(by_name)) as server:
        effective = load_settings(workspace.root, flags | {"base_url": server.url})

        async def run() -> None:
            opened = filtering(workspace, effective, Wanted(MODELS), asyncio.Event(), Spending())
            async with opened as job:
                await job.finish()

        asyncio.run(run())
        calls = server.count()
        asyncio.run(run())
        assert server.count() == calls
    reason = "leakage: 4 of 4 trials right without the footage; 4 of 6 leak"
    assert states(workspace) == {
        "c2": (CandidateState.ACCEPTED, None),
        "c5": (CandidateState.GATED, reason),
    }


def test_a_plan_may_turn_it_off(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c2")])
    effective = load_settings(workspace.root, {"plan": plan(workspace, "off")})
    with pytest.raises(RunError, match="no accepted candidate"):
        estimate_leakage(workspace, effective, Wanted(MODELS))


FORMS = [
    (Format.SINGLE, 2, 6), (Format.SINGLE, 3, 5), (Format.SINGLE, 4, 4), (Format.MULTIPLE, 4, 3),
    (Format.MULTIPLE, 5, 2), (Format.OPEN, 0, 4),
]  # fmt: skip


@pytest.mark.parametrize(("form", "options", "needed"), FORMS)
def test_every_format_leaks_at_its_threshold(
    tmp_path: Path, form: Format, options: int, needed: int
) -> None:
    names = (f"c{needed - 1}", f"c{needed}")
    items = [item(name, form, options, pick) for pick, name in enumerate(names)]
    workspace = make(tmp_path / "w", items)
    with ModelServer(knowing(by_name)) as server:
        found = work(workspace, server, Wanted(MODELS, judge="judge"))
    assert [verdict.decision for verdict in found] == [Decision.PASSES, Decision.LEAKS]
    if form is Format.OPEN:
        judged = [call for call in server.calls if call.body["model"] == "judge"]
        assert len(judged) == sum(verdict.asked for verdict in found)


def test_open_items_are_not_run_without_a_judge(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c6", Format.OPEN)])
    with ModelServer(knowing(by_name)) as server:
        (verdict,) = work(workspace, server)
        assert server.count() == 0
    assert verdict.decision is None
    assert report(workspace).not_run == 1
    with GateStore(workspace.database) as gates:
        assert gates.found() == {}


def test_what_nobody_can_read_is_no_wrong_answer(tmp_path: Path) -> None:
    """An unreadable reply leaves the item undecided where it matters, and is asked once more."""
    workspace = make(tmp_path / "w", [item("c3"), item("c0", pick=1)])
    broken = [True]

    def reply(call: Call) -> str:
        is_one = call.body["model"] == "one"
        if is_one and broken[0]:
            return "I would rather not say."
        return chosen(call, right=name_of(call) == "c3")

    with ModelServer(reply) as server:
        found = {verdict.key: verdict for verdict in work(workspace, server)}
        assert found["1-c3"].decision is Decision.UNDECIDED
        assert (found["1-c3"].right, found["1-c3"].failed) == (2, 3)
        # Three unreadable ones and three wrong ones cannot become four right ones.
        assert found["1-c0"].decision is Decision.PASSES
        with GateStore(workspace.database) as gates:
            assert set(gates.found()) == {"1-c0"}
        calls, broken[0] = server.count(), False
        estimated = estimate_leakage(workspace, load_settings(workspace.root), Wanted(MODELS))
        found = {verdict.key: verdict for verdict in work(workspace, server)}
        assert found["1-c3"].decision is Decision.LEAKS
        assert server.count() - calls <= estimated.calls == 4


# --- Killed, resumed, estimated


def test_a_run_that_fails_goes_on_where_it_was(tmp_path: Path, address: Address) -> None:
    whole = make(tmp_path / "whole", seven())
    with ModelServer(knowing(by_name)) as server:
        expected = work(whole, server)
        all_calls = server.count()
    workspace = make(tmp_path / "w", seven(), address)
    fails = {3, 9, 15}
    with ModelServer(
        knowing(by_name), fault=lambda call: "broken" if call.number in fails else None
    ) as server:
        for _ in fails:
            with pytest.raises(EndpointError):
                work(workspace, server, cache=False)
        found = work(workspace, server, cache=False)
    assert found == expected
    with LeakageStore(workspace.database) as store:
        assert len(store.calls()) == all_calls
        assert len(store.runs("leakage")) == 1


@pytest.mark.parametrize("calls", [9, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 20))])
def test_a_killed_run_pays_nothing_twice(
    tmp_path: Path,
    address: Address,
    calls: int,
) -> None:
    from tests.support import postgres

    workspace = make(tmp_path / "w", seven(), address)
    extra: dict[str, Any] = {}
    if not isinstance(address, Path):
        extra = postgres.environment(address)
    if isinstance(address, Path):
        (workspace.root / "state.db").symlink_to(address)
    with ModelServer(knowing(by_name), delay=0.02) as server:
        words = ("leakage", "--models", ",".join(MODELS), "--base-url", server.url, "--no-cache")
        with verb(workspace.root, *words, "--concurrency", "2", **extra) as running:
            while server.count() < calls:
                assert running.process.exitcode is None, running.said
            running.process.kill()
            running.process.join()
        with LeakageStore(workspace.database) as store:
            kept = len(store.calls())
        before = server.count()
        with verb(workspace.root, *words, "--json", **extra) as running:
            assert running.wait() == 0, running.said
        after = server.count() - before
    with LeakageStore(workspace.database) as store:
        assert len(store.calls()) == kept + after
    assert before - kept <= 2
    hashes = Counter(call.hash for call in server.calls)
    assert sum(n - 1 for n in hashes.values()) == before - kept


def test_it_costs_what_was_estimated(tmp_path: Path) -> None:
    items = [*seven(), item("c7", Format.MULTIPLE, 5, 7), item("c8", Format.OPEN, 0, 8)]
    workspace = make(tmp_path / "w", items)
    wanted = Wanted(MODELS, judge="judge", hold_out="third", more=True, cues="third-eye")
    settings = load_settings(
        workspace.root, {"input_price": 1.0, "output_price": 1.0, "max_output_tokens": 64}
    )
    estimated = estimate_leakage(workspace, settings, wanted)
    with ModelServer(knowing(lambda *_: True)) as server:
        work(workspace, server, wanted)
        asked = Counter(call.body["model"] for call in server.calls)
        bounds = {one.model: one.calls for one in estimated.models}
        assert set(asked) == set(bounds)
        assert all(asked[model] <= bounds[model] for model in bounds), (asked, bounds)
        again = estimate_leakage(workspace, load_settings(workspace.root), wanted)
        assert (again.calls, again.expected) == (0, 0.0)
        work(workspace, server, wanted)
        assert server.count() == asked.total()
    costs = read_costs(workspace.database, 1).to_json()
    assert costs["totals"]["calls"] == asked.total()
    assert costs["totals"]["cost"] == pytest.approx(asked.total() * 120e-6)


def test_a_judge_is_estimated_by_what_it_reads_and_that_is_no_footage(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0", Format.OPEN, 0, 0)])
    effective = load_settings(workspace.root)

    def of_judge(**more: object) -> tuple[int, int]:
        wanted = Wanted(MODELS, judge="judge", **more)
        found = {one.model: one for one in estimate_leakage(workspace, effective, wanted).models}
        return found["judge"].calls, found["judge"].input_tokens

    calls, tokens = of_judge()
    more, with_footage = of_judge(cues="eye")
    assert (calls, more) == (TRIALS, TRIALS + 3)
    assert with_footage / more == tokens / calls < 1000


def test_the_expected_calls_are_those_of_guessing(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", seven())
    estimated = estimate_leakage(workspace, load_settings(workspace.root), Wanted(MODELS))
    assert estimated.calls == 7 * TRIALS
    assert estimated.expected == pytest.approx(7 * float(expected_trials(Fraction(1, 4), 4)))
    with ModelServer(knowing(lambda *_: False)) as server:
        work(workspace, server)
        assert server.count() == 7 * 3


def test_a_budget_stops_it_and_more_lets_it_go_on(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", seven())
    with ModelServer(knowing(by_name)) as server:
        with pytest.raises(Stopped, match="budget"):
            work(workspace, server, budget=5 * 120e-6)
        assert server.count() < 5 + 4
        found = work(workspace, server, budget=1.0)
    assert all(verdict.decision for verdict in found)


def test_a_budget_over_calls_of_unknown_cost_is_refused(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with ModelServer(knowing(by_name)) as server:
        effective = load_settings(workspace.root, {"base_url": server.url})

        async def run() -> None:
            opened = filtering(workspace, effective, FILTER, asyncio.Event(), Spending())
            async with opened as job:
                await job.finish()

        asyncio.run(run())
        with pytest.raises(ConfigError) as refused:
            work(workspace, server, budget=1.0)
    assert (refused.value.problem, refused.value.action) == (
        "What earlier calls here cost is unknown, so that no budget can be kept.",
        "Leave out --budget.",
    )


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (1.0, 0.1, "The budget of $1.00 suffices: $0.1000 spent, $0.2000 expected, $0.5000 at"),
        (0.5, 0.1, "The budget of $0.5000 may not suffice"),
        (0.25, 0.1, "The budget of $0.2500 does not suffice"),
        (1.0, None, "No budget can be kept"),
    ],
)
def test_a_dry_run_says_whether_the_budget_will_do(
    budget: float, spent: float | None, said: str
) -> None:
    assert budget_note(budget, spent, 0.2, 0.5).startswith(said)


# --- Models


@pytest.mark.parametrize(
    ("models", "hold_out", "said"),
    [
        (("one",), None, "takes two models"),
        (("one", "two", "three"), None, "takes two models"),
        (("one", "ONE"), None, "are one model"),
        (("signal", "one"), None, "no language model"),
        (("one", "other"), "other", "has filtered"),
    ],
)
def test_unfit_models_are_refused(
    tmp_path: Path, models: tuple[str, ...], hold_out: str | None, said: str
) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with pytest.raises(ConfigError, match=said):
        estimate_leakage(workspace, load_settings(workspace.root), Wanted(models, None, hold_out))


def test_aliases_of_one_card_are_one_model(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    card = next(card for card in load_cards().all if card.aliases)
    with pytest.raises(ConfigError, match="are one model"):
        estimate_leakage(
            workspace, load_settings(workspace.root), Wanted((card.name, card.aliases[0]))
        )


def test_a_model_that_once_filtered_is_no_hold_out(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with ModelServer(knowing(by_name)) as server:
        work(workspace, server)
        with pytest.raises(ConfigError, match="'one' has filtered"):
            work(workspace, server, Wanted(("third", "fourth"), hold_out="one"))


def test_a_filter_that_is_an_agent_is_named() -> None:
    cards = Cards(
        tuple(ModelCard(name=name, family=family) for name, family in
              (("a", "x"), ("b", "x"), ("c", "y"), ("d", "unknown"), ("e", "unknown")))
    )  # fmt: skip
    agents = {"question of run 1": "a", "critic of run 1": "e"}
    assert kinship(("a", "c"), agents, cards) == (
        "a filters and is also an agent: question of run 1.",
    )
    assert kinship(("b", "d"), agents, cards) == ("b filters and is of the family of a.",)


# --- Reports


def test_the_report_tells_what_the_filter_achieved(tmp_path: Path) -> None:
    items = [item(f"c{6 * (n < 6)}x{n}", pick=n) for n in range(20)]
    workspace = make(tmp_path / "w", items)

    def reply(call: Call) -> str:
        return chosen(call, right=name_of(call).startswith("c6"))

    wanted = Wanted(MODELS, hold_out="third", more=True)
    with ModelServer(reply) as server:
        work(workspace, server, wanted)
    found = report(workspace, wanted)
    assert (found.items, found.leaking, found.passing) == (20, 6, 14)
    assert found.expected == pytest.approx(20 * 154 / 4096)
    assert [(r.capability, r.before, r.leaking, r.after) for r in found.composition] == [
        ("G", 10, 3, 7),
        ("N", 10, 3, 7),
    ]
    rows = {(str(row.probe), row.model, row.group): row.share for row in found.probes}
    kept, removed = (rows["question", "third", part] for part in ("kept", "removed"))
    assert (kept.count, kept.of, removed.count, removed.of) == (0, 14, 6, 6)
    assert kept.low == 0.0
    assert kept.high == pytest.approx(0.2153, abs=1e-4)  # Wilson, 0 of 14
    assert removed.expected == 0.25
    for probe, model in itertools.product(("question", "transcript"), MODELS):
        assert (rows[probe, model, "all"].count, rows[probe, model, "all"].of) == (6, 20)
        assert (rows[probe, model, "G"].count, rows[probe, model, "G"].of) == (3, 10)
        assert (probe, model, "kept") not in rows
    assert rows["options", "one", "all"].of == 20
    assert report(workspace).leaking == 6  # The newest filter, without being told its models.


def test_an_open_item_of_a_group_leaves_its_chance_to_be_told(tmp_path: Path) -> None:
    items = [item("c0"), item("c2", pick=2), item("c4", Format.OPEN, 0, 4)]
    workspace = make(tmp_path / "w", [*items, item("c1", Format.OPEN, 0, 1)])
    wanted = Wanted(MODELS, judge="judge", more=True)
    with ModelServer(knowing(lambda *_: True)) as server:
        work(workspace, server, wanted)
    rows = report(workspace, wanted).probes
    expected = {row.group: row.share.expected for row in rows if row.probe == "question"}
    assert expected == {"all": 0.125, "G": pytest.approx(1 / 6), "N": None}


def test_probes_show_what_they_are_named_for(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with ModelServer(lambda call: chosen(call, right=False)) as server:
        work(workspace, server, Wanted(MODELS, more=True), cache=False)
    users = [call.user for call in server.calls]
    assert len(users) == 3 + 2 + 2, "the filter's first trials are the probe's"
    without = [user for user in users if "What holds of" not in user]
    assert len(without) == 2
    assert all(RIGHT in user and "ladder" not in user for user in without)
    spoken = [user for user in users if "Could you hold the ladder for me?" in user]
    assert len(spoken) == 2
    assert all("Two people at a table" not in u and "I like to be asked" not in u for u in spoken)


def test_cues_are_masked_or_left_alone(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with ModelServer(knowing(by_name)) as server:
        work(workspace, server, Wanted(MODELS, cues="third"))
    shown = (call.user for call in server.calls if call.body["model"] == "third")
    said = (
        "Could you hold the ladder",
        "Sure, give me a second",
        "Two people",
        "I like to be asked",
    )
    assert sorted([text in user for text in said] for user in shown) == [
        [False, True, True, True],  # The cue's window is masked.
        [True, False, False, False],  # Nothing but the cue's window.
        [True, True, True, True],
    ]


def test_masks_are_cut_by_the_windows_of_cues(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    blobs = BlobStore(workspace.blobs)
    frames = tuple(Frame(time=float(n), sha256=blobs.put(bytes([n]), ".jpg")) for n in range(6))
    (one,) = read_items(workspace.database)
    cues = [(1.0, 3.0, "visual"), (4.4, 4.5, "prosody"), (0.0, 0.0, "context")]
    given = tuple(Cue(start=a, end=b, modality=m, description="d") for a, b, m in cues)
    changed = {"material": one.material.model_copy(update={"frames": frames}), "cues": given}
    seen = one.model_copy(update=changed)
    shown = {probe: view(seen, probe) for probe in FOOTAGE}
    assert {probe: [f.time for f in v.frames] for probe, v in shown.items() if v} == {
        Probe.WHOLE: [0, 1, 2, 3, 4, 5],
        Probe.MASKED: [0, 4, 5],
        Probe.CUES: [1, 2, 3, 4],
    }
    contexts = [v.episode.public_context for v in shown.values() if v and v.episode]
    assert contexts == ["Two people at a table.", "", "Two people at a table."]
    assert view(one.model_copy(update={"cues": ()}), Probe.MASKED) is None
    client = ScriptedClient("eye", lambda _: ProbeReply(answer="A"))
    with LeakageStore(workspace.database) as store:
        manner = Manner(Parameters(), workspace.secret)
        media = {"eye": frames_at(blobs.path)}
        prober = Prober({"probe:eye": client}, store, manner, media)
        for probe in (*FOOTAGE, Probe.QUESTION):
            asyncio.run(prober.ask(seen, probe, "eye", 0))
    times = [[part.time for part in request.media] for request in client.requests]
    assert times == [[0, 1, 2, 3, 4, 5], [0, 4, 5], [1, 2, 3, 4], []]


def test_a_model_that_takes_sound_hears_what_the_probe_gives(tmp_path: Path) -> None:
    workspace = make_accepted(tmp_path / "w", target("c0"))
    card = "cards:\n  - {name: ear, family: f, native_audio: true}\n"
    (workspace.root / "models.yaml").write_text(card)
    wanted = Wanted(MODELS, cues="ear")
    heard: dict[str, bytes] = {}

    def reply(call: Call) -> str:
        content = call.body["messages"][1]["content"]
        if call.body["model"] == "ear":
            (sound,) = [part for part in content if part["type"] == "input_audio"]
            heard[call.user] = base64.b64decode(sound["input_audio"]["data"])
        else:
            assert isinstance(content, str)
        return json.dumps({"answer": "B"})

    with ModelServer(reply) as server:
        effective = load_settings(workspace.root, {"base_url": server.url})
        without = estimate_leakage(workspace, effective, Wanted(MODELS, cues="eye"))
        estimated = estimate_leakage(workspace, effective, wanted)
        tokens = [{m.model: m.input_tokens for m in e.models} for e in (estimated, without)]
        assert tokens[0]["ear"] == tokens[1]["eye"] + 3 * 20 * TOKENS_PER_AUDIO_SECOND
        work(workspace, server, wanted)
        asked = server.count()
        work(workspace, server, wanted)
        assert (len(heard), server.count()) == (3, asked)
    loud = {}
    for user, data in heard.items():
        with wave.open(io.BytesIO(data)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
            parts = np.array_split(samples[: 20 * file.getframerate()], 20)
        loud[user] = tuple(bool(np.abs(part).max() > 0) for part in parts)
    whole, masked, only = sorted(loud.values(), key=sum, reverse=True)
    assert only == tuple(n in (1, 2) for n in range(20)), "the cue is from 1 to 3 s"
    assert masked == tuple(loud and n not in (1, 2) for n, loud in enumerate(whole))


def test_other_settings_make_new_trials(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", [item("c0")])
    with ModelServer(knowing(by_name)) as server:
        work(workspace, server)
    assert report(workspace).notes == ()
    warmer = load_settings(workspace.root, {"temperature": 1.0})
    (note,) = read_report(workspace, warmer).notes
    assert "No trial is stored" in note
    assert estimate_leakage(workspace, warmer, FILTER).calls == TRIALS


# --- Review


def test_review_takes_over_what_the_gate_found(tmp_path: Path, address: Address) -> None:
    from construction.versions import first_version
    from state.review_values import Changes, SetRecord

    workspace = make(tmp_path / "w", [item("c6")], address)
    with ModelServer(knowing(by_name)) as server:
        work(workspace, server)
        with RunStore(workspace.database) as runs, ReviewDesk(workspace.database) as desk:
            dossier = runs.dossier("1-c6")
            record = SetRecord(name="s", kind=SetKind.REVIEW, reviewers_per_item=1, opened_at=0)
            opened = Changes(sets=(record,), items=(("s", first_version(dossier)),))
            desk.change(lambda _: opened)
            (gate,) = desk.version(("1-c6", 1)).gates
            assert (gate.gate, gate.outcome) == ("leakage", GateOutcome.WARN)
            item_ = desk.version(("1-c6", 1)).item
            edited = item_.model_copy(update={"version": 2, "question": "What holds of c0?"})
            desk.add_version(edited, "curator", "clearer")
        calls = server.count()
        (verdict,) = work(workspace, server)
        assert (verdict.version, verdict.decision) == (2, Decision.PASSES)
        assert server.count() == calls + 3
    with ReviewDesk(workspace.database) as desk:
        (gate,) = desk.version(("1-c6", 2)).gates
        assert gate.outcome is GateOutcome.PASSED


def test_a_gate_result_is_kept_once_and_blocks_only_what_is_accepted(
    tmp_path: Path,
    address: Address,
) -> None:
    workspace = make(tmp_path / "w", [item("c0")], address)
    with GateStore(workspace.database) as gates:
        warned = GateRecord(gate="leakage", outcome=GateOutcome.WARN, detail="d")
        blocked = GateRecord(gate="other", outcome=GateOutcome.BLOCK, detail="why")
        for record in (warned, warned, blocked, blocked):
            gates.record("1-c0", 1, record)
        assert gates.found() == {"1-c0": (warned, blocked)}
        assert states(workspace) == {"c0": (CandidateState.GATED, "other: why")}
        gates.record("1-c0", 1, warned.model_copy(update={"outcome": GateOutcome.BLOCK}))
        assert states(workspace) == {"c0": (CandidateState.GATED, "other: why")}
        gates.record("1-c0", 1, blocked.model_copy(update={"outcome": GateOutcome.PASSED}))
        assert states(workspace) == {"c0": (CandidateState.GATED, "leakage: d")}
        gates.record("1-c0", 1, warned)
        assert states(workspace) == {"c0": (CandidateState.ACCEPTED, None)}
    assert len(contents(workspace.database)["candidate_gates"]) == 5


# --- The command line


def test_the_verb(tmp_path: Path) -> None:
    workspace = make(tmp_path / "w", seven())

    def say(*words: str) -> Any:
        return CliRunner().invoke(cli, ["leakage", "--workspace", str(workspace.root), *words])

    nothing = say()
    assert isinstance(nothing.exception, RunError)
    with ModelServer(knowing(by_name)) as server:
        words = ("--models", "one, other", "--base-url", server.url)
        dry = say(*words, "--dry-run")
        assert dry.exit_code == 0, dry.output
        assert "calls at most 42" in dry.output
        assert server.count() == 0
        done = say(*words, "--json")
        assert done.exit_code == 0, done.output
    shown = say()
    assert "leaking 3 (by guessing 0.26)" in shown.output
    found = json.loads(say("--json").stdout)
    assert (found["items"], found["leaking"], found["models"]) == (7, 3, ["one", "other"])
