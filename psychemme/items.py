"""What the agents write: proposals, independent answers, critiques.

These models are also the reply schemas of the three roles. Option ids are single capital letters
in proposal order. Cue times are seconds from the episode's start.
"""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from psychemme.episode import Value
from psychemme.vocabulary import AnswerFlag, Modality, ProposalDefect, ReasoningDefect

Answer = str | list[str]
"""An option id (`single`), a list of ids (`multiple`) or a text (`open`)."""


def _credit(value: float) -> float:
    if value not in (0.0, 0.5, 1.0):
        raise ValueError(f"credit {value} is not 0, 0.5 or 1")
    return value


Credit = Annotated[float, AfterValidator(_credit), Field(json_schema_extra={"enum": [0, 0.5, 1]})]
"""Answer credit under the open rubric."""


class Option(Value):
    """One option of a choice question."""

    id: str = Field(pattern=r"^[A-Z]$")
    text: str = Field(min_length=1)


class Cue(Value):
    """Where and what can be observed in support of the reference answer."""

    start: float
    end: float
    modality: Modality
    description: str = Field(min_length=1)


class KeyPoint(Value):
    """One point an open reference holds; `required` points make full credit."""

    text: str = Field(min_length=1)
    required: bool = True


class Question(Value):
    """The public side of a proposal. `options` is empty for open questions.

    `decision_time` is the moment in seconds up to which a T, S or A question is judged; what
    follows it is the outcome.
    """

    subcategory: str
    question: str = Field(min_length=1)
    options: tuple[Option, ...] = ()
    decision_time: float | None = None


class Reference(Value):
    """The private side of a proposal."""

    answer: Answer
    cues: tuple[Cue, ...]
    key_points: tuple[KeyPoint, ...] = ()
    rationale: str = ""


class Proposal(Value):
    """The Question Agent's reply: a question with its reference, or a reason to decline.

    Declining is honest where the episode holds nothing to ask about for the target.
    """

    declined: str | None = None
    question: Question | None = None
    reference: Reference | None = None

    @model_validator(mode="after")
    def _declined_or_complete(self) -> "Proposal":
        complete = self.question is not None and self.reference is not None
        if complete == (self.declined is not None):
            raise ValueError("give either `declined`, or both `question` and `reference`")
        return self


class IndependentAnswer(Value):
    """The Answer Agent's reply: an answer, or a flag why there is none."""

    answer: Answer | None = None
    flag: AnswerFlag | None = None
    rationale: str = ""

    @model_validator(mode="after")
    def _answer_or_flag(self) -> "IndependentAnswer":
        if (self.answer is None) == (self.flag is None):
            raise ValueError("give either `answer` or `flag`")
        return self


class Defect(Value):
    """A defect of the proposal, located by option id or cue index where it has a place."""

    code: ProposalDefect
    option_id: str | None = Field(default=None, pattern=r"^[A-Z]$")
    cue_index: int | None = Field(default=None, ge=0)


class Critique(Value):
    """The Critic Agent's reply.

    `reference_given_answer` and `answer_given_reference` are open-rubric credits of each answer
    measured against the other; both None on choice questions, where code decides agreement.
    `comment` is kept for curators and reaches no agent.
    """

    cue_support: bool
    logical_coherence: bool
    capability_alignment: bool
    reference_given_answer: Credit | None = None
    answer_given_reference: Credit | None = None
    proposal_defects: tuple[Defect, ...] = ()
    reasoning_defects: tuple[ReasoningDefect, ...] = ()
    comment: str = ""
