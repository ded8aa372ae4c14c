"""The field's terms as closed sets: what may appear in a column, a prompt or a table."""

from enum import StrEnum


class Capability(StrEnum):
    """The eight judgment targets (paper, Appendix B)."""

    GROUNDING = "G"
    UNDERSTANDING = "W"
    NEED = "N"
    TIMING = "T"
    RESPONSE = "S"
    ACTION = "A"
    MEMORY = "M"
    RISK = "R"


class Format(StrEnum):
    """How a question is answered; `single` and `multiple` are choice formats."""

    SINGLE = "single"
    MULTIPLE = "multiple"
    OPEN = "open"

    @property
    def is_choice(self) -> bool:
        """Whether the answer is one or several option ids."""
        return self is not Format.OPEN


class Modality(StrEnum):
    """Where a cue is observed."""

    VISUAL = "visual"
    SPEECH = "speech"
    PROSODY = "prosody"
    CONTEXT = "context"
    HISTORY = "history"


class DurationBand(StrEnum):
    """Episode duration bands in seconds (paper, Table 23)."""

    SHORT = "<=30"
    MEDIUM = "30-60"
    LONG = ">60"

    @classmethod
    def of(cls, duration: float) -> "DurationBand":
        """Return the band of a duration in seconds: d <= 30, 30 < d <= 60, d > 60."""
        if duration <= 30:
            return cls.SHORT
        return cls.MEDIUM if duration <= 60 else cls.LONG


class AgentRole(StrEnum):
    """The three construction agents (paper, Table 8)."""

    QUESTION = "question"
    ANSWER = "answer"
    CRITIC = "critic"


class EvaluationRole(StrEnum):
    """Who is asked during evaluation (paper, Appendix D)."""

    EVALUATED = "evaluated"
    JUDGE = "judge"
    CLASSIFIER = "classifier"


class GateRole(StrEnum):
    """Who is asked by the gates before review."""

    PROBE = "probe"
    RUBRIC = "rubric"
    SCREENING = "screening"
    ENTAILMENT = "entailment"


Role = AgentRole | EvaluationRole | GateRole
"""Whoever a request can be for."""


class ClipStatus(StrEnum):
    """What became of a clip."""

    ADDED = "added"
    PREPARED = "prepared"
    REFUSED = "refused"


class ScreeningMaker(StrEnum):
    """Who says whether a clip is worth an episode."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


class ScreeningVerdict(StrEnum):
    """What is said of a clip; `undecided` takes an earlier word back."""

    KEEP = "keep"
    REFUSE = "refuse"
    UNDECIDED = "undecided"


class CandidateState(StrEnum):
    """A candidate's life; `failed` is a machine error, never a judgement."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DISCARDED = "discarded"
    FAILED = "failed"
    GATED = "gated"
    IN_REVIEW = "in_review"
    APPROVED = "approved"
    REJECTED = "rejected"
    FROZEN = "frozen"


EVER_ACCEPTED = frozenset(
    {
        CandidateState.ACCEPTED,
        CandidateState.GATED,
        CandidateState.IN_REVIEW,
        CandidateState.APPROVED,
        CandidateState.REJECTED,
        CandidateState.FROZEN,
    }
)
"""States that count as accepted by the graph: started = accepted + discarded + failed + pending."""


class SetKind(StrEnum):
    """Why a set of items is reviewed."""

    CALIBRATION = "calibration"
    REVIEW = "review"


class VoteKind(StrEnum):
    """What a reviewer did with an item."""

    VERDICT = "verdict"
    SKIP = "skip"
    WITHDRAWAL = "withdrawal"


class Verdict(StrEnum):
    """The three verdicts on an item, each `approve` or `reject` (paper, Section 3.3)."""

    QUESTION_VALIDITY = "question_validity"
    ANSWER_CORRECTNESS = "answer_correctness"
    PSYCHOLOGICAL_CONSISTENCY = "psychological_consistency"


class Approval(StrEnum):
    """One verdict."""

    APPROVE = "approve"
    REJECT = "reject"


