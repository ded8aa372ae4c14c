"""A workspace whose candidates the graph has accepted, for tests of review and freeze."""

import asyncio
import hashlib
from pathlib import Path

from construction.workspace import DEMO_KEY, Workspace
from psychemme.items import Proposal
from psychemme.vocabulary import CandidateState, Capability, Closing, Format
from state.clips import ClipStore
from state.review import Place, ReviewStore
from state.review_desk import ReviewDesk
from state.review_values import Ballot
from state.runs import RunStore
from state.stores import QuestionStore
from state.values import CandidateTarget
from tests.support.commands import SAMPLE
from tests.support.reviews import approval, own_answer, reviewer
from tests.support.states import CLIP, make_state, proposal, target

SOURCE = SAMPLE / "ladder.mp4"
TERMS = {"licence": "CC0-1.0", "consent": "synthetic"}


def make_accepted(
    root: Path, *targets: CandidateTarget, clip: Path = SOURCE, **facts: object
) -> Workspace:
    """Make a workspace of accepted `targets`, each with a question of its own about `clip`.

    `facts` are further columns of the clip.
    """
    root.mkdir(parents=True)
    (root / "shuffle.key").write_text(DEMO_KEY)
    workspace = Workspace(root)
    make_state(workspace.database, *targets)
    sha256 = hashlib.sha256(clip.read_bytes()).hexdigest()
    with ClipStore(workspace.database) as clips:
        clips.put_clip(
            CLIP.model_copy(update={"path": str(clip), "sha256": sha256} | TERMS | facts)
        )
    accept(workspace, *targets)
    return workspace


def accept(workspace: Workspace, *targets: CandidateTarget) -> None:
    """Store a sound proposal for each target, and that the graph accepted it."""
    with QuestionStore(workspace.database) as store:
        for one in targets:
            asyncio.run(store.save(one.key, 0, _proposal(one)))
    with RunStore(workspace.database) as runs:
        for one in targets:
            runs.settle(one.key, CandidateState.ACCEPTED)


def _proposal(one: CandidateTarget) -> Proposal:
    made = proposal(form=one.format)
    assert made.question is not None
    worded = {"question": f"What is asked for in {one.key}?"}
    return made.model_copy(update={"question": made.question.model_copy(update=worded)})


def items(count: int, capability: Capability = Capability.GROUNDING) -> list[CandidateTarget]:
    """Return `count` targets: single, multiple and open in turn."""
    forms = tuple(Format)
    return [target(f"c{n}", capability, forms[n % 3], n) for n in range(count)]


def invite(database: Path, *names: str, **changes: object) -> None:
    """Invite reviewers of these names."""
    with ReviewDesk(database) as desk:
        for name in names:
            desk.invite(reviewer(name, **changes))


def judge(database: Path, name: str, place: Place, ballot: Ballot | None = None) -> None:
    """Commit the right answer as a reviewer, and cast `ballot` (default: an approval)."""
    with ReviewStore(database) as store:
        form = store.work(name, place).item.format
        right = {Format.SINGLE: "A", Format.MULTIPLE: ["A", "B"], Format.OPEN: "hold the ladder"}
        store.commit_answer(name, place, own_answer(right[form]))
        store.cast(name, place, ballot or approval(f"{name}-vote"))


def approve_all(database: Path) -> list[Place]:
    """Have every assigned reviewer approve every open item, close all, and return their places."""
    with ReviewDesk(database) as desk:
        versions = [version for version in desk.versions() if version.closing is None]
        places = [(one.item.candidate_key, one.item.version) for one in versions]
        for one, place in zip(versions, places, strict=True):
            for assignment in one.assigned:
                judge(database, assignment.reviewer_id, place)
            desk.close_item(place, Closing.APPROVED)
    return places
