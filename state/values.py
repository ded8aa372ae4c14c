"""What stores hand out: frozen values, never rows of an open session."""

from collections.abc import Mapping

from psychemme.episode import Episode, Value
from psychemme.items import (
    Critique,
    Defect,
    IndependentAnswer,
    Option,
    Proposal,
    Question,
    Reference,
)
from psychemme.vocabulary import CandidateState, Capability, ClipStatus, Format, LookAgain


class ClipRecord(Value):
    """A clip and its provenance. Times in seconds; `source_start` is into the source video."""

    id: str
    sha256: str
    path: str
    size: int
    modified_at: int
    status: ClipStatus
    reason: str | None = None
    action: str | None = None
    duration: float | None = None
    probe_json: str | None = None
    source: str
    source_group: str
    source_video_id: str
    recording_group: str
    verified: bool
    source_start: float
    licence: str | None = None
    consent: str | None = None
    url: str | None = None
    history_json: str | None = None
    context: str = ""
    added_at: int


class Frame(Value):
    """A stored frame: seconds from episode start and the digest of its JPEG bytes."""

    time: float
    sha256: str


class EpisodeRecord(Value):
    """An episode with its place in the clip (seconds from clip start)."""

    id: str
    clip_id: str
    preparation: int
    start: float
    end: float
    content: Episode
    frames: tuple[Frame, ...] = ()


class RunRecord(Value):
    """A run and what it pins. `count` is None for a run that goes on until covered."""

    ordinal: int
    seed: int
    count: int | None
    preparation: int
    models: Mapping[str, str]
    pins: Mapping[str, str]
    plan_json: str
    created_at: int


class CandidateTarget(Value):
    """What a candidate was asked to be."""

    key: str
    id: str
    run: int
    batch: int
    pick: int
    episode_id: str
    preparation: int
    capability: Capability
    format: Format
    cell_json: str


class CandidateOutcome(Value):
    """A candidate with what became of it."""

    target: CandidateTarget
    state: CandidateState
    reason: str | None = None
    round: int = 0
    answers: int = 0
    reference_flip: bool = False


class Material(Value):
    """The episode and its frames, the same for every agent; the id finds its footage."""

    episode_id: str
    preparation: int
    episode: Episode
    frames: tuple[Frame, ...] = ()


class QuestionBrief(Value):
    """All the Question Agent may see.

    `ordinal` counts, from 0, the earlier candidates of the run with the same episode, capability
    and format.
    """

    target: CandidateTarget
    material: Material
    ordinal: int = 0
    earlier: tuple[Proposal, ...] = ()
    feedback: tuple[Defect, ...] = ()


class AnswerBrief(Value):
    """All the Answer Agent may see; `options` are in proposal order, to be shuffled."""

    candidate_id: str
    format: Format
    material: Material
    question: str
    options: tuple[Option, ...] = ()
    decision_time: float | None = None
    feedback: tuple[LookAgain, ...] = ()


class CriticBrief(Value):
    """All the Critic Agent may see."""

    target: CandidateTarget
    material: Material
    question: Question
    reference: Reference
    independent: IndependentAnswer


class RecordedReply(Value):
    """A reply committed earlier."""

    text: str
    finish_reason: str


class CallRecord(Value):
    """A reply as it arrived, and what it cost. `latency` in seconds, `cost` in US dollars."""

    attempt: int
    request_key: str
    text: str
    finish_reason: str
    model: str
    prompt_id: str
    prompt_hash: str
    parameters_json: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    latency: float = 0.0
    cached: bool = False


class LedgerCall(Value):
    """One call as the ledger keeps it. `latency` in seconds, `cost` in US dollars."""

    candidate_key: str
    round: int
    role: str
    attempt: int
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    latency: float
    cached: bool


class RoundRecord(Value):
    """Everything one round of a candidate left behind, for curators only."""

    round: int
    question: Question | None = None
    reference: Reference | None = None
    independent: IndependentAnswer | None = None
    order: tuple[str, ...] = ()
    critique: Critique | None = None
    steps: Mapping[str, str] = {}
    question_feedback: tuple[Defect, ...] = ()
    answer_feedback: tuple[LookAgain, ...] = ()


class Case(Value):
    """What the code steps decide from: a candidate's target, its episode and its rounds."""

    target: CandidateTarget
    episode: Episode
    rounds: tuple[RoundRecord, ...]


class Dossier(Value):
    """A candidate from target to outcome, for curators only."""

    outcome: CandidateOutcome
    clip: ClipRecord
    episode: EpisodeRecord
    rounds: tuple[RoundRecord, ...]
    models: Mapping[str, str]
    cost: float | None = None

    @property
    def final(self) -> RoundRecord | None:
        """The last round that proposed a question, if any did."""
        return next((r for r in reversed(self.rounds) if r.question is not None), None)
