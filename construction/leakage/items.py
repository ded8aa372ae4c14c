"""The items a gate looks at: what the graph accepted, and the newest versions under review."""

from psychemme.episode import Value
from psychemme.items import Answer, Cue, KeyPoint, Option
from psychemme.vocabulary import CandidateState, Capability, Format
from state.address import Address
from state.review_desk import ReviewDesk
from state.review_values import ReviewedVersion
from state.runs import RunStore
from state.values import CandidateOutcome, Material

GATE = "leakage"
_REVIEWED = frozenset({CandidateState.IN_REVIEW, CandidateState.APPROVED, CandidateState.FROZEN})


class LeakageItem(Value):
    """One version of a candidate, with its reference: for curators only."""

    key: str
    id: str
    version: int
    run: int
    capability: Capability
    format: Format
    question: str
    options: tuple[Option, ...]
    answer: Answer
    key_points: tuple[KeyPoint, ...] = ()
    cues: tuple[Cue, ...] = ()
    material: Material


def read_items(database: Address, run: int | None = None) -> list[LeakageItem]:
    """Return the items of a run (default: of all), by candidate.

    What this gate took out is among them, what another took out or reviewers rejected is not.
    """
    with RunStore(database) as runs, ReviewDesk(database) as desk:
        if run is not None:
            runs.run(run)
        newest = {version.item.candidate_key: version for version in desk.versions()}
        wanted = [one for one in runs.outcomes(run) if _is_wanted(one)]
        found = [_item(runs, one, newest.get(one.target.key)) for one in wanted]
    return sorted(found, key=lambda item: item.key)


def _is_wanted(one: CandidateOutcome) -> bool:
    if one.state is CandidateState.GATED:
        return (one.reason or "").startswith(f"{GATE}: ")
    return one.state is CandidateState.ACCEPTED or one.state in _REVIEWED


def _item(runs: RunStore, one: CandidateOutcome, under: ReviewedVersion | None) -> LeakageItem:
    target = one.target
    material = runs.query(lambda session: runs.material(session, target.key))
    place = {"key": target.key, "id": target.id, "run": target.run, "format": target.format}
    if under is not None:
        item, told = under.item, under.item.revealed
        return LeakageItem(
            **place,
            version=item.version,
            capability=told.capability,
            question=item.question,
            options=item.options,
            answer=told.answer,
            key_points=told.key_points,
            cues=told.cues,
            material=material,
        )
    final = next(r for r in reversed(runs.rounds(target.key)) if r.question and r.reference)
    if final.question is None or final.reference is None:
        raise ValueError(f"{target.key} holds no question")
    return LeakageItem(
        **place,
        version=1,
        capability=target.capability,
        question=final.question.question,
        options=final.question.options,
        answer=final.reference.answer,
        key_points=final.reference.key_points,
        cues=final.reference.cues,
        material=material,
    )