class SkipReason(StrEnum):
    """Why a reviewer leaves an item to somebody else."""

    CONFLICT_OF_INTEREST = "conflict_of_interest"
    DISTRESS = "distress"
    CANNOT_PLAY = "cannot_play"
    CANNOT_FOLLOW_LANGUAGE = "cannot_follow_language"
    CANNOT_JUDGE = "cannot_judge"


class Closing(StrEnum):
    """How the review of one version of an item ended."""

    APPROVED = "approved"
    REJECTED = "rejected"
    REPLACED = "replaced"


class GateOutcome(StrEnum):
    """What an automatic check says of an item; `block` keeps it out of a release."""

    PASSED = "passed"
    WARN = "warn"
    BLOCK = "block"


class Step(StrEnum):
    """The steps of the construction graph (paper, Figure 3)."""

    PROPOSE = "propose"
    CHECK = "check"
    ANSWER = "answer"
    CRITIQUE = "critique"
    ROUTE = "route"


class Route(StrEnum):
    """Where the graph goes after a critique."""

    ACCEPT = "accept"
    REVISE_QUESTION = "revise_question"
    REANSWER = "reanswer"
    DISCARD = "discard"


class AnswerFlag(StrEnum):
    """Why the Answer Agent gives no answer; either is a defect of the proposal."""

    AMBIGUOUS = "ambiguous"
    INSUFFICIENT_SUPPORT = "insufficient_support"


class ProposalDefect(StrEnum):
    """What is wrong with a proposal; sent back to the Question Agent."""

    AMBIGUOUS_REFERENT = "ambiguous_referent"
    UNSUPPORTED_PREMISE = "unsupported_premise"
    OPTION_DEFECT = "option_defect"
    MISALIGNED_CAPABILITY = "misaligned_capability"
    CUE_DEFECT = "cue_defect"
    ANSWER_DEFECT = "answer_defect"
    NOT_REPRODUCED = "not_reproduced"


class ReasoningDefect(StrEnum):
    """What is wrong with how the Answer Agent looked; only these lead to a re-answer."""

    WRONG_SPEAKER = "wrong_speaker"
    PARTIAL_VIEWING = "partial_viewing"
    IGNORED_HISTORY = "ignored_history"
    IGNORED_SPEECH = "ignored_speech"
    IGNORED_VISUAL = "ignored_visual"
    WRONG_ORDER = "wrong_order"
    MISREAD_QUESTION = "misread_question"
    SKIPPED_OPTION = "skipped_option"


class LookAgain(StrEnum):
    """The only feedback the Answer Agent ever gets: how to look, never what to find."""

    CHECK_SPEAKER = "check_speaker"
    CHECK_WHOLE_EPISODE = "check_whole_episode"
    CHECK_HISTORY = "check_history"
    CHECK_SPEECH = "check_speech"
    CHECK_VISUAL = "check_visual"
    CHECK_ORDER = "check_order"
    REREAD_QUESTION = "reread_question"
    CHECK_EVERY_OPTION = "check_every_option"


LOOK_AGAIN: dict[ReasoningDefect, LookAgain] = {
    ReasoningDefect.WRONG_SPEAKER: LookAgain.CHECK_SPEAKER,
    ReasoningDefect.PARTIAL_VIEWING: LookAgain.CHECK_WHOLE_EPISODE,
    ReasoningDefect.IGNORED_HISTORY: LookAgain.CHECK_HISTORY,
    ReasoningDefect.IGNORED_SPEECH: LookAgain.CHECK_SPEECH,
    ReasoningDefect.IGNORED_VISUAL: LookAgain.CHECK_VISUAL,
    ReasoningDefect.WRONG_ORDER: LookAgain.CHECK_ORDER,
    ReasoningDefect.MISREAD_QUESTION: LookAgain.REREAD_QUESTION,
    ReasoningDefect.SKIPPED_OPTION: LookAgain.CHECK_EVERY_OPTION,
}
