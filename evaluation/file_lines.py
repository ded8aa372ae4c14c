"""The lines of files made elsewhere, as their JSON Schemas say them (`docs/release-format.md`)."""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from evaluation.responses import Outcome
from evaluation.scoring import EvidenceSupport, LogicalIntegrity
from psychemme.items import Answer, Credit
from psychemme.release.rows import Row
from psychemme.vocabulary import Capability

Name = Annotated[str, Field(min_length=1)]


class ResponseLine(Row):
    """A response: `raw`, or `answer` with its rationales, or an `outcome` other than `ok`."""

    item_id: Name
    model: Name
    condition: Name
    raw: str | None = None
    finish_reason: str | None = None
    answer: Answer | None = None
    rationales: Mapping[Capability, str | None] | None = None
    outcome: Outcome | None = None
    reason: str | None = None
    sent: JsonValue = None


class JudgementLine(Row):
    """A judgement of a response; `answer_credit` is null on choice items."""

    item_id: Name
    model: Name
    condition: Name
    evidence_support: EvidenceSupport
    logical_integrity: LogicalIntegrity
    answer_credit: Credit | None = None
    evidence_reason: str | None = None
    logic_reason: str | None = None
    judge: str = ""
    repeat: int = Field(default=0, ge=0)
    reference: str | None = None


LINES: Mapping[str, type[Row]] = {"response": ResponseLine, "judgement": JudgementLine}


def schema_text(name: str) -> str:
    """Return the JSON Schema of the lines called `name` in `LINES`."""
    return json.dumps(LINES[name].model_json_schema(), indent=2, sort_keys=True) + "\n"
