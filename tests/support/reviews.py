"""A Shared State with items under review, for tests."""

from collections.abc import Sequence

from psychemme.canonical import now
from psychemme.items import Answer, Cue, KeyPoint
from psychemme.vocabulary import (
    Approval,
    CandidateState,
    Capability,
    Format,
    SetKind,
    Verdict,
    VoteKind,
)
from state.address import Address
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import (
    AssignmentRecord,
    Ballot,
    BlindAnswer,
    Changes,
    ItemVersion,
    Revealed,
    ReviewerRecord,
    SetRecord,
)
from state.runs import RunStore
from tests.support.states import EPISODE_ID, make_state, proposal, target

YEAR = 365 * 24 * 3600 * 1_000_000
CANARY = "zq7Canary"
REVIEWERS = ("ada", "ben", "cleo", "dev", "eli")


def item_version(key: str, form: Format = Format.SINGLE, version: int = 1) -> ItemVersion:
    """Return a version whose every private text holds the canary."""
    made = proposal(CANARY, form=form)
    assert made.question is not None
    assert made.reference is not None
    return ItemVersion(
        candidate_key=key,
        version=version,
        episode_id=EPISODE_ID,
        preparation=1,
        format=form,
        question=f"{made.question.question} ({key})",
        options=made.question.options,
        revealed=Revealed(
            capability=Capability.GROUNDING,
            subcategory="speaker_addressee",
            answer=made.reference.answer,
            key_points=tuple(
                KeyPoint(text=point.text, required=point.required)
                for point in made.reference.key_points
            ),
            cues=tuple(
                Cue(
                    start=cue.start,
                    end=cue.end,
                    modality=cue.modality,
                    description=cue.description,
                )
                for cue in made.reference.cues
            ),
        ),
    )


def reviewer(name: str, **changes: object) -> ReviewerRecord:
    """Return a reviewer whose link's token hash is their name's letters."""
    given = {
        "id": name,
        "name": name.title(),
        "token_sha256": name * 8,
        "invited_at": now(),
        "expires_at": now() + YEAR,
    }
    return ReviewerRecord.model_validate(given | changes)


def make_review(
    address: Address,
    forms: Sequence[Format] = (Format.SINGLE, Format.OPEN),
    names: Sequence[str] = REVIEWERS,
    kind: SetKind = SetKind.REVIEW,
) -> list[Place]:
    """Fill a database with one set of items, each assigned to all of `names`."""
    targets = [target(f"c{n}", form=form, pick=n) for n, form in enumerate(forms)]
    make_state(address, *targets)
    places = [(one.key, 1) for one in targets]
    with RunStore(address) as runs:
        for one in targets:
            runs.settle(one.key, CandidateState.ACCEPTED)
    opened = SetRecord(name="main", kind=kind, reviewers_per_item=len(names), opened_at=now())
    changes = Changes(
        reviewers=tuple(reviewer(name) for name in names),
        sets=(opened,),
        items=tuple(
            ("main", item_version(one.key, form)) for one, form in zip(targets, forms, strict=True)
        ),
        assignments=tuple(
            AssignmentRecord(
                candidate_key=key, version=version, reviewer_id=name, position=position
            )
            for position, (key, version) in enumerate(places)
            for name in names
        ),
    )
    with ReviewDesk(address) as desk:
        desk.change(lambda _: changes)
    return places


def own_answer(answer: Answer = "A", request_id: str = "r") -> BlindAnswer:
    """Return a reviewer's own answer."""
    return BlindAnswer(answer=answer, seconds=3.0, watched=1.0, request_id=request_id)


def approval(request_id: str, **changes: object) -> Ballot:
    """Return a ballot that approves everything."""
    given = {
        "kind": VoteKind.VERDICT,
        "verdicts": dict.fromkeys(Verdict, Approval.APPROVE),
        "request_id": request_id,
    }
    return Ballot.model_validate(given | changes)
