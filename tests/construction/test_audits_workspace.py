"""Audits of a workspace: what becomes gated, comes back, is left out of review; files; the page."""

import asyncio
import codecs
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from construction.audits.desk import apply, audit_edit, audit_workspace
from construction.audits.importing import import_items, of_jsonl
from construction.audits.page import write_page
from construction.audits.registry import AUDITS, run_audits
from construction.audits.sources import of_release, of_workspace
from construction.audits.values import AuditSettings
from construction.gates import GatePolicy
from construction.plan import Plan, load_plan
from construction.review import opening
from construction.review.opening import Opening, open_set
from construction.workspace import Workspace
from psychemme.cli.main import app
from psychemme.config import load_settings
from psychemme.errors import ConfigError, ReviewError, UserError
from psychemme.items import Cue, Proposal
from psychemme.vocabulary import CandidateState, GateOutcome, SetKind
from state.gates import GateStore
from state.review_desk import ReviewDesk
from state.runs import RunStore
from state.stores import QuestionStore
from tests.support.accepted import items, make_accepted
from tests.support.releases import make_release
from tests.support.states import make_state, proposal, target

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<script>alert(1)</script>"
ONE = {"targets": [{"capability": "G", "format": "single", "count": 1}], "total": 4}


def with_question(text: str, **reference: object) -> Proposal:
    made = proposal()
    return made.model_copy(
        update={
            "question": made.question.model_copy(update={"question": text}),
            "reference": made.reference.model_copy(update=reference),
        }
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Four candidates: sound, with an e-mail address, with a wide cue, and profane."""
    made = make_accepted(tmp_path / "workspace", *items(1))
    wide = Cue(start=0, end=30, modality="visual", description="all of it")
    proposals = {
        "c1": with_question("Who is at anna@example.org?"),
        "c2": with_question("What is held up first?", cues=(wide,)),
        "c3": with_question("What the fuck is held?"),
    }
    targets = [target(name, pick=n) for n, name in enumerate(proposals, 1)]
    with RunStore(made.database) as runs, QuestionStore(made.database) as store:
        runs.start_batch(targets)
        for one in targets:
            asyncio.run(store.save(one.key, 0, proposals[one.id]))
            runs.settle(one.key, CandidateState.ACCEPTED)
    return made


@pytest.fixture
def uncut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep footage from being cut."""
    monkeypatch.setattr(
        opening, "cut_window", lambda _s, target, *_: target.parent.mkdir(exist_ok=True)
    )


def states(workspace: Workspace) -> dict[str, CandidateState]:
    with RunStore(workspace.database) as runs:
        return {one.target.key: one.state for one in runs.outcomes()}


def reason(workspace: Workspace, key: str) -> str | None:
    with RunStore(workspace.database) as runs:
        return runs.outcome(key).reason


def policy(tmp_path: Path, **gates: str):
    plan = tmp_path / "plan.yaml"
    lines = "\n".join(f"  {name}: {action}" for name, action in gates.items())
    plan.write_text(
        f"total: 4\ntargets:\n  - {{capability: G, format: single, count: 1}}\ngates:\n{lines}\n"
    )
    return plan


def settings(workspace: Workspace, plan: Path):
    return load_settings(workspace.root, {"plan": plan})


def test_gates_are_stored_alike_on_either_engine(address, tmp_path):
    made = Workspace(tmp_path)
    vars(made)["database"] = address
    make_state(address, *items(2))
    with RunStore(address) as runs, QuestionStore(address) as store:
        for name, question in (("1-c0", "What is held?"), ("1-c1", "Who is anna@example.org?")):
            asyncio.run(store.save(name, 0, with_question(question)))
            runs.settle(name, CandidateState.ACCEPTED)
    apply(made, audit_workspace(made))
    apply(made, audit_workspace(made))
    assert states(made) == {"1-c0": CandidateState.ACCEPTED, "1-c1": CandidateState.GATED}
    with GateStore(address) as store:
        found = {one.gate: one for one in store.found()["1-c1"]}
    assert found["personal_data"].outcome is GateOutcome.BLOCK
    assert found["answer_sanity"].detail == "one option is correct; multiple has two or more"


def test_auditing_alone_changes_nothing(workspace):
    audit = audit_workspace(workspace)
    assert audit.blocked == {
        "1-c1": "personal_data: an e-mail address in the question",
        "1-c2": "cue_validity: cue 1 (0.00-30.00 s) is not inside the 20.00 s of the episode",
    }
    assert set(states(workspace).values()) == {CandidateState.ACCEPTED}


def test_applying_gates_what_blocks_and_keeps_every_result(workspace):
    apply(workspace, audit_workspace(workspace))
    assert states(workspace) == {
        "1-c0": CandidateState.ACCEPTED,
        "1-c1": CandidateState.GATED,
        "1-c2": CandidateState.GATED,
        "1-c3": CandidateState.ACCEPTED,
    }
    assert reason(workspace, "1-c1") == "personal_data: an e-mail address in the question"
    with GateStore(workspace.database) as store:
        found = store.found()
    outcomes = {one.gate: one.outcome for one in found["1-c3"]}
    assert outcomes["profanity"] is GateOutcome.WARN
    assert Counter(outcomes.values())[GateOutcome.PASSED] == len(outcomes) - 1
    assert audit_workspace(workspace).blocked == {}


def test_what_a_new_plan_no_longer_blocks_is_accepted_again(workspace, tmp_path):
    apply(workspace, audit_workspace(workspace))
    plan = policy(tmp_path, personal_data="off", profanity="block")
    audit = audit_workspace(workspace, effective=settings(workspace, plan))
    assert audit.released == ("1-c1",)
    apply(workspace, audit)
    assert audit_workspace(workspace, effective=settings(workspace, plan)).released == ()
    assert states(workspace) == {
        "1-c0": CandidateState.ACCEPTED,
        "1-c1": CandidateState.ACCEPTED,
        "1-c2": CandidateState.GATED,
        "1-c3": CandidateState.GATED,
    }


def say(workspace: Workspace, *words: str) -> str:
    done = CliRunner().invoke(app, ["audit", "--workspace", str(workspace.root), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def blocking_openings(tmp_path: Path) -> Path:
    plan = policy(tmp_path, question_openings="block")
    few = "  thresholds: {fewest: 1, opening_words: 1, opening_share: 0.1}\n"
    plan.write_text(plan.read_text() + few)
    return plan


def test_what_an_audit_of_the_set_keeps_out_comes_back(workspace, tmp_path):
    at_once = blocking_openings(tmp_path)
    before = states(workspace)
    assert "4 candidates gated, 0 accepted again." in say(
        workspace, "--apply", "--plan", str(at_once)
    )
    assert set(states(workspace).values()) == {CandidateState.GATED}
    # The plan of the run lets it warn; the first two are kept out by others, too.
    assert "0 candidates gated, 2 accepted again." in say(workspace, "--apply")
    assert "0 candidates gated, 0 accepted again." in say(workspace, "--apply")
    assert {key for key, state in states(workspace).items() if state is before[key]} == {
        "1-c0",
        "1-c3",
    }
    with GateStore(workspace.database) as store:
        rows = {one.gate: one.outcome for one in store.found()["1-c0"]}
    assert rows["question_openings"] is GateOutcome.PASSED
    say(workspace, "--apply", "--plan", str(at_once))
    at_once.write_text(at_once.read_text().replace("opening_share: 0.1", "opening_share: 1"))
    assert "2 accepted again" in say(workspace, "--apply", "--plan", str(at_once))


def test_what_an_audit_of_the_set_blocks_under_review_comes_back(workspace, uncut, tmp_path):
    at_once = blocking_openings(tmp_path)
    open_set(workspace, Opening("main", SetKind.REVIEW, 3), assigned=False)

    def outcome() -> GateOutcome:
        with ReviewDesk(workspace.database) as desk:
            gates = {one.gate: one.outcome for one in desk.version(("1-c0", 1)).gates}
        return gates["question_openings"]

    shown = say(workspace, "--apply", "--plan", str(at_once))
    assert "2 items under review kept out of a release." in shown
    assert outcome() is GateOutcome.BLOCK
    assert "under review" not in say(workspace, "--apply")
    assert outcome() is GateOutcome.PASSED


def test_what_another_gate_took_out_stays_out(workspace):
    with RunStore(workspace.database) as runs:
        runs.settle("1-c1", CandidateState.GATED, "leakage: 5 of 6 without the clip")
    audit = audit_workspace(workspace)
    assert "1-c1" not in audit.blocked
    assert audit.released == ()
    apply(workspace, audit)
    assert reason(workspace, "1-c1") == "leakage: 5 of 6 without the clip"


def test_review_leaves_out_what_is_blocked_and_says_why(workspace, uncut):
    told: dict[str, str] = {}
    ordered = Opening("main", SetKind.REVIEW, 3)
    assert open_set(workspace, ordered, assigned=False, left_out=told.update) == 2
    assert told.keys() == {"1-c1", "1-c2"}
    assert states(workspace) == {
        "1-c0": CandidateState.IN_REVIEW,
        "1-c1": CandidateState.GATED,
        "1-c2": CandidateState.GATED,
        "1-c3": CandidateState.IN_REVIEW,
    }
    with pytest.raises(ReviewError, match="No accepted candidate"):
        open_set(workspace, Opening("more", SetKind.REVIEW, 3), assigned=False)


def test_a_version_under_review_is_audited_and_its_gate_recorded(workspace, uncut):
    open_set(workspace, Opening("main", SetKind.REVIEW, 3), assigned=False)
    with ReviewDesk(workspace.database) as desk:
        item = desk.version(("1-c0", 1)).item
        edited = item.model_copy(update={"version": 2, "question": "Call 415-555-0132?"})
        desk.add_version(edited, "curator", "a test")
    apply(workspace, audit_workspace(workspace))
    with ReviewDesk(workspace.database) as desk:
        gates = {one.gate: one for one in desk.version(("1-c0", 2)).gates}
    assert gates["personal_data"].outcome is GateOutcome.BLOCK
    assert gates["answer_sanity"].outcome is GateOutcome.PASSED
    assert states(workspace)["1-c0"] is CandidateState.IN_REVIEW


def test_an_edit_is_audited_as_it_is_made(workspace, uncut):
    open_set(workspace, Opening("main", SetKind.REVIEW, 3), assigned=False)

    def edited(number: int, question: str) -> dict[str, GateOutcome]:
        with ReviewDesk(workspace.database) as desk:
            item = desk.version(("1-c0", number - 1)).item
            new = item.model_copy(update={"version": number, "question": question})
            desk.add_version(new, "curator", "a test")
            audit_edit(workspace, new)
            return {one.gate: one.outcome for one in desk.version(("1-c0", number)).gates}

    assert edited(2, "Call 415-555-0132?") == {"personal_data": GateOutcome.BLOCK}
    assert edited(3, "What is held, shit?") == {
        "personal_data": GateOutcome.PASSED,
        "profanity": GateOutcome.WARN,
    }


def test_a_repeat_of_what_is_under_review_is_the_one_left_out(tmp_path, uncut):
    made = make_accepted(tmp_path / "w", target("c5"))
    open_set(made, Opening("main", SetKind.REVIEW, 3), assigned=False)
    with RunStore(made.database) as runs, QuestionStore(made.database) as store:
        runs.start_batch([target("c1", pick=1)])
        with ReviewDesk(made.database) as desk:
            again = desk.version(("1-c5", 1)).item.question
        asyncio.run(store.save("1-c1", 0, with_question(again)))
        runs.settle("1-c1", CandidateState.ACCEPTED)
    assert [one.item.id for one in of_workspace(made.database)] == ["1-c5", "1-c1"]
    assert audit_workspace(made).blocked.keys() == {"1-c1"}


def test_a_candidate_without_an_answer_has_no_order_shown(tmp_path):
    made = make_accepted(tmp_path / "w", target())
    (one,) = of_workspace(made.database)
    assert one.item.shown == ()
    assert one.item.id == "1-c0"
    assert one.item.episode.duration == 20.0


def test_a_plan_that_sets_no_gate_keeps_its_hash(tmp_path):
    plan = load_plan()
    assert plan.hash == "976d9a2be6ca93062883a32c4ec1aadbf19df91bc4e7190d0535add752d4864e"
    assert Plan.model_validate(ONE | {"gates": {"leakage": "warn"}}).hash == Plan(**ONE).hash
    blocking = Plan.model_validate(ONE | {"gates": {"leakage": "block"}})
    assert blocking.hash != Plan(**ONE).hash
    assert Plan.model_validate_json(blocking.model_dump_json()).hash == blocking.hash


def test_a_plan_says_off_without_quotes_and_names_what_it_does_not_know(tmp_path):
    plan = load_plan(policy(tmp_path, profanity="off", leakage="block"))
    assert (plan.gates.profanity, plan.gates.leakage) == ("off", "block")
    with pytest.raises(ConfigError, match=r"gates\.nothing"):
        load_plan(policy(tmp_path, nothing="warn"))
    with pytest.raises(ConfigError, match=r"gates\.leakage"):
        load_plan(policy(tmp_path, leakage="on"))


SOCIAL_IQ = [
    {
        "qid": f"v{n}_q1",
        "q": "How does the host feel about the offer?",
        "vid_name": f"v{n}",
        "ts": "0.00-60.00",
        "a0": "glad of it",
        "a1": "afraid of it",
        "a2": "bored by it",
        "a3": "proud of it",
        "answer_idx": n % 4,
    }
    for n in range(40)
]


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_social_iq_rows_are_read_and_every_audit_runs(tmp_path):
    found = of_jsonl(lines(tmp_path / "qa.jsonl", *SOCIAL_IQ))
    assert [found[1].id, found[1].episode_id, found[1].answer, found[1].format] == [
        "v1_q1",
        "v1",
        "B",
        "single",
    ]
    results = {one.audit: one for one in run_audits(found)}
    assert results["repeated_questions"].count == 39
    undefined = {name for name, one in results.items() if one.rate is None}
    assert undefined == {
        "mutual_entailment",
        "similar_meaning",
        "cue_validity",
        "outcome_shown",
        "cue_position",
        "distinct_ngrams",
        "capability_balance",
    }
    assert all(results[name].why for name in undefined)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(0, "A"), ("B", "B"), ("no", "B"), (["A", "B"], ("A", "B")), ([0, 2], ("A", "C"))],
)
def test_an_answer_is_an_id_a_place_or_a_text(tmp_path, answer, expected):
    row = {"id": "x", "question": "Is it?", "options": ["yes", "no", "maybe"], "answer": answer}
    (item,) = of_jsonl(lines(tmp_path / "a.jsonl", row))
    assert item.answer == expected
    assert item.format == ("multiple" if isinstance(answer, list) else "single")


def test_a_place_is_one_though_options_look_like_letters_or_places(tmp_path):
    rows = (
        {"id": "x", "q": "Is it?", "a0": "1", "a1": "0", "answer_idx": "0"},
        {"id": "y", "q": "Is it?", "options": ["B", "A"], "answer": 0},
        {"id": "z", "q": "Is it?", "options": ["A", "B"], "answer": "B"},
    )
    source = lines(tmp_path / "a.jsonl", *rows)
    source.write_bytes(codecs.BOM_UTF8 + source.read_bytes())
    assert [one.answer for one in of_jsonl(source)] == ["A", "A", "B"]
    kept, _ = import_items(source, tmp_path / "items")
    assert of_jsonl(kept) == of_jsonl(source)


QUESTION = {"id": "x", "question": "Is it?"}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (QUESTION | {"options": ["a", 3], "answer": "A"}, "options: 3 is neither a text"),
        (QUESTION | {"options": ["a", None], "answer": 1}, "options: None is neither a text"),
        (QUESTION | {"a0": "x", "a2": "y", "a5": "z", "answer_idx": 2}, "a0, a2, a5 are not a0"),
        (QUESTION | {"a1": "x", "a2": "y", "answer_idx": 1}, "a1, a2 are not a0 to a1"),
        (QUESTION | {"a00": "x", "a1": "y", "answer_idx": 1}, "a00, a1 are not a0 to a1"),
        (QUESTION | {"a0": "x", "options": ["x", "y"], "answer": 0}, "options and a0 say the same"),
        (QUESTION | {"options": ["x", "y"], "answer": "B", "answer_idx": 0}, "answer and answer_i"),
        (QUESTION | {"q": "Was it?", "answer": "yes"}, "q and question say the same"),
        (QUESTION | {"qid": "y", "answer": "yes"}, "id and qid say the same"),
        (
            QUESTION | {"options": ["B", "A", "AB", "O"], "answer": "A"},
            "'A' is one option's letter",
        ),
        (QUESTION | {"a0": "B", "a1": "A", "a2": "O", "answer": ["A", "O"]}, "and another's text"),
        (QUESTION | {"a0": "x", "a1": "y", "answer_idx": "B"}, "answer_idx: 'B' is no place"),
        (QUESTION | {"options": ["x", "y"]}, "answer: is missing"),
        (QUESTION | {"options": ["x", "y"], "answer": None}, "answer: is missing"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(tmp_path, row, fault):
    with pytest.raises(UserError, match=f"line 1: .*{fault}"):
        of_jsonl(lines(tmp_path / "a.jsonl", row))


def test_every_bad_line_is_named(tmp_path):
    good = {"id": "x", "question": "Is it?", "options": ["yes", "no"], "answer": 0}
    path = lines(
        tmp_path / "a.jsonl", good, good, [1], good | {"id": "y", "answer": 7}, {"id": "z"}
    )
    with pytest.raises(UserError) as refused:
        of_jsonl(path)
    said = str(refused.value)
    assert "4 lines" in said
    for place in (
        "line 2: the id 'x' is that of line 1",
        "line 3",
        "line 4",
        "line 5: answer: is missing",
    ):
        assert place in said
    with pytest.raises(UserError, match="holds no item"):
        of_jsonl(lines(tmp_path / "none.jsonl"))
    with pytest.raises(UserError, match="cannot be read"):
        of_jsonl(tmp_path / "nowhere.jsonl")


def test_importing_twice_is_once_and_others_need_another_name(tmp_path):
    source = lines(tmp_path / "qa.jsonl", *SOCIAL_IQ)
    target_, count = import_items(source, tmp_path / "items")
    again, _ = import_items(source, tmp_path / "items")
    assert (target_, count) == (again, 40)
    assert of_jsonl(target_) == of_jsonl(source)
    lines(source, SOCIAL_IQ[0])
    with pytest.raises(UserError, match="holds other items"):
        import_items(source, tmp_path / "items")
    for name in ("../up", "", ".hidden", "a/b"):
        with pytest.raises(UserError, match="no plain name"):
            import_items(source, tmp_path / "items", name or " ")


def test_a_release_is_audited_with_its_references(tmp_path):
    root = make_release(tmp_path / "release")
    found = of_release(root)
    assert found
    assert all(one.episode.duration > 0 for one in found)
    assert run_audits(found) == run_audits(of_release(root))


def test_the_page_escapes_and_repeats_itself(tmp_path):
    rows = [
        row | {"qid": f"{HOSTILE}{n}", "q": f"{HOSTILE} shit?"} for n, row in enumerate(SOCIAL_IQ)
    ]
    results = run_audits(of_jsonl(lines(tmp_path / "qa.jsonl", *rows)))
    page = write_page(tmp_path / "a" / "audits.html", HOSTILE, results, GatePolicy())
    text = page.read_text()
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "http://" not in text.replace("http-equiv", "")
    assert "private" in text
    for result in results:
        assert result.title in text
    other = write_page(tmp_path / "b.html", HOSTILE, results, GatePolicy())
    assert other.read_bytes() == page.read_bytes()


def call(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_verbs_say_what_they_did(workspace, tmp_path):
    where = ("--workspace", workspace.root)
    found = json.loads(call(*where, "audit", "--json"))["audits"]
    assert {one["audit"]: one["count"] for one in found}["personal_data"] == 1
    said = call(*where, "audit")
    assert "--apply would gate 2 candidates" in said
    assert "personal_data: 1-c1: an e-mail address in the question" in said
    assert (workspace.root / "report" / "audits.html").exists()
    assert "2 candidates gated, 0 accepted again" in call(*where, "audit", "--apply")
    shown = call(*where, "candidates", "show", "1-c1")
    assert "personal_data        block   an e-mail address in the question" in shown
    gates = json.loads(call(*where, "candidates", "show", "1-c1", "--json"))["gates"]
    assert {"gate": "profanity", "outcome": "passed", "detail": ""} in gates
    source = lines(tmp_path / "human.jsonl", *SOCIAL_IQ)
    stored = workspace.root / "items" / "human.jsonl"
    assert f"40 items -> {stored}" in call(*where, "import", "items", source).replace("\n", "")
    assert "repeated_questions" in call("audit", "--items", stored)


def test_the_page_about_audits_is_right(tmp_path):
    text = (ROOT / "docs" / "audits.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    defaults = GatePolicy()
    assert [name for name, *_ in rows] == [audit.name for audit in AUDITS]
    for audit, (name, action, what) in zip(AUDITS, rows, strict=True):
        assert defaults.action(name) == action
        assert (audit.kind == "set") == what.startswith("set:")
    for number, block in enumerate(re.findall(r"```json\n(.*?)```", text, re.DOTALL)):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(block, encoding="utf-8")
        items_ = of_jsonl(path)
        assert [one.audit for one in run_audits(items_) if one.kind == "item" and one.count] == []
    plan = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    gates = GatePolicy.model_validate(yaml.safe_load(plan.group(1))["gates"])
    assert (gates.leakage, gates.thresholds.question_similarity) == ("block", 0.9)
    named = set(re.findall(r"`([a-z_]+)`", text.partition("| audit |")[2].partition("## Items")[0]))
    assert AuditSettings.model_fields.keys() <= named | {"question_similarity"}
