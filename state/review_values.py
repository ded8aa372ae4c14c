"""What the stores of review hand out and take: frozen values.

Times of day (`_at`) are UTC microseconds, `seconds` are spent on a page, `watched` is the fraction
of the episode played; media times are seconds from episode start.
"""

from collections.abc import Mapping

from pydantic import Field

from psychemme.episode import HistoryEntry, Utterance, Value
from psychemme.items import Answer, Cue, KeyPoint, Option
from psychemme.vocabulary import (
    Approval,
    Capability,
    Closing,
    Format,
    GateOutcome,
    SetKind,
    SkipReason,
    Verdict,
    VoteKind,
)


class ReviewerRecord(Value):
    """A reviewer. `token_sha256` (hex) is all that is kept of the invite link."""

    id: str
    name: str
    background: str = ""
    is_demonstration: bool = False
    token_sha256: str
    invited_at: int
    expires_at: int
    revoked_at: int | None = None


class SessionRecord(Value):
    """A signed-in browser; `reviewer_id` is None for the curator."""

    token_sha256: str
    reviewer_id: str | None
    started_at: int
    expires_at: int


class SetRecord(Value):
    """A set of items reviewed together."""

    name: str
    kind: SetKind
    reviewers_per_item: int = Field(ge=1)
    opened_at: int
    discussed_at: int | None = None


class BlindItem(Value):
    """All that a reviewer sees of an item before committing an answer; options in proposal order.

    Nothing in it tells of capability, reference, other reviewers or models.
    """

    candidate_key: str
    version: int
    episode_id: str
    preparation: int
    format: Format
    question: str
    options: tuple[Option, ...] = ()
    decision_time: float | None = None
    position: int
    is_unblinded: bool
    is_closed: bool
    is_calibration: bool


class ReviewEpisode(Value):
    """The episode as a reviewer reads it."""

    id: str
    preparation: int
    duration: float
    public_context: str
    transcript: tuple[Utterance, ...]
    history: tuple[HistoryEntry, ...]


class BlindAnswer(Value):
    """A reviewer's own answer, in proposal option ids."""

    answer: Answer
    is_unblinded: bool = False
    seconds: float = 0.0
    watched: float = 0.0
    request_id: str
    committed_at: int = 0


class Ballot(Value):
    """What a reviewer sends. `request_id` makes sending it twice the same as once."""

    kind: VoteKind
    verdicts: Mapping[Verdict, Approval] = {}
    reasons: Mapping[Verdict, tuple[str, ...]] = {}
    comment: str = ""
    skip_reason: SkipReason | None = None
    seconds: float = 0.0
    watched: float = 0.0
    request_id: str


class Vote(Ballot):
    """A stored ballot; of one reviewer's on one version the highest `revision` stands."""

    revision: int
    committed_at: int

    @property
    def approves(self) -> bool:
        """Whether all three verdicts approve."""
        return self.kind is VoteKind.VERDICT and all(
            self.verdicts.get(verdict) is Approval.APPROVE for verdict in Verdict
        )


class OwnWork(Value):
    """An item with what its reviewer has done so far; a withdrawn vote is None.

    `revision` is that of the newest act on it, withdrawals included; 0 where there is none.
    """

    item: BlindItem
    answer: BlindAnswer | None = None
    vote: Vote | None = None
    revision: int = 0
    draft_json: str | None = None


class Revealed(Value):
    """What is shown once the reviewer's own answer is committed."""

    capability: Capability
    subcategory: str
    answer: Answer
    key_points: tuple[KeyPoint, ...] = ()
    cues: tuple[Cue, ...] = ()


class ItemVersion(Value):
    """A version of a candidate to put under review."""

    candidate_key: str
    version: int = 1
    episode_id: str
    preparation: int
    format: Format
    question: str
    options: tuple[Option, ...] = ()
    decision_time: float | None = None
    revealed: Revealed


class AssignmentRecord(Value):
    """Who reviews which version, in which place of the reviewer's own order."""

    candidate_key: str
    version: int
    reviewer_id: str
    position: int
    is_unblinded: bool = False


class EditRecord(Value):
    """Who made a version, and why."""

    editor: str
    reason: str
    edited_at: int


class NoteRecord(Value):
    """A curator's note on a disagreement."""

    author: str
    note: str
    noted_at: int


class GateRecord(Value):
    """What an automatic check found about a version."""

    gate: str
    outcome: GateOutcome
    detail: str = ""


class ReviewedVersion(Value):
    """One version with everything reviewers and curators did to it, for curators only.

    `answers` and `votes` are by reviewer; `votes` holds every revision in order; `gates` holds the
    last result of each. `faults` name rows of answers and votes that say nothing that can be read:
    such an answer is left out, such a vote counts as withdrawn. `recording` is the recording group
    of its clip; `declined` says who is never to judge it, and why (`state.review_declined`).
    """

    item: ItemVersion
    set_name: str
    opened_at: int
    assigned: tuple[AssignmentRecord, ...] = ()
    answers: Mapping[str, BlindAnswer] = {}
    votes: Mapping[str, tuple[Vote, ...]] = {}
    closing: Closing | None = None
    edit: EditRecord | None = None
    notes: tuple[NoteRecord, ...] = ()
    gates: tuple[GateRecord, ...] = ()
    faults: tuple[str, ...] = ()
    recording: str = ""
    declined: Mapping[str, SkipReason] = {}

    def standing(self) -> dict[str, Vote]:
        """Return the vote that stands of each reviewer who has one that was not withdrawn."""
        last = {name: votes[-1] for name, votes in self.votes.items() if votes}
        return {name: v for name, v in last.items() if v.kind is not VoteKind.WITHDRAWAL}

    @property
    def conflicted(self) -> frozenset[str]:
        """Who has a conflict of interest about the recording."""
        conflict = SkipReason.CONFLICT_OF_INTEREST
        return frozenset(name for name, reason in self.declined.items() if reason is conflict)


class ImportedVote(Value):
    """A vote cast elsewhere on the version at `place`, and the answer before it if it is new."""

    place: tuple[str, int]
    reviewer_id: str
    answer: BlindAnswer | None = None
    vote: Vote


class Board(Value):
    """Everything under review at one moment, for curators only; sets are by name."""

    reviewers: tuple[ReviewerRecord, ...] = ()
    sets: Mapping[str, SetRecord] = {}
    versions: tuple[ReviewedVersion, ...] = ()


class Changes(Value):
    """What to add to review, all or none.

    `items` are first versions of accepted candidates, each with its set's name; `votes` need their
    reviewers assigned.
    """

    reviewers: tuple[ReviewerRecord, ...] = ()
    sets: tuple[SetRecord, ...] = ()
    items: tuple[tuple[str, ItemVersion], ...] = ()
    assignments: tuple[AssignmentRecord, ...] = ()
    votes: tuple[ImportedVote, ...] = ()
    closings: tuple[tuple[tuple[str, int], Closing], ...] = ()
