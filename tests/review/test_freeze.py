"""Only what reviewers approved unanimously is frozen; all else is refused by name, all at once."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from construction.audits.registry import AUDITS
from construction.review import opening
from construction.review.closing import replace_version
from construction.review.freeze import LEAKAGE, Order, freeze
from construction.review.importing import import_votes
from construction.review.opening import Opening, open_set
from construction.review.release_rows import clip_names, release_rows
from construction.review.votes import VoteRow
from construction.workspace import Workspace
from evaluation.footage import find_clips
from psychemme.cli.main import app as cli
from psychemme.errors import ReviewError
from psychemme.items import Cue
from psychemme.release.errata import Erratum
from psychemme.release.faults import ReleaseRefused
from psychemme.release.read import Release, read_release
from psychemme.release.rows import ErratumAction
from psychemme.release.verify import verify_release
from psychemme.vocabulary import (
    Approval,
    CandidateState,
    Capability,
    Closing,
    GateOutcome,
    SetKind,
    SkipReason,
    Verdict,
    VoteKind,
)
from psychology_kb.load import load_review
from state.clips import ClipStore
from state.engines import open_owner
from state.leakage import LeakageStore
from state.review import ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import GateRecord, ItemVersion
from state.runs import RunStore
from tests.support.accepted import approve_all, invite, items, judge, make_accepted
from tests.support.releases import episode
from tests.support.reviews import approval
from tests.support.states import CLIP, EPISODE, EPISODE_ID

NAMES = ("zadie-9", "zeno-9", "zora-9")
ORDER = Order(name="trial", version="1.0", profile="psychemme8", licence="CC0-1.0", unfiltered=True)
FIRST = ("1-c0", 1)
REJECTS = dict.fromkeys(Verdict, Approval.APPROVE) | {Verdict.QUESTION_VALIDITY: Approval.REJECT}


def opened(root: Path, **facts: object) -> Workspace:
    """Return a workspace with three items under review, the last of them Memory."""
    targets = items(3)
    targets[2] = targets[2].model_copy(update={"capability": Capability.MEMORY})
    made = make_accepted(root, *targets, **facts)
    invite(made.database, *NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "cut_window", lambda *_: None)
        open_set(made, Opening("main", SetKind.REVIEW, len(NAMES)))
    return made


@pytest.fixture(scope="module")
def under_review(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return opened(tmp_path_factory.mktemp("review") / "workspace")


@pytest.fixture(scope="module")
def approved(under_review: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("approved") / "workspace")
    shutil.copytree(under_review.root, made.root)
    approve_all(made.database)
    return made


@pytest.fixture
def reviewing(under_review: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy of a workspace whose items wait for their votes."""
    return Workspace(Path(shutil.copytree(under_review.root, tmp_path / "workspace")))


