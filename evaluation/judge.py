"""The judge: what it is asked, and which of its replies is a judgement.

The judge sees question, options, reference, cues, answer and rationales, never the recording. Its
labels never change the credit of a choice item.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from evaluation.rationales import coverage
from evaluation.responses import Outcome, Response
from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from prompts.load import render
from psychemme.canonical import digest
from psychemme.clients.protocol import Parameters, Request
from psychemme.clients.replies import InvalidReply, parse_reply
from psychemme.episode import Value
from psychemme.items import Credit, Reference
from psychemme.release.rows import QuestionRow, ReferenceRow
from psychemme.vocabulary import EvaluationRole

PROMPT = "judge"
_PARAMETERS = Parameters(temperature=0.0, max_output_tokens=1024)


class Judgement(Value):
    """The judge's reply (paper, Table 11). `answer_credit` is null on choice items."""

    evidence_reason: str = Field(min_length=1)
    logic_reason: str = Field(min_length=1)
    evidence_support: EvidenceSupport
    logical_integrity: LogicalIntegrity
    answer_credit: Credit | None = None


class Case(NamedTuple):
    """A response as the judge sees it; `change` says how an audit altered what it sees."""

    question: QuestionRow
    reference: ReferenceRow
    response: Response
    repeat: int = 0
    change: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells this case from the others of one judge; an audit's holds its reference."""
        change = f"{self.change}@{reference_digest(self.reference)[:12]}" if self.change else ""
        return self.question.id, self.repeat, change


def reference_digest(reference: ReferenceRow) -> str:
    """Return the SHA-256 (hex) of what the judge is shown of a reference."""
    return digest(reference.model_dump(mode="json", include={"answer", "cues", "key_points"}))


def needs_judge(response: Response, question: QuestionRow) -> bool:
    """Return whether credit depends on a judge: an answer explained, or an open one."""
    if response.outcome is not Outcome.OK or response.answer is None:
        return False
    return not question.format.is_choice or covered(response, question) == 1


def covered(response: Response, question: QuestionRow) -> int:
    """Return c, the rationale coverage of an answered response."""
    if response.answer is None:
        return 0
    rationales = response.rationales.values()
    return coverage(rationales, response.answer, question.question, question.options)


def judge_request(
    question: QuestionRow,
    reference: ReferenceRow,
    response: Response,
    exchange: Sequence[tuple[str, str]] = (),
    draw: int = 0,
) -> Request:
    """Return the request that puts one response to the judge."""
    inputs = {
        "question": question.question,
        "options": question.options,
        "format": question.format,
        "reference": Reference(
            answer=reference.answer, cues=reference.cues, key_points=reference.key_points
        ),
        "response": response,
    }
    prompt = render(PROMPT, inputs)
    return Request(
        role=EvaluationRole.JUDGE,
        prompt_id=prompt.prompt_id,
        prompt_hash=prompt.hash,
        system=prompt.system,
        user=prompt.user,
        inputs=inputs,
        reply_schema=Judgement,
        parameters=_PARAMETERS,
        exchange=tuple(exchange),
        draw=draw,
    )


def read_judgement(text: str, question: QuestionRow) -> Judgement:
    """Return the judgement in `text`; raises InvalidReply naming what is wrong with it."""
    judgement = parse_reply(text, Judgement)
    if question.format.is_choice and judgement.answer_credit is not None:
        raise InvalidReply("`answer_credit` of a choice question is null: code computes it")
    if not question.format.is_choice and judgement.answer_credit is None:
        raise InvalidReply("give the `answer_credit` of an open question: 0, 0.5 or 1")
    return judgement
