"""Every table of the Shared State.

Private columns live in tables of their own, so that a role can be kept from them by table and
column. Columns ending in `_json` hold canonical JSON. Wall-clock times (`_at`) are UTC
microseconds. Media times are seconds: an episode's own `start` and `end` from clip start, all
others from episode start. `candidate_key` is `<run ordinal>-<candidate id>`.
"""

from sqlalchemy import BigInteger, ForeignKeyConstraint, Integer, UniqueConstraint, false
from sqlmodel import Field, SQLModel

_BIG = BigInteger().with_variant(Integer(), "sqlite")
"""Eight bytes on both engines, under the name that the first SQLite files gave them."""


class Clip(SQLModel, table=True):
    """A media file, its provenance and what became of it. `id` starts its SHA-256."""

    __tablename__ = "clips"

    id: str = Field(primary_key=True)
    sha256: str = Field(unique=True)
    path: str
    size: int = Field(sa_type=BigInteger)
    modified_at: int = Field(sa_type=BigInteger)
    status: str
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
    added_at: int = Field(sa_type=BigInteger)


class Preparation(SQLModel, table=True):
    """What preparing one clip gave. A later number never changes an earlier one."""

    __tablename__ = "preparations"

    clip_id: str = Field(primary_key=True, foreign_key="clips.id")
    number: int = Field(primary_key=True)
    content_hash: str
    transcript_source: str
    notes_json: str


class EpisodeRow(SQLModel, table=True):
    """The public side of an episode, immutable once a run uses its preparation."""

    __tablename__ = "episodes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["clip_id", "preparation"], ["preparations.clip_id", "preparations.number"]
        ),
    )

    id: str = Field(primary_key=True)
    preparation: int = Field(primary_key=True)
    clip_id: str
    start: float
    end: float
    duration: float
    public_context: str
    transcript_json: str
    signals_json: str
    history_json: str
    frames_json: str


class Run(SQLModel, table=True):
    """One `generate` run and everything it pins."""

    __tablename__ = "runs"

    ordinal: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    seed: int = Field(sa_type=_BIG)
    count: int | None
    preparation: int
    models_json: str
    pins_json: str
    plan_json: str
    created_at: int = Field(sa_type=BigInteger)


class Candidate(SQLModel, table=True):
    """A question on its way: its immutable target. `seed` derives from `id`."""

    __tablename__ = "candidates"
    __table_args__ = (
        ForeignKeyConstraint(
            ["episode_id", "preparation"], ["episodes.id", "episodes.preparation"]
        ),
        UniqueConstraint("run", "pick"),
    )

    key: str = Field(primary_key=True)
    id: str
    run: int = Field(foreign_key="runs.ordinal")
    batch: int
    pick: int
    episode_id: str
    preparation: int
    capability: str
    format: str
    cell_json: str


class Outcome(SQLModel, table=True):
    """What became of a candidate; the only mutable row it has.

    `answers` counts independent answers to the final question; `reference_flip` says that the
    reference changed between proposals.
    """

    __tablename__ = "outcomes"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    state: str
    reason: str | None = None
    round: int = 0
    answers: int = 0
    reference_flip: bool = False


class StepRow(SQLModel, table=True):
    """A finished step, written with its result in one transaction; unique, so done once."""

    __tablename__ = "steps"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    step: str = Field(primary_key=True)
    outcome: str


class QuestionRow(SQLModel, table=True):
    """The public side of a proposal."""

    __tablename__ = "questions"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    subcategory: str
    question: str
    options_json: str
    decision_time: float | None = None


class ReferenceRow(SQLModel, table=True):
    """The private side of a proposal: reference answer, key points and rationale."""

    __tablename__ = "reference_answers"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    answer_json: str
    key_points_json: str
    rationale: str


class CueRow(SQLModel, table=True):
    """A private cue of a proposal."""

    __tablename__ = "cues"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    start: float
    end: float
    modality: str
    description: str


class IndependentAnswerRow(SQLModel, table=True):
    """An independent answer. `answer_json` uses proposal ids, `order_json` what was shown."""

    __tablename__ = "independent_answers"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    answer_json: str
    flag: str | None = None
    rationale: str
    order_json: str


class CritiqueRow(SQLModel, table=True):
    """The critic's verdicts, whole, as canonical JSON of `psychemme.items.Critique`."""

    __tablename__ = "critiques"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    critique_json: str