@pytest.fixture
def workspace(approved: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy of a workspace whose items are approved."""
    return Workspace(Path(shutil.copytree(approved.root, tmp_path / "workspace")))


@pytest.fixture(scope="module")
def frozen(approved: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Path]:
    folder = tmp_path_factory.mktemp("frozen")
    made = Workspace(Path(shutil.copytree(approved.root, folder / "workspace")))
    assert freeze(made, folder / "release", ORDER).items == 3
    return made, folder / "release"


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def states(workspace: Workspace) -> Counter[CandidateState]:
    with RunStore(workspace.database) as runs:
        return Counter(one.state for one in runs.outcomes())


def refused(workspace: Workspace, order: Order = ORDER) -> list[str]:
    """Return every reason, after a look that nothing was written."""
    out, before = workspace.root.parent / "release", states(workspace)
    with pytest.raises(ReleaseRefused) as refusal:
        freeze(workspace, out, order)
    assert not out.exists()
    assert not list(out.parent.glob(".release*"))
    assert states(workspace) == before
    return [f"{fault.where}: {fault.problem}" for fault in refusal.value.faults]


def edit(desk: ReviewDesk, **changes: Any) -> ItemVersion:
    """Replace the first item by a version with these changes."""
    before = desk.version(FIRST).item
    shown = {key: value for key, value in changes.items() if key in ItemVersion.model_fields}
    hidden = {key: value for key, value in changes.items() if key not in shown}
    revealed = before.revealed.model_copy(update=hidden)
    after = before.model_copy(update={"version": 2, "revealed": revealed} | shown)
    replace_version(desk, after, "curator", "a test")
    return after


def test_the_same_state_gives_the_same_bytes_and_they_verify(
    frozen: tuple[Workspace, Path], approved: Workspace, tmp_path: Path
) -> None:
    workspace, release = frozen
    assert states(workspace) == {CandidateState.FROZEN: 3}
    assert freeze(workspace, tmp_path / "again", ORDER).items == 3
    assert contents(tmp_path / "again") == contents(release)
    assert states(workspace) == {CandidateState.FROZEN: 3}
    assert states(approved) == {CandidateState.APPROVED: 3}
    found = verify_release(release)
    assert (found.faults, found.notes) == ((), ())
    assert found.counts["questions"] == 3


def test_a_release_says_what_the_items_are_and_where_from(frozen: tuple[Workspace, Path]) -> None:
    release = read_release(frozen[1])
    said = release.manifest
    assert (said.name, said.version, said.example, said.seed) == ("trial", "1.0.0", False, 7)
    assert said.review is not None
    assert said.review.model_dump() == {
        "reviewers_per_item": 3,
        "items_reviewed": 3,
        "demonstration": False,
        "versions_replaced": 0,
        "items_seen_before": 0,
    }
    assert said.gates[LEAKAGE] == "not_run"
    assert said.models == dict.fromkeys(("question", "answer", "critic"), "scripted")
    memory = release.questions["c2"]
    assert [one.text for one in memory.history] == [one.text for one in EPISODE.history]
    assert release.questions["c0"].history == release.questions["c1"].history == ()
    episode = release.episodes[EPISODE_ID]
    assert (episode.clip, episode.licence, episode.end) == ("ladder.mp4", "CC0-1.0", 20.0)
    assert release.references()["c1"].answer == ["A", "B"]


def test_no_trace_of_who_voted_leaves_the_workspace(frozen: tuple[Workspace, Path]) -> None:
    for data in contents(frozen[1]).values():
        for private in (*NAMES, "because of the request", "/examples/"):
            assert private.encode() not in data


def test_nothing_approved_is_an_error(reviewing: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ReviewError, match="No item has been approved"):
        freeze(reviewing, tmp_path / "release", ORDER)


def test_an_open_review_is_refused_or_left_out(reviewing: Workspace, tmp_path: Path) -> None:
    with ReviewDesk(reviewing.database) as desk:
        for number in (0, 1):
            for name in NAMES[: 3 - number]:
                judge(reviewing.database, name, (f"1-c{number}", 1))
        desk.close_item(FIRST, Closing.APPROVED)
    assert sorted(refused(reviewing)) == [
        "c1: its review is open: 2 of 3 verdicts",
        "c2: its review is open: 0 of 3 verdicts",
    ]
    order = replace(ORDER, licence="", leave_open=True)
    assert freeze(reviewing, tmp_path / "release", order).items == 1
    assert set(read_release(tmp_path / "release").questions) == {"c0"}
    assert states(reviewing) == {CandidateState.FROZEN: 1, CandidateState.IN_REVIEW: 2}


def not_unanimous(workspace: Workspace) -> None:
    """One of three rejects, and a curator closed it as approved all the same."""
    with ReviewDesk(workspace.database) as desk:
        for name in NAMES[:2]:
            judge(workspace.database, name, FIRST)
        why = {Verdict.QUESTION_VALIDITY: ("false_premise",)}
        against = approval("no", verdicts=REJECTS, reasons=why)
        judge(workspace.database, NAMES[2], FIRST, against)
        desk.close_item(FIRST, Closing.APPROVED)
    approve_all(workspace.database)


def leaking(workspace: Workspace) -> None:
    approve_all(workspace.database)
    with ReviewDesk(workspace.database) as desk:
        for outcome in (GateOutcome.PASSED, GateOutcome.BLOCK):
            found = GateRecord(gate=LEAKAGE, outcome=outcome, detail="5 of 6 without the clip")
            desk.record_gate(FIRST, found)


def leaking_before_an_edit(workspace: Workspace) -> None:
    with ReviewDesk(workspace.database) as desk:
        desk.record_gate(FIRST, GateRecord(gate=LEAKAGE, outcome=GateOutcome.BLOCK))
        edit(desk, question="What is asked for here?")
        desk.record_gate(("1-c0", 2), GateRecord(gate="audit", outcome=GateOutcome.PASSED))
    approve_all(workspace.database)


def unlicensed(workspace: Workspace) -> None:
    approve_all(workspace.database)
    with RunStore(workspace.database) as runs, ClipStore(workspace.database) as clips:
        clip = runs.dossier("1-c0").clip
        clips.put_clip(clip.model_copy(update={"licence": None}))


def duplicated(workspace: Workspace) -> None:
    with ReviewDesk(workspace.database) as desk:
        edit(desk, question="what is asked for in 1-c1")
    approve_all(workspace.database)


def nearly_duplicated(workspace: Workspace) -> None:
    with ReviewDesk(workspace.database) as desk:
        edit(desk, question="What is asked for in 1-c1 now?")
    approve_all(workspace.database)


def out_of_window(workspace: Workspace) -> None:
    cue = Cue(start=19, end=21, modality="speech", description="past the end")  # type: ignore[arg-type]
    with ReviewDesk(workspace.database) as desk:
        edit(desk, cues=(cue,))
    approve_all(workspace.database)


def demonstrated(workspace: Workspace) -> None:
    vote = VoteRow.model_validate(
        {
            "candidate_id": "1-c0",
            "reviewer": "demo",
            "blind_answer": "A",
            "verdicts": dict.fromkeys(Verdict, Approval.APPROVE),
        }
    )
    with ReviewDesk(workspace.database) as desk:
        import_votes(desk, [vote], load_review("psychemme8"), demonstration=True)
        for name in NAMES:
            judge(workspace.database, name, FIRST)
        desk.close_item(FIRST, Closing.APPROVED)
    approve_all(workspace.database)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (not_unanimous, "c0: 2 of 3 reviewers approve it"),
        (leaking, "c0: the leakage gate keeps it out: 5 of 6 without the clip"),
        (
            leaking_before_an_edit,
            "c0: the leakage gate blocked version 1 and has not been run on version 2",
        ),
        (unlicensed, "source test: no licence is stated for 1 of its episodes"),
        (duplicated, "c1: asks the same as c0"),
        (nearly_duplicated, "c1: the duplicate_questions gate keeps it out: "),
        (out_of_window, "c0: cue 0 lies outside the episode"),
        (demonstrated, "c0: its votes are a demonstration and come from no person"),
    ],
)
def test_what_may_not_go_in_is_refused_by_name(
    reviewing: Workspace, spoil: Callable[[Workspace], None], reason: str
) -> None:
    spoil(reviewing)
    assert any(said.startswith(reason) for said in refused(reviewing))


def test_all_reasons_are_listed_at_once(
    reviewing: Workspace, frozen: tuple[Workspace, Path]
) -> None:
    with ReviewDesk(reviewing.database) as desk:
        for spoil in (leaking, unlicensed):
            spoil(reviewing)
        for name in ("c1", "c2"):
            found = GateRecord(gate="audit", outcome=GateOutcome.BLOCK, detail=name)
            desk.record_gate((f"1-{name}", 1), found)
    order = replace(ORDER, version="0.9", licence="", previous=frozen[1])
    said = refused(reviewing, order)
    assert len(said) == len(set(said)) == 5
    for reason in (
        "c0: the leakage gate keeps it out",
        "c1: the audit gate keeps it out: c1",
        "c2: the audit gate keeps it out: c2",
        "source test: no licence",
        ": after 1.0.0, ",
    ):
        assert any(one.startswith(reason) for one in said), reason


@pytest.mark.parametrize("name", ["c1", "1-c1"])
def test_an_item_is_left_out_by_its_id_or_candidate(
    reviewing: Workspace, tmp_path: Path, name: str
) -> None:
    approve_all(reviewing.database)
    order = replace(ORDER, leave_out=frozenset({name}))
    assert freeze(reviewing, tmp_path / "out", order).items == 2
    assert "c1" not in read_release(tmp_path / "out").questions
    unknown = replace(ORDER, leave_out=frozenset({"c9"}))
    with pytest.raises(ReviewError, match="'c9'"):
        freeze(reviewing, tmp_path / "other", unknown)


def test_a_vote_with_a_conflict_of_interest_freezes_nothing(reviewing: Workspace) -> None:
    conflict = approval(
        "skip",
        kind=VoteKind.SKIP,
        verdicts={},
        skip_reason=SkipReason.CONFLICT_OF_INTEREST,
    )
    for name in NAMES:
        judge(reviewing.database, name, FIRST)
    with ReviewDesk(reviewing.database) as desk, ReviewStore(reviewing.database) as store:
        desk.close_item(FIRST, Closing.APPROVED)
        store.cast(NAMES[0], ("1-c1", 1), conflict)
    said = refused(reviewing, replace(ORDER, leave_open=True))
    assert f"c0: 2 of 2 reviewers approve it; conflict of interest: {NAMES[0]}" in said


def test_a_release_says_what_was_replaced_after_votes(reviewing: Workspace, tmp_path: Path) -> None:
    judge(reviewing.database, NAMES[0], FIRST)
    with ReviewDesk(reviewing.database) as desk:
        edit(desk, question="Who is asked to hold the ladder?")
    approve_all(reviewing.database)
    freeze(reviewing, tmp_path / "release", ORDER)
    review = read_release(tmp_path / "release").manifest.review
    assert review is not None
    assert (review.versions_replaced, review.items_seen_before) == (1, 1)
    card = " ".join((tmp_path / "release/public/README.md").read_text().split())
    assert "1 version that had been judged was edited and judged anew; 1 item here had" in card


def test_demonstration_votes_freeze_into_an_example(reviewing: Workspace, tmp_path: Path) -> None:
    demonstrated(reviewing)
    order = Order(name="trial", version="1.0", profile="psychemme8", example=True)
    freeze(reviewing, tmp_path / "release", order)
    said = read_release(tmp_path / "release").manifest
    assert said.example
    assert said.review is not None
    assert said.review.demonstration


def test_what_was_edited_is_what_is_frozen(reviewing: Workspace, tmp_path: Path) -> None:
    with ReviewDesk(reviewing.database) as desk:
        judge(reviewing.database, NAMES[0], FIRST)
        after = edit(desk, question="Who is asked to hold the ladder?", answer="B")
        passed = GateRecord(gate=LEAKAGE, outcome=GateOutcome.PASSED)
        desk.record_gate(FIRST, passed.model_copy(update={"outcome": GateOutcome.BLOCK}))
        for name in NAMES:
            judge(reviewing.database, name, ("1-c0", 2), approval("yes", comment="B it is"))
        desk.close_item(("1-c0", 2), Closing.APPROVED)
        approve_all(reviewing.database)
        for place in (("1-c0", 2), ("1-c1", 1), ("1-c2", 1)):
            desk.record_gate(place, passed)

    def extra(release: Release) -> dict[str, bytes]:
        said = {"canary": release.manifest.canary, "questions": sorted(release.questions)}
        return {"extra.json": json.dumps(said).encode()}

    freeze(reviewing, tmp_path / "release", ORDER, extra)
    release = read_release(tmp_path / "release")
    assert release.questions["c0"].question == after.question
    assert release.references()["c0"].answer == "B"
    assert release.manifest.gates[LEAKAGE] == "passed"
    assert json.loads((release.root / "public" / "extra.json").read_text())["questions"]
    assert verify_release(release.root).faults == ()


def test_a_gate_that_warns_is_not_said_to_be_passed(workspace: Workspace, tmp_path: Path) -> None:
    warn, passed = GateOutcome.WARN, GateOutcome.PASSED
    ran = {"leakage": (passed, warn, passed), "audit": (warn,), "spelling": (passed,) * 3}
    with ReviewDesk(workspace.database) as desk:
        for gate, outcomes in ran.items():
            for number, outcome in enumerate(outcomes):
                desk.record_gate((f"1-c{number}", 1), GateRecord(gate=gate, outcome=outcome))
    freeze(workspace, tmp_path / "release", ORDER)
    said = read_release(tmp_path / "release").manifest.gates
    assert said.items() >= {"audit": "not_run", "leakage": "warned", "spelling": "passed"}.items()
    assert "it warned of some" in (tmp_path / "release/public/README.md").read_text()


def test_approved_items_are_audited_again(reviewing: Workspace, tmp_path: Path) -> None:
    passed, shape = GateOutcome.PASSED, GateRecord(gate="personal_data", outcome=GateOutcome.PASSED)
    with ReviewDesk(reviewing.database) as desk:
        edit(desk, question="Who is to call 415-555-0132?")
        approve_all(reviewing.database)
        desk.record_gate(("1-c0", 2), shape)
    (fault,) = refused(reviewing, ORDER)
    assert "c0: the personal_data gate keeps it out: a phone number in the question" in fault
    # What was stored of this very finding, under a plan given by flag, goes before the run's own.
    found = {"detail": "a phone number in the question", "outcome": GateOutcome.WARN}
    with ReviewDesk(reviewing.database) as desk:
        desk.record_gate(("1-c0", 2), shape.model_copy(update=found))
    freeze(reviewing, tmp_path / "release", ORDER)
    gates = read_release(tmp_path / "release").manifest.gates
    assert (gates["personal_data"], gates["answer_sanity"]) == ("warned", passed)
    assert gates.keys() == {LEAKAGE} | {audit.name for audit in AUDITS}
    # No model was asked, and of three items no share can be told.
    for name in ("similar_meaning", "mutual_entailment", "answer_position", "cue_position"):
        assert gates[name] == "not_run"


def test_what_was_never_filtered_needs_somebody_to_say_so(
    workspace: Workspace, tmp_path: Path
) -> None:
    unfiltered = replace(ORDER, unfiltered=False)
    with ReviewDesk(workspace.database) as desk:
        for number in range(2):
            passed = GateRecord(gate=LEAKAGE, outcome=GateOutcome.PASSED)
            desk.record_gate((f"1-c{number}", 1), passed)
    (fault,) = refused(workspace, unfiltered)
    assert "the leakage filter was not run on 1 of 3 items: c2" in fault
    freeze(workspace, tmp_path / "said", ORDER)
    assert read_release(tmp_path / "said").manifest.gates[LEAKAGE] == "not_run"
    with LeakageStore(workspace.database) as store, ReviewDesk(workspace.database) as desk:
        store.begin(LEAKAGE, {"models": "one,other"})
        desk.record_gate(("1-c2", 1), GateRecord(gate=LEAKAGE, outcome=GateOutcome.WARN))
    freeze(workspace, tmp_path / "run", unfiltered)
    manifest = read_release(tmp_path / "run").manifest
    assert manifest.gates[LEAKAGE] == "warned"
    assert manifest.models["leakage filter"] == "one, other"


def test_a_plan_without_the_filter_has_said_so(workspace: Workspace, tmp_path: Path) -> None:
    engine = open_owner(workspace.database)
    with engine.begin() as connection:
        connection.exec_driver_sql("""UPDATE runs SET plan_json = '{"gates":{"leakage":"off"}}'""")
    engine.dispose()
    freeze(workspace, tmp_path / "release", replace(ORDER, unfiltered=False))
    assert read_release(tmp_path / "release").manifest.gates[LEAKAGE] == "not_run"


def test_a_frozen_item_is_corrected_in_the_next_release(
    frozen: tuple[Workspace, Path], tmp_path: Path
) -> None:
    workspace = Workspace(Path(shutil.copytree(frozen[0].root, tmp_path / "workspace")))
    with ReviewDesk(workspace.database) as desk:
        after = edit(desk, question="Who is asked to hold the ladder?")
        assert desk.version(FIRST).closing is Closing.REPLACED
    assert states(workspace) == {CandidateState.FROZEN: 2, CandidateState.IN_REVIEW: 1}
    assert "c0: its review is open: 0 of 3 verdicts" in refused(workspace)
    approve_all(workspace.database)
    noted = Erratum(id="c0", fault="unclear", action=ErratumAction.CORRECTED)
    order = replace(ORDER, version="2.0", licence="", previous=frozen[1], errata=(noted,))
    made = freeze(workspace, tmp_path / "next", order)
    assert made.diff is not None
    assert read_release(tmp_path / "next").questions["c0"].question == after.question
    assert states(workspace) == {CandidateState.FROZEN: 3}


def test_two_preparations_of_one_episode_are_not_mixed(workspace: Workspace) -> None:
    with RunStore(workspace.database) as runs, ReviewDesk(workspace.database) as desk:
        held = [(one.item, runs.dossier(one.item.candidate_key)) for one in desk.versions()]
    assert len(release_rows(held)[1]) == 1
    item, dossier = held[0]
    said = dossier.episode.content.model_copy(update={"transcript": ()})
    again = dossier.episode.model_copy(update={"preparation": 2, "content": said})
    held[0] = item, dossier.model_copy(update={"episode": again})
    assert [one.id for one in release_rows(held)[1]] == [EPISODE_ID] * 2


def test_clips_of_one_name_are_told_apart_and_found(tmp_path: Path) -> None:
    paths = ("a/day/clip.mp4", "b/day/clip.mp4", "b/other.mp4")
    clips = [
        CLIP.model_copy(update={"id": str(number), "path": str(tmp_path / path)})
        for number, path in enumerate(paths)
    ]
    names = clip_names(clips)
    assert names == {"0": "a/day/clip.mp4", "1": "b/day/clip.mp4", "2": "other.mp4"}
    assert clip_names(reversed(clips)) == names
    assert clip_names(clips[:1]) == {"0": "clip.mp4"}
    at_one_path = [clips[0], clips[0].model_copy(update={"id": "later"})]
    assert clip_names(at_one_path) == {"0": "0/clip.mp4", "later": "later/clip.mp4"}
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    rows = [
        episode(number, clip=names[str(number)], sha256=hashlib.sha256(path.encode()).hexdigest())
        for number, path in enumerate(paths)
    ]
    found = find_clips(rows, [tmp_path, tmp_path / "b"])
    assert [found[row.id].relative_to(tmp_path).as_posix() for row in rows] == list(paths)


def test_an_edit_while_the_release_is_written_is_not_marked_frozen(
    workspace: Workspace, tmp_path: Path
) -> None:
    def edit(_: Release) -> dict[str, bytes]:
        with ReviewDesk(workspace.database) as desk:
            changed = desk.version(FIRST).item.model_copy(
                update={"version": 2, "question": "What is asked for now?"}
            )
            replace_version(desk, changed, "curator", "clearer")
        return {}

    assert freeze(workspace, tmp_path / "release", ORDER, edit).items == 3
    assert states(workspace) == {CandidateState.IN_REVIEW: 1, CandidateState.FROZEN: 2}


def test_a_row_that_nobody_can_read_keeps_its_item_out(
    workspace: Workspace, tmp_path: Path
) -> None:
    engine = open_owner(workspace.database)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER votes_rules")
        connection.exec_driver_sql(
            "INSERT INTO votes VALUES ('1-c0', 1, 'zeno-9', 7, 'skip', NULL, NULL, NULL, '5', '', "
            "NULL, 0, 1, 'x', 1)"
        )
    engine.dispose()
    with pytest.raises(ReleaseRefused, match="vote 7 of zeno-9"):
        freeze(workspace, tmp_path / "release", ORDER)


def test_fewer_reviewers_than_the_papers_are_said_to_be(
    workspace: Workspace, tmp_path: Path
) -> None:
    terms = ["--name", "trial", "--version", "1.0", "--workspace", str(workspace.root)]
    for more, is_said in (("--leakage-not-run", True), ("--example", False)):
        folder = tmp_path / f"release{more}"
        done = CliRunner().invoke(cli, ["freeze", str(folder), *terms, more])
        assert done.exit_code == 0, done.output
        assert (
            "3 approving reviewers were asked for each item, not five" in done.output
        ) is is_said
