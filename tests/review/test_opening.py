"""Accepted candidates go under review: whole, or not at all."""

import shutil
from collections import Counter
from pathlib import Path

import av
import pytest

from construction.coverage import Tally
from construction.review import opening
from construction.review.closing import close_complete
from construction.review.opening import Opening, footage_path, open_set
from construction.workspace import Workspace
from psychemme.errors import MediaError, ReviewError
from psychemme.vocabulary import CandidateState, Capability, Closing, Format, SetKind, Verdict
from state.review_desk import ReviewDesk
from state.runs import RunStore
from tests.support.accepted import SOURCE, accept, invite, items, judge, make_accepted
from tests.support.reviews import REVIEWERS, approval
from tests.support.states import EPISODE_ID, proposal, target

STATES = CandidateState


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_accepted(tmp_path / "workspace", *items(6))
    invite(made.database, *REVIEWERS)
    return made


@pytest.fixture
def uncut(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Keep footage from being cut, and return where it would lie."""
    cut: list[Path] = []

    def note(_source: Path, target: Path, _start: float, _end: float) -> None:
        target.parent.mkdir(exist_ok=True)
        target.touch()
        cut.append(target)

    monkeypatch.setattr(opening, "cut_window", note)
    return cut


def ordered(name: str = "main", **changes: object) -> Opening:
    given = {"name": name, "kind": SetKind.REVIEW, "reviewers_per_item": 3}
    return Opening(**(given | changes))  # type: ignore[arg-type]


def states(workspace: Workspace) -> Counter[CandidateState]:
    with RunStore(workspace.database) as runs:
        return Counter(one.state for one in runs.outcomes())


def nothing_is_stored(workspace: Workspace) -> bool:
    with ReviewDesk(workspace.database) as desk:
        board = desk.board()
    return (board.versions, board.sets) == ((), {}) and states(workspace) == {STATES.ACCEPTED: 6}


def test_footage_is_cut_as_every_browser_plays_it(workspace: Workspace) -> None:
    told = []
    opened = open_set(workspace, ordered(count=1), report=lambda *done: told.append(done))
    assert (opened, told) == (1, [(1, 1)])
    footage = footage_path(workspace, EPISODE_ID, 1)
    with av.open(str(footage)) as container:
        codecs = [stream.codec_context.name for stream in container.streams]
        assert container.duration == pytest.approx(20 * av.time_base, abs=0.1 * av.time_base)
    assert sorted(codecs) == ["aac", "h264"]
    before = footage.stat()
    open_set(workspace, ordered("second", count=1))
    assert footage.stat() == before


def test_a_candidate_goes_in_as_its_final_proposal_said(
    workspace: Workspace, uncut: list[Path]
) -> None:
    assert open_set(workspace, ordered()) == 6
    assert len(uncut) == 1
    with ReviewDesk(workspace.database) as desk:
        versions = {one.item.candidate_key: one for one in desk.versions()}
    made = proposal(form=Format.MULTIPLE)
    item = versions["1-c1"].item
    assert made.reference is not None
    assert (item.version, item.format, item.episode_id) == (1, Format.MULTIPLE, EPISODE_ID)
    assert item.question == "What is asked for in 1-c1?"
    assert (item.revealed.answer, item.revealed.cues) == (["A", "B"], made.reference.cues)
    assert item.revealed.capability is Capability.GROUNDING
    assert all(len(one.assigned) == 3 for one in versions.values())


def test_counts_reconcile_all_the_way(workspace: Workspace, uncut: list[Path]) -> None:
    with RunStore(workspace.database) as runs:
        for key, state in (("1-c4", STATES.DISCARDED), ("1-c5", STATES.FAILED)):
            runs.settle(key, state)
    assert open_set(workspace, ordered(count=3)) == 3
    assert states(workspace) == {"in_review": 3, "accepted": 1, "discarded": 1, "failed": 1}
    with ReviewDesk(workspace.database) as desk:
        one, other, _ = desk.versions()
        desk.close_item((one.item.candidate_key, 1), Closing.APPROVED)
        desk.close_item((other.item.candidate_key, 1), Closing.REJECTED)
    assert states(workspace)[STATES.APPROVED] == states(workspace)[STATES.REJECTED] == 1
    tally = Tally.counted(states(workspace))
    assert (tally.accepted, tally.discarded, tally.failed, tally.pending) == (4, 1, 1, 0)
    assert tally.started == 6
    assert uncut


def test_a_draw_is_seeded_and_takes_from_what_is_left(
    workspace: Workspace, uncut: list[Path], tmp_path: Path
) -> None:
    copies = [Workspace(tmp_path / name) for name in ("same", "other")]
    for copy in copies:
        shutil.copytree(workspace.root, copy.root)

    def drawn(of: Workspace, **changes: object) -> tuple[dict[str, str], list[tuple[str, ...]]]:
        open_set(of, ordered(count=3, **changes))
        with ReviewDesk(of.database) as desk:
            found = desk.versions()
        who = [tuple(a.reviewer_id for a in one.assigned) for one in found]
        return {one.item.candidate_key: one.set_name for one in found}, who

    first = drawn(workspace, seed=3)
    assert drawn(copies[0], seed=3) == first
    assert drawn(copies[1], seed=4) != first
    rest, _ = drawn(workspace, name="rest", seed=3)
    assert Counter(rest.values()) == {"main": 3, "rest": 3}
    with pytest.raises(ReviewError, match="No accepted candidate is left"):
        open_set(workspace, ordered("third"))
    assert uncut


def test_a_changed_clip_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    clip = Path(shutil.copy(SOURCE, tmp_path / "[bold]clip.mp4"))
    workspace = make_accepted(tmp_path / "workspace", *items(6), clip=clip)
    invite(workspace.database, *REVIEWERS)
    clip.write_bytes(clip.read_bytes()[:-1])
    with pytest.raises(MediaError, match=r"\[bold\]clip.mp4.* not the file that was added"):
        open_set(workspace, ordered())
    clip.unlink()
    with pytest.raises(MediaError, match="not the file"):
        open_set(workspace, ordered())
    assert nothing_is_stored(workspace)
    assert not footage_path(workspace, EPISODE_ID, 1).exists()


def test_too_few_reviewers_are_told_before_anything_is_cut(
    workspace: Workspace, uncut: list[Path]
) -> None:
    with pytest.raises(ReviewError, match="6 reviewers are needed"):
        open_set(workspace, ordered(reviewers_per_item=6))
    assert nothing_is_stored(workspace)
    assert uncut == []
    assert open_set(workspace, ordered(reviewers_per_item=6), assigned=False) == 6


def test_a_name_is_taken_once(workspace: Workspace, uncut: list[Path]) -> None:
    open_set(workspace, ordered(count=1))
    cut = len(uncut)
    with pytest.raises(ReviewError, match="There is a set 'main' already"):
        open_set(workspace, ordered())
    assert (len(uncut), states(workspace)[STATES.IN_REVIEW]) == (cut, 1)


def test_what_is_no_longer_accepted_once_footage_is_cut_stops_the_whole_set(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gate(*_: object) -> None:
        with RunStore(workspace.database) as runs:
            runs.settle("1-c5", STATES.GATED, "leaks")

    monkeypatch.setattr(opening, "cut_window", gate)
    with pytest.raises(ReviewError, match="1-c5 is gated, not accepted"):
        open_set(workspace, ordered())
    assert states(workspace) == {STATES.ACCEPTED: 5, STATES.GATED: 1}
    with ReviewDesk(workspace.database) as desk:
        assert desk.board().sets == {}


def test_two_runs_of_one_seed_never_meet_in_review(workspace: Workspace, uncut: list[Path]) -> None:
    again = target("c1", form=Format.MULTIPLE, pick=1).model_copy(update={"key": "2-c1", "run": 2})
    with RunStore(workspace.database) as runs:
        runs.start_run(runs.run(1).model_copy(update={"ordinal": 2}))
        runs.start_batch([again])
    accept(workspace, again)
    with pytest.raises(ReviewError, match="of the same id: 1-c1 and 2-c1"):
        open_set(workspace, ordered())
    assert open_set(workspace, ordered(run=1)) == 6
    with pytest.raises(ReviewError, match="1-c1 and 2-c1"):
        open_set(workspace, ordered("second", run=2))
    with ReviewDesk(workspace.database) as desk:
        desk.close_item(("1-c1", 1), Closing.REJECTED)
    assert open_set(workspace, ordered("second", run=2)) == 1
    assert uncut


def test_closing_ends_what_is_complete_and_nothing_else(
    workspace: Workspace, uncut: list[Path]
) -> None:
    open_set(workspace, ordered(count=3))
    with ReviewDesk(workspace.database) as desk:
        agreed, disputed, short = desk.versions()
        for version, left_out in ((agreed, 0), (disputed, 0), (short, 1)):
            for one in version.assigned[left_out:]:
                judge(workspace.database, one.reviewer_id, (one.candidate_key, 1))
        against = approval(
            "against",
            verdicts=dict.fromkeys(Verdict, "approve") | {"question_validity": "reject"},
            reasons={"question_validity": ["false_premise"]},
        )
        place = (disputed.item.candidate_key, 1)
        judge(workspace.database, disputed.assigned[0].reviewer_id, place, against)
        with pytest.raises(ReviewError, match="no set 'other'"):
            close_complete(desk, "other")
        assert close_complete(desk) == {Closing.APPROVED: 1, Closing.REJECTED: 1}
        assert close_complete(desk) == {}
        closings = {one.item.candidate_key: one.closing for one in desk.versions()}
    assert closings == {
        agreed.item.candidate_key: Closing.APPROVED,
        disputed.item.candidate_key: Closing.REJECTED,
        short.item.candidate_key: None,
    }
    assert uncut