class QuestionFeedback(SQLModel, table=True):
    """A typed defect sent back to the Question Agent for `round`; never an answer."""

    __tablename__ = "question_feedback"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    code: str
    option_id: str | None = None
    cue_index: int | None = None


class AnswerFeedback(SQLModel, table=True):
    """A closed code to the Answer Agent for `round`: how to look, never what to find."""

    __tablename__ = "answer_feedback"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    code: str


class CallColumns(SQLModel):
    """A reply as it arrived, private to the role that asked."""

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    request_key: str
    text: str
    finish_reason: str


class QuestionCall(CallColumns, table=True):
    """Replies to the Question Agent."""

    __tablename__ = "question_calls"


class AnswerCall(CallColumns, table=True):
    """Replies to the Answer Agent."""

    __tablename__ = "answer_calls"


class CriticCall(CallColumns, table=True):
    """Replies to the Critic Agent."""

    __tablename__ = "critic_calls"


class LedgerEntry(SQLModel, table=True):
    """What a call cost, for every role to see; never its text. `latency` is in seconds."""

    __tablename__ = "ledger"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    round: int = Field(primary_key=True)
    role: str = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    model: str
    prompt_id: str
    prompt_hash: str
    parameters_json: str
    input_tokens: int
    output_tokens: int
    cost: float | None = None
    latency: float
    called_at: int = Field(sa_type=BigInteger)
    cached: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


class LeaseRow(SQLModel, table=True):
    """Which process may run `prepare` or `generate`; see `state.leases`.

    `host`, `machine`, `pid` and `started` are those of `state.processes.Process`; `token` is new
    whenever the lease changes hands.
    """

    __tablename__ = "leases"

    name: str = Field(primary_key=True)
    work: str
    token: str
    host: str
    machine: str
    pid: int
    started: int = Field(sa_type=BigInteger)
    taken_at: int = Field(sa_type=BigInteger)
    heartbeat_at: int = Field(sa_type=BigInteger)


class GateRun(SQLModel, table=True):
    """One run of a gate and everything that its results hang on: models, prompt, decoding."""

    __tablename__ = "gate_runs"

    ordinal: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    gate: str
    pins_json: str
    started_at: int = Field(sa_type=BigInteger)


class LeakageTrial(SQLModel, table=True):
    """A reply of a model that was asked an item without its footage, as it arrived.

    `probe` is what the model was given, `protocol` a digest of how; `order_json` holds the option
    ids as shown, `answer_json` the answer in the item's own ids, JSON null where the reply held
    none. `step` is `answer`, or `judge` for the verdict on an open answer. `credit` is 0, 0.5 or 1,
    None where nobody could tell. Version 1 is the graph's final proposal.
    """

    __tablename__ = "leakage_trials"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    version: int = Field(primary_key=True)
    probe: str = Field(primary_key=True)
    protocol: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    trial: int = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    step: str = Field(primary_key=True)
    order_json: str
    answer_json: str
    credit: float | None = None
    text: str
    finish_reason: str
    asked: str
    request_key: str
    prompt_id: str
    prompt_hash: str
    parameters_json: str
    input_tokens: int
    output_tokens: int
    cost: float | None = None
    latency: float
    cached: bool
    called_at: int = Field(sa_type=BigInteger)


class CandidateGate(SQLModel, table=True):
    """What an automatic check found about a candidate; the last result of a gate stands.

    `outcome` is a `psychemme.vocabulary.GateOutcome`.
    """

    __tablename__ = "candidate_gates"

    candidate_key: str = Field(primary_key=True, foreign_key="candidates.key")
    gate: str = Field(primary_key=True)
    position: int = Field(primary_key=True)
    outcome: str
    detail: str
    found_at: int = Field(sa_type=BigInteger)


class ClipScreening(SQLModel, table=True):
    """What rules, a model or a person said of a clip; the last word of each stands.

    `maker` and `verdict` are those of `psychemme.vocabulary`, `name` says which model or person.
    """

    __tablename__ = "clip_screenings"

    clip_id: str = Field(primary_key=True, foreign_key="clips.id")
    position: int = Field(primary_key=True)
    maker: str
    name: str
    verdict: str
    reasons_json: str
    measures_json: str
    screened_at: int = Field(sa_type=BigInteger)
