"""The items a gate looks at: what the graph accepted, and the newest versions under review."""

from construction.versions import first_version
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
    item = first_version(runs.dossier(target.key)) if under is None else under.item
    told = item.revealed
    return LeakageItem(
        key=target.key,
        id=target.id,
        version=item.version,
        run=target.run,
        capability=told.capability,
        format=item.format,
        question=item.question,
        options=item.options,
        answer=told.answer,
        key_points=told.key_points,
        cues=told.cues,
        material=runs.query(lambda session: runs.material(session, target.key)),
    )
